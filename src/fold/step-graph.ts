/**
 * The steps of a run as a graph: a fold over `step/start` and `step/end` events.
 * Knows no payload's meaning; what does not fit (users may append events of any shape) is kept as
 * `odd`, never thrown and never dropped in silence.
 */
import type { Ref } from '../core/body.js'
import type { RunEvent } from '../core/event.js'
import type { Effect, StepStatus } from '../core/event-map.js'

/** What a step was given or gave. */
export interface Payload {
  /** With `null` wherever a ref says that something is missing. */
  readonly value: unknown
  /**
   * What lies out of line, where the event was read with `refs: true`; pointers from the payload
   * on: '' is all of it.
   */
  readonly refs: readonly Ref[]
}

export type PayloadMember = 'input' | 'output' | 'error'

/**
 * One step. `P` is what is kept of its payloads: `Payload`, unless the graph was told otherwise.
 */
export interface StepNode<P = Payload> {
  /** Unique in its graph. */
  readonly id: string
  /** Its stable identity; '' where the event has none. */
  readonly key: string
  readonly name: string
  /**
   * Names from the top down to this step, joined by `/`; `#n` marks the n-th of a name under one
   * parent from the second on: `plan/llm#2`. For people: names may hold `/` and `#` themselves.
   */
  readonly path: string
  /** Steps above it. */
  readonly depth: number
  /** Id of the step it runs in; that one stands before it in the graph. */
  readonly parent?: string
  /** Ids of steps that it uses; all stand before it in the graph. */
  readonly deps: readonly string[]
  readonly effect?: Effect
  readonly status: StepStatus | 'open'
  readonly seqs: { readonly start: number; readonly end?: number }
  /** In ms since 1970. */
  readonly times: { readonly start: number; readonly end?: number }
  readonly input?: P
  readonly output?: P
  readonly error?: P
}

/** An event that tells about steps and does not fit, and what of it was left out. */
export interface OddEvent {
  readonly seq: number
  readonly type: string
  readonly why: string
}

/** The same while it grows. */
type Growing<P> = { -readonly [K in keyof StepNode<P>]: StepNode<P>[K] }

const STATUSES: ReadonlySet<unknown> = new Set(['ok', 'error', 'interrupted', 'cancelled'])
const EFFECTS: ReadonlySet<unknown> = new Set(['none', 'read', 'write'])

export class StepGraph<P = Payload> {
  /** In order of start. */
  readonly nodes: readonly StepNode<P>[]
  readonly odd: readonly OddEvent[]
  readonly #nodes: Growing<P>[] = []
  readonly #odd: OddEvent[] = []
  readonly #byId = new Map<string, Growing<P>>()
  /** How often a name was begun under one parent. */
  readonly #counts = new Map<string, number>()
  readonly #describe: (payload: Payload, member: PayloadMember) => P

  private constructor(describe: (payload: Payload, member: PayloadMember) => P) {
    this.#describe = describe
    this.nodes = this.#nodes
    this.odd = this.#odd
  }

  /** A graph that keeps payloads as they are in the events. */
  static whole(): StepGraph {
    return new StepGraph<Payload>((payload) => payload)
  }

  /**
   * A graph that keeps what `describe` makes of each payload, and lets go of the payload itself.
   */
  static of<P>(describe: (payload: Payload, member: PayloadMember) => P): StepGraph<P> {
    return new StepGraph(describe)
  }

  node(id: string): StepNode<P> | undefined {
    return this.#byId.get(id)
  }

  /**
   * Take in the next event of the run.
   * @returns The step it is about; undefined where there is none.
   */
  apply(event: RunEvent): StepNode<P> | undefined {
    const { type } = event
    if (type === 'log/gap') return this.#misfit(event, 'events cannot be read here')
    if (type !== 'step/start' && type !== 'step/end') return undefined
    if (event.redacted === true) return this.#misfit(event, 'redacted')
    const data = event.data
    if (typeof data !== 'object' || data === null) return this.#misfit(event, 'data is no object')
    const id = textOf((data as Record<string, unknown>).id)
    if (id === undefined) return this.#misfit(event, 'id is no text')
    return type === 'step/start'
      ? this.#start(event, id, data as Record<string, unknown>)
      : this.#end(event, id, data as Record<string, unknown>)
  }

  #start(
    event: RunEvent,
    id: string,
    data: Readonly<Record<string, unknown>>,
  ): StepNode<P> | undefined {
    if (this.#byId.has(id)) return this.#misfit(event, `step ${short(id)} has begun before`)
    const parent = this.#parentOf(event, data.parent)
    const name = textOf(data.name) ?? ''
    if (typeof data.name !== 'string') this.#misfit(event, 'name is no text')
    if (typeof data.key !== 'string') this.#misfit(event, 'key is no text')
    if (data.effect !== undefined && !EFFECTS.has(data.effect))
      this.#misfit(event, 'effect is none of none, read, write')
    const input = this.#payload(event, data, 'input')
    const node: Growing<P> = {
      id,
      key: typeof data.key === 'string' ? data.key : '',
      name,
      path: this.#pathOf(parent, name),
      depth: parent === undefined ? 0 : parent.depth + 1,
      ...(parent === undefined ? {} : { parent: parent.id }),
      deps: this.#depsOf(event, data.deps),
      ...(EFFECTS.has(data.effect) ? { effect: data.effect as Effect } : {}),
      status: 'open',
      seqs: { start: event.seq },
      times: { start: event.time },
      ...(input === undefined ? {} : { input }),
    }
    this.#nodes.push(node)
    this.#byId.set(id, node)
    return node
  }

  #end(
    event: RunEvent,
    id: string,
    data: Readonly<Record<string, unknown>>,
  ): StepNode<P> | undefined {
    const node = this.#byId.get(id)
    if (node === undefined) return this.#misfit(event, `step ${short(id)} has not begun`)
    if (node.status !== 'open') return this.#misfit(event, `step ${short(id)} has ended before`)
    const known = STATUSES.has(data.status)
    if (!known) this.#misfit(event, 'status is none of ok, error, interrupted, cancelled')
    node.status = known ? (data.status as StepStatus) : data.error === undefined ? 'ok' : 'error'
    node.seqs = { ...node.seqs, end: event.seq }
    node.times = { ...node.times, end: event.time }
    const output = this.#payload(event, data, 'output')
    if (output !== undefined) node.output = output
    const error = this.#payload(event, data, 'error')
    if (error !== undefined) node.error = error
    return node
  }

  /** Only a step that has begun can be a parent, so there is no circle. */
  #parentOf(event: RunEvent, parent: unknown): StepNode<P> | undefined {
    if (parent === undefined) return undefined
    const id = textOf(parent)
    const node = id === undefined ? undefined : this.#byId.get(id)
    if (node === undefined) this.#misfit(event, `parent ${short(id)} has not begun`)
    return node
  }

  #depsOf(event: RunEvent, deps: unknown): readonly string[] {
    if (deps === undefined) return []
    if (!Array.isArray(deps)) {
      this.#misfit(event, 'deps is no list')
      return []
    }
    const ids = new Set<string>()
    for (const dep of deps) {
      const id = textOf(dep)
      if (id !== undefined && this.#byId.has(id)) ids.add(id)
      else this.#misfit(event, `dep ${short(id)} has not begun`)
    }
    return [...ids]
  }

  #pathOf(parent: StepNode<P> | undefined, name: string): string {
    // An id is text of any shape; its length keeps it apart from the name.
    const place = parent === undefined ? `/${name}` : `${parent.id.length}/${parent.id}/${name}`
    const count = (this.#counts.get(place) ?? 0) + 1
    this.#counts.set(place, count)
    const own = count === 1 ? name : `${name}#${count}`
    return parent === undefined ? own : `${parent.path}/${own}`
  }

  /** A member that is undefined counts as absent, as it does in a step's key. */
  #payload(
    event: RunEvent,
    data: Readonly<Record<string, unknown>>,
    member: PayloadMember,
  ): P | undefined {
    const place = `/${member}`
    const refs = (event.refs ?? [])
      .filter(({ pointer }) => pointer === place || pointer.startsWith(`${place}/`))
      .map((ref) => ({ ...ref, pointer: ref.pointer.slice(place.length) }))
    const value = data[member]
    return value === undefined ? undefined : this.#describe({ value, refs }, member)
  }

  #misfit(event: RunEvent, why: string): undefined {
    this.#odd.push({ seq: event.seq, type: event.type, why })
    return undefined
  }
}

/** Ids that people mint are texts; a number is taken for one. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  return typeof value === 'number' ? String(value) : undefined
}

const ID_SHOWN_LENGTH_MAX = 64

/** An id inside a sentence. */
function short(id: string | undefined): string {
  return id === undefined ? '(no text)' : JSON.stringify(id.slice(0, ID_SHOWN_LENGTH_MAX))
}
