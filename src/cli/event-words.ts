/**
 * One event in a few words, for people.
 * Data may have any shape, whatever its type says: what is not as expected is shown as it is.
 */
import type { RunEvent } from '../core/event.js'
import { pointerStep } from '../core/pointer.js'
import { previewOf } from '../value/preview.js'
import { EXCHANGE_WORDS } from './exchange-words.js'
import { contentWords, usageWords } from './message-words.js'
import type { Piece } from './output.js'
import { refPreview, refText } from './ref-preview.js'
import { THREAD_WORDS } from './thread-words.js'

type Members = Readonly<Record<string, unknown>>
type Words = (event: RunEvent, data: Members) => readonly Piece[] | undefined

const PREVIEW_LENGTH = 72

/** What happened, without seq, time and type. */
export function eventWords(event: RunEvent): readonly Piece[] {
  if (event.redacted === true) return [['yellow', 'redacted']]
  const { data } = event
  const known = typeof data === 'object' && data !== null ? WORDS[event.type] : undefined
  const words = known?.(event, data as Members)
  return words ?? [whole(event)]
}

const WORDS: Readonly<Record<string, Words>> = {
  'run/start': (_, data) => [scalar(data.id)],
  'run/child': (_, data) => [['bold', scalar(data.id)]],
  'run/end': (event, data) => [statusPiece(data.status), ...payload(event, data, 'error')],
  'turn/start': (_, data) => ['turn ', scalar(data.turn)],
  'turn/end': (event, data) => [
    'turn ',
    scalar(data.turn),
    ' ',
    statusPiece(data.reason),
    ...payload(event, data, 'error'),
  ],
  'step/start': (event, data) => [
    ['bold', scalar(data.id)],
    ' ',
    ['cyan', scalar(data.name)],
    ...(Array.isArray(data.deps) ? [` after ${data.deps.map(scalar).join(', ')}`] : []),
    ...payload(event, data, 'input'),
  ],
  'step/end': (event, data) => [
    ['bold', scalar(data.id)],
    ' ',
    statusPiece(data.status),
    ...payload(event, data, 'error'),
    ...payload(event, data, 'output'),
  ],
  'tool/call': (event, data) => [
    ['bold', scalar(data.id)],
    ' ',
    ['cyan', scalar(data.name)],
    ...payload(event, data, 'arguments'),
  ],
  'tool/result': (event, data) => [
    ['bold', scalar(data.id)],
    ...(data.isError === true ? [' ', ['red', 'error'] as const] : []),
    ...(data.closedBy === undefined ? [] : [' ', ['yellow', scalar(data.closedBy)] as const]),
    ...payload(event, data, 'content'),
  ],
  'user/message': (event, data) => message(event, data),
  'assistant/message': (event, data) => [
    ...(data.interrupted === true ? [['yellow', 'interrupted '] as const] : []),
    ...message(event, data),
    ...usageWords(data.usage),
  ],
  ...EXCHANGE_WORDS,
  ...THREAD_WORDS,
  'log/gap': (_, data) => [
    ['red', `${scalar(data.bytes)} bytes at ${scalar(data.offset)} cannot be read`],
    ': ',
    scalar(data.reason),
  ],
}

/** What was said, where it is in the frame; else what stands for it. */
function message(event: RunEvent, data: Members): readonly Piece[] {
  const isAway = event.refs?.some(({ pointer }) => pointer.startsWith('/content')) ?? false
  const words = isAway ? undefined : contentWords(data.content)
  return words ?? payload(event, data, 'content').slice(1)
}

const GOOD: ReadonlySet<unknown> = new Set(['ok', 'completed'])
const BAD: ReadonlySet<unknown> = new Set(['error'])

/** A status in its colour. */
export function statusPiece(status: unknown): Piece {
  const text = scalar(status)
  return [GOOD.has(status) ? 'green' : BAD.has(status) ? 'red' : 'yellow', text]
}

/** A short text or number as it is; anything else as a preview. */
function scalar(value: unknown): string {
  return typeof value === 'string' && value.length <= PREVIEW_LENGTH
    ? value
    : previewOf(value, PREVIEW_LENGTH).line
}

/** A member of data, led by a space; nothing where there is none. */
function payload(event: RunEvent, data: Members, member: string): readonly Piece[] {
  const { refs = [] } = event
  const pointer = pointerStep(member)
  const ref = refs.find((candidate) => candidate.pointer === pointer)
  if (ref !== undefined) return [' ', ['dim', refText(ref)]]
  const value = data[member]
  if (value === undefined) return []
  const line = errorText(member, value)
  return [' ', ['dim', line ?? refPreview(value, { refs, pointer, lengthMax: PREVIEW_LENGTH })]]
}

/** An error as its name and message, where it has them. */
function errorText(member: string, value: unknown): string | undefined {
  const { name, message } = (value ?? {}) as { readonly name?: unknown; readonly message?: unknown }
  if (member !== 'error' || typeof name !== 'string' || typeof message !== 'string')
    return undefined
  return scalar(`${name}: ${message}`)
}

/** All of data. */
function whole({ data, refs = [] }: RunEvent): Piece {
  return ['dim', refPreview(data, { refs, pointer: '', lengthMax: PREVIEW_LENGTH })]
}
