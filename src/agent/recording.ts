/**
 * What a log knows of a function that was run: its steps by key, and the order in which they ended.
 * Payloads stay in the log until somebody asks for them, so a long run costs little memory.
 */

import { reviveError } from '../core/error-revive.js'
import { DaglogError } from '../core/errors.js'
import type { RunEvent } from '../core/event.js'
import type {
  AgentEnd,
  AgentStart,
  Effect,
  ErrorData,
  StepEnd,
  StepStart,
  Tick,
} from '../core/event-map.js'
import type { RunView } from '../store/run-view.js'
import type { StepOutcome } from '../store/step-outcome.js'

/** A step as it was recorded. */
export interface RecordedStep {
  readonly key: string
  readonly id: string
  readonly name: string
  readonly path: string
  readonly parent: RecordedStep | undefined
  readonly effect: Effect | undefined
  readonly ignore: readonly string[]
  readonly site: string | undefined
  /** The run that its events are in: a fork's prefix is in its parent. */
  readonly view: RunView
  readonly start: number
  /** Undefined where it never ended, or nobody saw how. */
  end: number | undefined
  status: 'ok' | 'error' | 'cancelled' | undefined
  /** Its place in the order of ends; -1 where it has none. */
  place: number
  /** Somebody asked for it in this execution. */
  asked: boolean
  /** How often this execution asked for it or for its like, of which it is the first. */
  asks: number
}

/** The function's own beginning or end. */
export interface AgentMark<T> {
  readonly view: RunView
  readonly seq: number
  readonly data: T
}

const TYPES = ['step/start', 'step/end', 'agent/start', 'agent/end', 'agent/abort', 'tick'] as const

const NONE: readonly string[] = []

export class Recording {
  readonly steps = new Map<string, RecordedStep>()
  /** Steps that ended, in the order in which they did. */
  readonly order: RecordedStep[] = []
  /** Values that were drawn, by key. */
  readonly ticks = new Map<string, { readonly value: unknown; readonly seq: number }>()
  /** Where the signal was aborted: how many steps had ended by then. */
  readonly aborts: { readonly after: number; readonly reason: ErrorData | undefined }[] = []
  began: AgentMark<AgentStart> | undefined
  ended: AgentMark<AgentEnd> | undefined
  private readonly inside = new Map<string, RecordedStep[]>()
  private readonly counts = new Map<string, number>()

  private constructor(readonly view: RunView) {}

  /** @param to Last seq that counts. A fork's prefix is read from its parent. */
  static async read(view: RunView, to = Number.POSITIVE_INFINITY): Promise<Recording> {
    const recording = new Recording(view)
    await recording.readRun(view, to)
    return recording
  }

  /** Steps that began under this parent ('' at the top), in the order in which they did. */
  children(parentKey: string): readonly RecordedStep[] {
    return this.inside.get(parentKey) ?? []
  }

  /** By its path, its id (`n3`) or its key. @throws STEP_NOT_FOUND */
  find(at: string): RecordedStep {
    for (const step of this.steps.values())
      if (step.path === at || step.id === at || step.key === at) return step
    throw new DaglogError(
      'STEP_NOT_FOUND',
      `run ${this.view.id} has no step ${JSON.stringify(at)}; try: daglog show ${this.view.id}`,
      { run: this.view.id, step: at },
    )
  }

  private async readRun(view: RunView, to: number): Promise<void> {
    const { parent } = await view.summary()
    if (parent?.kind === 'fork') await this.readRun(await view.openParent(parent.run), parent.seq)
    const byId = new Map<string, RecordedStep>()
    for await (const event of view.events({ types: TYPES as readonly string[], to, refs: true })) {
      if (event.redacted === true) continue
      // What is drawn is asked for at once, without a chance to read it then.
      const large = event.type === 'tick' && (event.refs?.length ?? 0) > 0
      this.take(view, large ? ((await view.event(event.seq)) ?? event) : event, byId)
    }
  }

  private take(view: RunView, event: RunEvent, byId: Map<string, RecordedStep>): void {
    const { type, seq } = event
    const data = event.data as never
    if (type === 'step/start') this.begin(view, seq, data, byId)
    else if (type === 'step/end') this.end(seq, data, byId)
    else if (type === 'agent/abort') this.takeAbort(data)
    else if (type === 'agent/start') {
      this.began = { view, seq, data }
      this.ended = undefined
    } else if (type === 'agent/end') this.ended = { view, seq, data }
    else if (type === 'tick') {
      for (const [key, value] of (data as Tick).values)
        if (!this.ticks.has(key)) this.ticks.set(key, { value, seq })
    }
  }

  private takeAbort({ reason }: { readonly reason?: ErrorData }): void {
    this.aborts.push({ after: this.order.length, reason })
  }

  private begin(
    view: RunView,
    seq: number,
    data: StepStart,
    byId: Map<string, RecordedStep>,
  ): void {
    const { id, key, name, effect, site, ignore = NONE } = data
    const known = this.steps.get(key)
    // What was begun again has the same identity; what has ended stays as it ended.
    if (known?.end !== undefined) return
    const parent = data.parent === undefined ? undefined : byId.get(data.parent)
    const path = known?.path ?? this.pathOf(parent, name)
    // Named one by one: there may be a hundred thousand, and spreading costs more than the rest.
    const step: RecordedStep = {
      key,
      id,
      name,
      path,
      parent,
      effect,
      ignore,
      site,
      view,
      start: seq,
      end: undefined,
      status: undefined,
      place: -1,
      asked: false,
      asks: 0,
    }
    byId.set(id, step)
    this.steps.set(key, step)
    const siblings = this.inside.get(parent?.key ?? '') ?? []
    const at = known === undefined ? -1 : siblings.indexOf(known)
    if (at < 0) siblings.push(step)
    else siblings[at] = step
    if (siblings.length === 1) this.inside.set(parent?.key ?? '', siblings)
  }

  private end(seq: number, { id, status }: StepEnd, byId: Map<string, RecordedStep>): void {
    const step = byId.get(id)
    if (step === undefined || step.end !== undefined || status === 'interrupted') return
    step.end = seq
    step.status = status
    step.place = this.order.length
    this.order.push(step)
  }

  private pathOf(parent: RecordedStep | undefined, name: string): string {
    const place = `${parent?.key ?? ''}/${name}`
    const count = (this.counts.get(place) ?? 0) + 1
    this.counts.set(place, count)
    const own = count === 1 ? name : `${name}#${count}`
    return parent === undefined ? own : `${parent.path}/${own}`
  }
}

/** What a step was given. */
export async function inputOf({ view, start }: RecordedStep): Promise<unknown> {
  return ((await view.event(start))?.data as StepStart | undefined)?.input
}

/** How an end says that a step went. */
export function outcomeOf({ status, output, error }: StepEnd): StepOutcome<unknown> {
  if (status === 'ok') return { status, output }
  const revived = reviveError(error ?? { name: 'Error', message: 'an error that was not recorded' })
  const partial = output === undefined ? {} : { partial: output }
  return { status: status === 'cancelled' ? 'cancelled' : 'error', error: revived, ...partial }
}
