/**
 * Where two runs may differ, by digests alone: in the order of the left run.
 * A suspect need not be a difference: digests of equal payloads differ where keys are in another
 * order.
 */
import type { Hash } from '../core/hash.js'
import type { StepNode } from '../fold/step-graph.js'
import type { StepMatch, StepPair } from '../fold/step-match.js'
import { align, gapsOf } from '../value/align.js'
import type { OutlineEvent, PayloadPrint, RunOutline } from './run-outline.js'

/**
 * `renamed`: the same input under another name. `missing`: on the left only; `extra`: on the right only.
 * `event`: an event that is about no step. `request`, `response`: of an exchange. `order`: steps that both have start in another order, which
 * alone makes no run differ.
 */
export type DifferenceKind =
  | 'renamed'
  | 'input'
  | 'status'
  | 'error'
  | 'output'
  | 'missing'
  | 'extra'
  | 'event'
  | 'request'
  | 'response'
  | 'order'

/** Where one side of a difference is. */
export interface DifferenceSide {
  /** Of the step; an event that is about none has none. */
  readonly id?: string
  readonly seq: number
  /** Of the exact bytes of the payload, where it lies out of line. */
  readonly sha256?: Hash
}

export interface Suspect {
  readonly kind: DifferenceKind
  readonly path: string
  readonly left?: DifferenceSide
  readonly right?: DifferenceSide
  /** The steps; absent for events. */
  readonly pair?: StepPair<PayloadPrint>
  /** An answer to another request. */
  readonly follows?: true
}

export interface Suspects {
  readonly suspects: readonly Suspect[]
  /** Whether the events were too different to be aligned in the best way. */
  readonly bounded: boolean
  /** How many each run has, and how many stand for one of the other. */
  readonly exchanges: { readonly left: number; readonly right: number; readonly paired: number }
}

export function suspectsOf(
  left: RunOutline,
  right: RunOutline,
  match: StepMatch<PayloadPrint>,
): Suspects {
  const events = pairEvents(left.events, right.events)
  const order = new LeftOrder()
  for (const pair of match.pairs) order.anchorSteps(pair)
  for (const [a, b] of events.pairs)
    if (a !== undefined && b !== undefined && !events.moved.has(a)) order.anchor(a, b)
  const suspects: Suspect[] = []
  for (const pair of match.pairs) suspects.push(...suspectsIn(pair))
  for (const [a, b] of events.pairs) {
    if (a?.digest !== b?.digest) suspects.push(...eventSuspects(a, b))
    else if (a !== undefined && events.moved.has(a))
      suspects.push({ ...(eventSuspects(a, b)[0] as Suspect), kind: 'order' })
  }
  if (left.end !== undefined && right.end !== undefined && left.end.digest !== right.end.digest)
    suspects.push(...eventSuspects(left.end, right.end))
  for (const pair of match.moved) suspects.push(stepSuspect('order', pair))
  const has = ({ exchange }: OutlineEvent): boolean => exchange !== undefined
  const exchanges = {
    left: left.events.filter(has).length,
    right: right.events.filter(has).length,
    paired: events.pairs.filter(([a, b]) => a?.exchange !== undefined && b !== undefined).length,
  }
  return { suspects: order.sorted(suspects), bounded: events.cut, exchanges }
}

/**
 * What differs, going by digests, between two steps that stand for each other; or that only one is
 * there.
 */
function suspectsIn(pair: StepPair<PayloadPrint>): Suspect[] {
  const { left, right } = pair
  if (right === undefined) return [stepSuspect('missing', pair)]
  if (left === undefined) return [stepSuspect('extra', pair)]
  const found: Suspect[] = []
  if (left.name !== right.name) found.push(stepSuspect('renamed', pair))
  if (left.input?.digest !== right.input?.digest) found.push(stepSuspect('input', pair))
  // What only one side gave is told by its status.
  const same = left.status === right.status
  if (!same) found.push(stepSuspect('status', pair))
  else if (left.error?.digest !== right.error?.digest) found.push(stepSuspect('error', pair))
  const both = left.output !== undefined && right.output !== undefined
  if (left.output?.digest !== right.output?.digest && (same || both))
    found.push(stepSuspect('output', pair))
  return found
}

function stepSuspect(kind: DifferenceKind, pair: StepPair<PayloadPrint>): Suspect {
  const { left, right } = pair
  return {
    kind,
    path: (left ?? right)?.path ?? '',
    ...(left === undefined ? {} : { left: stepSide(kind, left) }),
    ...(right === undefined ? {} : { right: stepSide(kind, right) }),
    pair,
  }
}

/** Kinds that show as a step ends. */
export const ENDING_KINDS: ReadonlySet<DifferenceKind> = new Set(['status', 'error', 'output'])

function stepSide(kind: DifferenceKind, node: StepNode<PayloadPrint>): DifferenceSide {
  const { start, end } = node.seqs
  const sha256 = kind === 'input' || kind === 'output' ? node[kind]?.sha256 : undefined
  const seq = ENDING_KINDS.has(kind) ? (end ?? start) : start
  return { id: node.id, seq, ...(sha256 === undefined ? {} : { sha256 }) }
}

function eventSuspects(
  left: OutlineEvent | undefined,
  right: OutlineEvent | undefined,
): readonly Suspect[] {
  const [a, b] = [left?.exchange, right?.exchange]
  const sides = {
    ...(left === undefined ? {} : { left: { seq: left.seq } }),
    ...(right === undefined ? {} : { right: { seq: right.seq } }),
  }
  const exchange = a ?? b
  if (exchange === undefined)
    return [{ kind: 'event', path: (left ?? right)?.type ?? '', ...sides }]
  const path = exchange.label
  if (a === undefined || b === undefined)
    return [{ kind: a === undefined ? 'extra' : 'missing', path, ...sides }]
  const request: Suspect = { kind: 'request', path, ...sides }
  const response: Suspect = { kind: 'response', path, ...sides }
  if (a.request === b.request) return [response]
  return a.response === b.response ? [request] : [request, { ...response, follows: true }]
}

type EventPair = readonly [left: OutlineEvent | undefined, right: OutlineEvent | undefined]

/**
 * Pair equal events in order; between those, equal requests; then events of one type, requests of
 * one method and path; the rest is on one side only.
 */
function pairEvents(
  left: readonly OutlineEvent[],
  right: readonly OutlineEvent[],
): {
  readonly pairs: readonly EventPair[]
  /** Left ones that are paired out of order. */
  readonly moved: ReadonlySet<OutlineEvent>
  readonly cut: boolean
} {
  const { pairs, cut } = pairsBy(left, right, [
    ({ digest }) => digest,
    ({ digest, exchange }) => exchange?.request ?? digest,
    ({ type, exchange }) => exchange?.label ?? type,
  ])
  return { ...withMoved(pairs), cut }
}

/**
 * Calls that run beside each other are recorded as they happen: equal requests in another order.
 */
function withMoved(pairs: readonly EventPair[]): {
  readonly pairs: readonly EventPair[]
  readonly moved: ReadonlySet<OutlineEvent>
} {
  const waiting = new Map<string, OutlineEvent[]>()
  for (const [a, b] of pairs) {
    if (a !== undefined || b?.exchange === undefined) continue
    const { request } = b.exchange
    waiting.set(request, [...(waiting.get(request) ?? []), b])
  }
  const moved = new Set<OutlineEvent>()
  const taken = new Set<OutlineEvent>()
  const paired = pairs.map(([a, b]): EventPair => {
    const partner = b === undefined ? waiting.get(a?.exchange?.request ?? '')?.shift() : undefined
    if (a === undefined || partner === undefined) return [a, b]
    moved.add(a)
    taken.add(partner)
    return [a, partner]
  })
  const left = paired.filter(([a, b]) => a !== undefined || b === undefined || !taken.has(b))
  return { pairs: left, moved }
}

function pairsBy(
  left: readonly OutlineEvent[],
  right: readonly OutlineEvent[],
  [name, ...rest]: readonly ((event: OutlineEvent) => string)[],
): { readonly pairs: readonly EventPair[]; readonly cut: boolean } {
  if (name === undefined) {
    const only: EventPair[] = left.map((event) => [event, undefined])
    return { pairs: [...only, ...right.map((event): EventPair => [undefined, event])], cut: false }
  }
  const numbers = new Map<string, number>()
  const number = (event: OutlineEvent): number => {
    const text = name(event)
    const known = numbers.get(text) ?? numbers.size
    numbers.set(text, known)
    return known
  }
  const whole = align(left.map(number), right.map(number))
  let { cut } = whole
  const pairs: EventPair[] = []
  for (const [at, to] of whole.partner.entries()) if (to >= 0) pairs.push([left[at], right[to]])
  for (const { leftFrom, leftTo, rightFrom, rightTo } of gapsOf(whole, right.length)) {
    const inside = pairsBy(left.slice(leftFrom, leftTo), right.slice(rightFrom, rightTo), rest)
    cut ||= inside.cut
    for (const pair of inside.pairs) pairs.push(pair)
  }
  return { pairs, cut }
}

/** Where a suspect stands: at an event of the left run, or right before it. */
interface Rank {
  readonly suspect: Suspect
  readonly leftSeq: number
  readonly before: boolean
}

/** Brings what is on the right into the order of the left, by what both have. */
class LeftOrder {
  readonly #anchors: { readonly rightSeq: number; readonly leftSeq: number }[] = []

  anchor(left: { readonly seq: number }, right: { readonly seq: number }): void {
    this.#anchors.push({ rightSeq: right.seq, leftSeq: left.seq })
  }

  anchorSteps({ left, right }: StepPair<PayloadPrint>): void {
    if (left === undefined || right === undefined) return
    this.#anchors.push({ rightSeq: right.seqs.start, leftSeq: left.seqs.start })
    if (left.seqs.end === undefined || right.seqs.end === undefined) return
    this.#anchors.push({ rightSeq: right.seqs.end, leftSeq: left.seqs.end })
  }

  sorted(suspects: readonly Suspect[]): Suspect[] {
    this.#anchors.sort((a, b) => a.rightSeq - b.rightSeq)
    return suspects
      .map((suspect) => this.#rank(suspect))
      .sort((a, b) => {
        if (a.leftSeq !== b.leftSeq) return a.leftSeq - b.leftSeq
        if (a.before !== b.before) return a.before ? -1 : 1
        return a.before ? rightSeqOf(a.suspect) - rightSeqOf(b.suspect) : 0
      })
      .map(({ suspect }) => suspect)
  }

  #rank(suspect: Suspect): Rank {
    const { left, right, kind, pair } = suspect
    // A step that is still open on the left shows how it differs where the right one ends.
    const open = ENDING_KINDS.has(kind) && pair?.left?.seqs.end === undefined
    if (left !== undefined && !open) return { suspect, leftSeq: left.seq, before: false }
    return { suspect, leftSeq: this.#next(right?.seq ?? 0), before: true }
  }

  /**
   * The left seq of what both have and the right one has next after `rightSeq`; endless where there
   * is none.
   */
  #next(rightSeq: number): number {
    let low = 0
    let high = this.#anchors.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#anchors[middle]!.rightSeq <= rightSeq) low = middle + 1
      else high = middle
    }
    // No real seq comes near it, and unlike Infinity it can be subtracted from itself.
    return this.#anchors[low]?.leftSeq ?? Number.MAX_SAFE_INTEGER
  }
}

function rightSeqOf(suspect: Suspect): number {
  return suspect.right?.seq ?? 0
}
