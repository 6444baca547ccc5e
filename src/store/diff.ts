/**
 * How two runs differ: their steps aligned by what they are, then the events about no step.
 * Ids, seqs, times, salts, step keys, stacks, declared deps and effects never count; nor do names
 * of runs, nor their ends unless both ended.
 */
import { DaglogError, type ErrorCode } from '../core/errors.js'
import type { RunEvent } from '../core/event.js'
import type { OddEvent, StepNode } from '../fold/step-graph.js'
import { matchSteps } from '../fold/step-match.js'
import { DiffLineage } from './diff-lineage.js'
import {
  type DifferenceKind,
  type DifferenceSide,
  ENDING_KINDS,
  type Suspect,
  suspectsOf,
} from './diff-suspects.js'
import {
  comparedHeaders,
  comparedRequest,
  comparedResponse,
  type HistoryParting,
  historyParting,
} from './exchange-outline.js'
import { diffPayloads, type PayloadDiff } from './payload-diff.js'
import {
  comparable,
  type OutlinedView,
  outlineOf,
  type PayloadPrint,
  withoutStack,
} from './run-outline.js'

export type { DifferenceKind, DifferenceSide } from './diff-suspects.js'

/** Differences listed unless told otherwise. */
export const DIFFERENCES_MAX = 100

/** One difference; plain data. What only one side has comes without changes. */
export interface Difference extends PayloadDiff {
  readonly kind: DifferenceKind
  /** Path of the step (the left one, where both are there); of an event its type. */
  readonly path: string
  readonly left?: DifferenceSide
  readonly right?: DifferenceSide
  /** Of a missing or extra step: how many steps are inside it; they are not listed. */
  readonly inside?: number
  /** It follows from an earlier difference. */
  readonly tainted?: true
  /** It makes no run differ. */
  readonly soft?: true
  /** Of two requests to a model: where their messages part. */
  readonly history?: HistoryParting
  /** What could not be read, so that nothing is known of its changes. */
  readonly unreadable?: { readonly left?: Unreadable; readonly right?: Unreadable }
}

export interface Unreadable {
  readonly code: ErrorCode
  readonly message: string
}

/**
 * Plain data. Recorded values in `changes` may be what JSON cannot carry, so print it with
 * `encodeValue`, not `JSON.stringify`.
 */
export interface RunDiff {
  /** Whether nothing that counts differs, as far as the runs can be read. */
  readonly same: boolean
  /** The earliest one that counts, in the order of the left run. */
  readonly first?: Difference
  /** In the order of the left run. */
  readonly differences: readonly Difference[]
  /**
   * How many there are beyond those; absent where there are none. They are counted by their
   * digests, unread, so payloads that only have their keys in another order are among them.
   */
  readonly cut?: number
  /** Steps of each run, and pairs of steps without a difference. */
  readonly steps: { readonly left: number; readonly right: number; readonly same: number }
  /** The same of exchanges, where there are any. */
  readonly exchanges?: { readonly left: number; readonly right: number; readonly same: number }
  /** What of either run was not compared, since it does not fit or cannot be read. */
  readonly odd: { readonly left: readonly OddEvent[]; readonly right: readonly OddEvent[] }
  /** Set where the events were too different to be aligned in the best way. */
  readonly bounded?: true
}

export interface DiffOptions {
  readonly left: OutlinedView
  readonly right: OutlinedView
  /** Most differences to list; `DIFFERENCES_MAX` unless told. */
  readonly limit?: number
}

/** Compare two runs. Large values are read only where their hashes differ. */
export async function diffRuns(options: DiffOptions): Promise<RunDiff> {
  const left = await outlineOf(options.left)
  const right = await outlineOf(options.right)
  const match = matchSteps(left.graph.nodes, right.graph.nodes)
  const { suspects, bounded, exchanges } = suspectsOf(left, right, match)
  const lineage = new DiffLineage({ pairs: match.pairs, left: left.graph, right: right.graph })
  const report = new DiffReport(options, lineage)
  for (const suspect of suspects) await report.examine(suspect)
  const { first, differences, cut } = report
  const same = match.pairs.filter(
    (pair) => pair.left !== undefined && pair.right !== undefined && !lineage.hasChanged(pair),
  )
  return {
    same: first === undefined,
    ...(first === undefined ? {} : { first }),
    differences,
    ...(cut > 0 && { cut }),
    steps: { left: left.graph.nodes.length, right: right.graph.nodes.length, same: same.length },
    ...(exchanges.left + exchanges.right > 0 && {
      exchanges: {
        left: exchanges.left,
        right: exchanges.right,
        same: exchanges.paired - report.otherExchanges.size,
      },
    }),
    odd: { left: left.graph.odd, right: right.graph.odd },
    ...(bounded && { bounded }),
  }
}

class DiffReport {
  /** Left seqs of exchanges that both have and that are not the same. */
  readonly otherExchanges = new Set<number>()
  readonly differences: Difference[] = []
  first: Difference | undefined
  cut = 0
  readonly #options: DiffOptions
  readonly #lineage: DiffLineage
  readonly #limit: number

  constructor(options: DiffOptions, lineage: DiffLineage) {
    this.#options = options
    this.#lineage = lineage
    this.#limit = options.limit ?? DIFFERENCES_MAX
  }

  /** Take in the next suspect, in the order of the left run. */
  async examine(suspect: Suspect): Promise<void> {
    const soft = suspect.kind === 'order'
    const listed = this.differences.length < this.#limit
    // The first one is always looked into: whether the runs differ hangs on it.
    if (!listed && (soft || this.first !== undefined)) {
      this.cut += 1
      if (!soft && suspect.pair !== undefined) this.#lineage.note(suspect.pair)
      this.#noteExchange(suspect)
      return
    }
    const difference = await this.#differenceOf(suspect)
    if (difference === undefined) return
    this.#noteExchange(suspect)
    if (listed) this.differences.push(difference)
    else this.cut += 1
    if (soft) return
    this.first ??= difference
    if (suspect.pair !== undefined) this.#lineage.note(suspect.pair)
    this.#lineage.noteValues(difference)
  }

  #noteExchange({ kind, left, right }: Suspect): void {
    const isExchange = kind === 'request' || kind === 'response'
    if (isExchange && left !== undefined && right !== undefined) this.otherExchanges.add(left.seq)
  }

  async #differenceOf(suspect: Suspect): Promise<Difference | undefined> {
    const { kind, path, left, right, pair } = suspect
    const sides = {
      ...(left === undefined ? {} : { left }),
      ...(right === undefined ? {} : { right }),
    }
    if (kind === 'order') return { kind, path, ...sides, changes: [], soft: true }
    const found = await this.#compare(suspect)
    if (found === undefined) return undefined
    const tainted =
      suspect.follows === true ||
      this.#lineage.carries(found) ||
      (pair !== undefined && this.#lineage.follows(pair, ENDING_KINDS.has(kind)))
    return {
      kind,
      path,
      ...sides,
      ...found,
      ...(pair !== undefined && pair.inside > 0 && { inside: pair.inside }),
      ...(tainted && { tainted }),
    }
  }

  /** What differs; undefined where nothing does, once it is looked at. */
  async #compare(suspect: Suspect): Promise<Compared | undefined> {
    const { kind, left, right, pair } = suspect
    if (left === undefined || right === undefined) return { changes: [] }
    if (kind === 'renamed')
      return diffPayloads({ name: pair?.left?.name }, { name: pair?.right?.name })
    const leftRead = await readSide(this.#options.left, left.seq, kind, pair?.left)
    const rightRead = await readSide(this.#options.right, right.seq, kind, pair?.right)
    if ('value' in leftRead && 'value' in rightRead) {
      if (kind === 'request') return diffRequests(leftRead.value, rightRead.value)
      return diffPayloads(leftRead.value, rightRead.value)
    }
    const unreadable = {
      ...('value' in leftRead ? {} : { left: leftRead }),
      ...('value' in rightRead ? {} : { right: rightRead }),
    }
    return { changes: [], unreadable }
  }
}

/** Keys differ: in what was asked, or else in a header. */
function diffRequests(left: unknown, right: unknown): Compared | undefined {
  const asked = diffPayloads(comparedRequest(left), comparedRequest(right))
  if (asked === undefined) return diffPayloads(comparedHeaders(left), comparedHeaders(right))
  const history = historyParting(left, right)
  return history === undefined ? asked : { ...asked, history }
}

type Compared = PayloadDiff & Pick<Difference, 'unreadable' | 'history'>

/** What one side of a suspect holds, its large values read. */
async function readSide(
  view: OutlinedView,
  seq: number,
  kind: DifferenceKind,
  node: StepNode<PayloadPrint> | undefined,
): Promise<{ readonly value: unknown } | Unreadable> {
  let event: RunEvent | undefined
  try {
    event = await view.event(seq)
  } catch (error) {
    if (!(error instanceof DaglogError) || error.kind !== 'damage') throw error
    return { code: error.code, message: error.message }
  }
  if (event === undefined || event.seq !== seq || event.type === 'log/gap')
    return { code: 'SEQ_NOT_FOUND', message: `seq ${seq} of run ${view.id} cannot be read` }
  if (event.redacted === true)
    return { code: 'BODY_REDACTED', message: `seq ${seq} of run ${view.id} was redacted` }
  if (kind === 'response') return { value: comparedResponse(event.data) }
  if (kind === 'request') return { value: event.data }
  if (node === undefined) return { value: comparable(event.type, event.data) }
  const data = event.data as Readonly<Record<string, unknown>>
  if (kind === 'input' || kind === 'output') return { value: data[kind] }
  const error = node.error === undefined ? undefined : withoutStack(data.error)
  if (kind === 'error') return { value: error }
  return { value: { status: node.status, ...(error === undefined ? {} : { error }) } }
}
