/**
 * Differences of two runs in words, for people.
 */
import type { Difference, DifferenceSide } from '../store/diff.js'
import { previewOf } from '../value/preview.js'
import type { Piece } from './output.js'
import { bytesText, countText } from './quantity.js'
import { textPatch } from './text-patch.js'

const PREVIEW_LENGTH = 60
const LINE_LENGTH = 120
const CHANGES_SHOWN_MAX = 12

/** What the two sides are called. */
export interface SideNames {
  readonly left: string
  readonly right: string
}

const SIDES: SideNames = { left: 'left', right: 'right' }

/** One line: what differs, and where. */
export function differenceWords(difference: Difference, sides = SIDES): readonly Piece[] {
  const { kind, path, left, right, inside, tainted, soft } = difference
  const words: Piece[] = []
  if (kind === 'missing') words.push(['red', `only ${sides.left}: `], ['bold', path])
  else if (kind === 'extra') words.push(['green', `only ${sides.right}: `], ['bold', path])
  else if (kind === 'event') words.push(['yellow', eventSides(left, right, sides)], ['bold', path])
  else words.push(['yellow', kind], ' of ', ['bold', path])
  words.push(['dim', `  ${places(left, right, sides)}`])
  if (inside !== undefined) words.push(['dim', `  ${countText(inside, 'step')} inside`])
  if (tainted === true) words.push(['dim', '  follows from an earlier one'])
  if (soft === true) words.push(['dim', '  makes no run differ'])
  return words
}

type Side = DifferenceSide | undefined

function eventSides(left: Side, right: Side, sides: SideNames): string {
  if (left === undefined) return `event only ${sides.right}: `
  return right === undefined ? `event only ${sides.left}: ` : 'event '
}

function places(left: Side, right: Side, sides: SideNames): string {
  return [
    { side: sides.left, at: left },
    { side: sides.right, at: right },
  ]
    .flatMap(({ side, at }) =>
      at === undefined ? [] : [`${side} ${at.id === undefined ? '' : `${at.id} `}seq ${at.seq}`],
    )
    .join(', ')
}

/** What stands on each side, a line each. */
export function payloadLines(difference: Difference): readonly (readonly Piece[])[] {
  const { changes, more = 0, parsed, text, unreadable, history } = difference
  const lines: (readonly Piece[])[] = []
  for (const [side, trouble] of Object.entries(unreadable ?? {}))
    lines.push([['red', `${side} cannot be read: `], trouble.message])
  if (history !== undefined) lines.push([['dim', historyText(history)]])
  if (parsed === true) lines.push([['dim', '(inside a text of JSON)']])
  for (const change of changes.slice(0, CHANGES_SHOWN_MAX)) lines.push(changeWords(change))
  const hidden = more + Math.max(0, changes.length - CHANGES_SHOWN_MAX)
  if (hidden > 0) lines.push([['dim', `${countText(hidden, 'more change')}`]])
  if (text !== undefined) lines.push(...textLines(text))
  return lines
}

/** `the same up to message 4; then left: user/message, right: nothing` */
function historyText({ same, left, right }: NonNullable<Difference['history']>): string {
  const beginning = same === 0 ? 'no message is the same' : `the same up to message ${same}`
  return `(${beginning}; then left: ${left ?? 'nothing'}, right: ${right ?? 'nothing'})`
}

/** One change inside a value. */
export function changeWords({ pointer, op, left, right }: Change): readonly Piece[] {
  const at = pointer === '' ? '(all of it)' : pointer
  if (op === 'add') return [['green', '+ '], at, '  ', ['green', preview(right)]]
  if (op === 'remove') return [['red', '- '], at, '  ', ['red', preview(left)]]
  return ['  ', at, '  ', ['red', preview(left)], ' -> ', ['green', preview(right)]]
}

interface Change {
  readonly pointer: string
  readonly op: 'add' | 'remove' | 'replace'
  readonly left?: unknown
  readonly right?: unknown
}

function preview(value: unknown): string {
  return previewOf(value, PREVIEW_LENGTH).line
}

function textLines(text: { readonly left: string; readonly right: string }): (readonly Piece[])[] {
  const patch = textPatch(text)
  if (patch === undefined) {
    const [left, right] = [Buffer.byteLength(text.left), Buffer.byteLength(text.right)]
    return [
      [`two texts of ${bytesText(left)} and ${bytesText(right)}, too different to be aligned`],
    ]
  }
  return patch.map((line) => {
    const shown = line.length <= LINE_LENGTH ? line : `${line.slice(0, LINE_LENGTH - 1)}…`
    if (line.startsWith('+')) return [['green', shown]]
    return [[line.startsWith('-') ? 'red' : 'dim', shown]]
  })
}

/** Two long texts as sizes and a patch; both are in the runs. */
export function withPatch({ text, ...difference }: Difference): Record<string, unknown> {
  if (text === undefined) return { ...difference }
  const patch = textPatch(text)
  const sizes = { left: Buffer.byteLength(text.left), right: Buffer.byteLength(text.right) }
  return { ...difference, text: { sizes, ...(patch === undefined ? {} : { patch }) } }
}
