/**
 * A walk over the recorded steps of a run: each in order of start, its payloads read and held
 * against their hashes. Runs nothing and writes nothing; what cannot be read is told, and the walk
 * goes on.
 */
import { DaglogError, type ErrorCode } from '../core/errors.js'
import type { RunEvent } from '../core/event.js'
import {
  type OddEvent,
  type Payload,
  type PayloadMember,
  StepGraph,
  type StepNode,
} from '../fold/step-graph.js'
import { previewOf, printable } from '../value/preview.js'
import type { RunView } from './run-view.js'

/** A payload as the walk found it. */
export interface WalkedPayload {
  /** Of what could not be read: as much as its refs say. */
  readonly bytes: number
  /** One line that is safe to print; absent where the payload could not be read. */
  readonly preview?: string
}

/** Something that could not be read, or is not as it was recorded. */
export interface WalkProblem {
  readonly seq: number
  readonly code: ErrorCode
  readonly message: string
}

export interface WalkedStep extends StepNode<WalkedPayload> {
  /** Absent while the step is open. */
  readonly durationMs?: number
  readonly problems: readonly WalkProblem[]
}

export interface WalkTotals {
  readonly steps: number
  readonly ended: Readonly<Record<StepNode['status'], number>>
  /** Payloads found, and their size in bytes. */
  readonly payloads: number
  readonly bytes: number
  /** All problems, those that belong to no step included. */
  readonly problems: readonly WalkProblem[]
  /** Events about steps that do not fit. */
  readonly odd: readonly OddEvent[]
  /** What is missing without being wrong, in words. */
  readonly incomplete: readonly string[]
  /** `damaged` where there are problems, else `incomplete` where something is missing. */
  readonly verdict: 'ok' | 'incomplete' | 'damaged'
}

type WalkedView = Pick<RunView, 'id' | 'events' | 'condition'>

/** Walk the steps of a run: `for await (const step of walk)`, then `walk.totals()`. */
export function walkRun(view: WalkedView): RunWalk {
  return new RunWalk(view)
}

export class RunWalk implements AsyncIterable<WalkedStep> {
  readonly #view: WalkedView
  #totals: WalkTotals | undefined

  constructor(view: WalkedView) {
    this.#view = view
  }

  /** @throws USAGE before a walk has come to its end. */
  totals(): WalkTotals {
    if (this.#totals === undefined) {
      throw new DaglogError(
        'USAGE',
        `the walk over run ${this.#view.id} has not ended; try: read its steps to the end first`,
      )
    }
    return this.#totals
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<WalkedStep, void> {
    const walked = new Walked()
    let given = 0
    for await (const { event, problem } of stepEvents(this.#view)) {
      walked.apply(event, problem)
      // A step is given once it has ended and all that started before it were given.
      while (walked.ended(given)) yield walked.step(given++)
    }
    while (given < walked.graph.nodes.length) yield walked.step(given++)
    this.#totals = walked.totals(await this.#view.condition())
  }
}

interface ReadEvent {
  readonly event: RunEvent
  /** Why its payloads were left out of line. */
  readonly problem?: WalkProblem
}

const STEP_TYPES = ['step/start', 'step/end'] as const

/**
 * Step events with their payloads; an event whose payloads cannot be loaded comes with a problem.
 */
async function* stepEvents(view: WalkedView): AsyncGenerator<ReadEvent, void> {
  let from = 0
  for (;;) {
    try {
      for await (const event of view.events({ from, types: STEP_TYPES })) {
        yield { event: event as RunEvent }
        if (event.seq >= from && !isGap(event)) from = event.seq + 1
      }
      return
    } catch (error) {
      if (!(error instanceof DaglogError) || error.kind !== 'damage') throw error
      const event = await firstStepEvent(view, from)
      if (event === undefined) throw error
      yield {
        event,
        problem: { seq: event.seq, code: error.code, message: printable(error.message) },
      }
      from = event.seq + 1
    }
  }
}

/** The event that could not be loaded is the first that was not given yet. */
async function firstStepEvent(view: WalkedView, from: number): Promise<RunEvent | undefined> {
  for await (const event of view.events({ from, types: STEP_TYPES, refs: true })) {
    if (!isGap(event)) return event as RunEvent
  }
  return undefined
}

function isGap(event: { readonly type: string }): boolean {
  return event.type === 'log/gap'
}

/** What a walk has seen so far. Keeps one line of each payload. */
class Walked {
  readonly graph: StepGraph<WalkedPayload>
  readonly #problems: WalkProblem[] = []
  readonly #ofStep = new Map<string, WalkProblem[]>()
  #payloads = 0
  #bytes = 0
  #redacted = 0
  #gaps = 0

  constructor() {
    this.graph = StepGraph.of((payload, member) => this.#payload(payload, member))
  }

  apply(event: RunEvent, problem: WalkProblem | undefined): void {
    if (event.redacted === true) this.#redacted += 1
    if (isGap(event)) this.#gap(event)
    const node = this.graph.apply(event)
    if (problem === undefined) return
    this.#problems.push(problem)
    if (node === undefined) return
    const known = this.#ofStep.get(node.id)
    if (known === undefined) this.#ofStep.set(node.id, [problem])
    else known.push(problem)
  }

  ended(at: number): boolean {
    const node = this.graph.nodes[at]
    return node !== undefined && node.status !== 'open'
  }

  step(at: number): WalkedStep {
    const node = this.graph.nodes[at] as StepNode<WalkedPayload>
    const { start, end } = node.times
    return {
      ...node,
      ...(end === undefined ? {} : { durationMs: end - start }),
      problems: this.#ofStep.get(node.id) ?? [],
    }
  }

  totals(condition: Awaited<ReturnType<RunView['condition']>>): WalkTotals {
    const { damage, torn } = condition
    const problems = [...this.#problems]
    if (damage !== undefined) {
      const message = `the log is damaged from seq ${damage.seq} on: ${printable(damage.reason)}`
      problems.push({ seq: damage.seq, code: 'CHAIN_BROKEN', message })
    }
    const ended = { ok: 0, error: 0, interrupted: 0, cancelled: 0, open: 0 }
    for (const { status } of this.graph.nodes) ended[status] += 1
    const incomplete = [
      ...said(ended.open, 'step is open', 'steps are open'),
      ...said(this.#redacted, 'step event is redacted', 'step events are redacted'),
      ...said(this.#gaps, 'gap was recorded by salvage', 'gaps were recorded by salvage'),
      ...(torn === undefined ? [] : [`the end is torn: ${torn.bytes} bytes are no whole event`]),
    ]
    return {
      steps: this.graph.nodes.length,
      ended,
      payloads: this.#payloads,
      bytes: this.#bytes,
      problems,
      odd: this.graph.odd,
      incomplete,
      verdict: problems.length > 0 ? 'damaged' : incomplete.length > 0 ? 'incomplete' : 'ok',
    }
  }

  /**
   * A gap that a salvaged run recorded is an event with a hash; one that the reader found has none.
   */
  #gap(event: RunEvent): void {
    if (event.hash !== '') {
      this.#gaps += 1
      return
    }
    const { bytes, reason } = event.data as { readonly bytes: number; readonly reason: string }
    const message = `${bytes} bytes at seq ${event.seq} cannot be read: ${reason}`
    this.#problems.push({ seq: event.seq, code: 'FRAME_INVALID', message })
  }

  #payload(payload: Payload, member: PayloadMember): WalkedPayload {
    this.#payloads += 1
    const walked = glance(payload, member)
    this.#bytes += walked.bytes
    return walked
  }
}

function glance({ value, refs }: Payload, member: PayloadMember): WalkedPayload {
  if (refs.length > 0) return { bytes: refs.reduce((sum, { size }) => sum + size, 0) }
  const { line, bytes } = previewOf(value)
  return { bytes, preview: member === 'error' ? (errorLine(value) ?? line) : line }
}

const ERROR_LINE_LENGTH_MAX = 160

/** An error as its name and message, where it has them. */
function errorLine(value: unknown): string | undefined {
  const { name, message } = (value ?? {}) as { readonly name?: unknown; readonly message?: unknown }
  if (typeof name !== 'string' || typeof message !== 'string') return undefined
  return printable(`${name}: ${message}`, ERROR_LINE_LENGTH_MAX)
}

function said(count: number, one: string, many: string): string[] {
  return count === 0 ? [] : [`${count} ${count === 1 ? one : many}`]
}
