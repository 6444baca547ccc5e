/**
 * Folds each event once through each projection: the machinery behind `Projection`.
 * Knows neither logs nor snapshots; whoever drives it gives it events in order, and says how far it
 * is.
 * One projection that throws is set aside alone; the others go on.
 */
import { DaglogError } from '../core/errors.js'
import type { RunEvent } from '../core/event.js'
import type { AnyProjection, Projection } from './projection.js'
import type { AnyReader } from './reader.js'

/** Where a projection or the readers go on from. */
export interface FoldStart<S = unknown> {
  readonly state: S
  /** The last event that the state knows. */
  readonly asOfSeq: number
}

/** The state of each reader, in the order of their list. */
export type ReaderStates = readonly unknown[]

/** One projection at work. */
export class Unit {
  state: unknown
  /** Events up to this one are in the state that it began with. */
  readonly startSeq: number
  /** Why it was set aside; its state is as of the event before the one that it threw on. */
  failure: DaglogError | undefined
  private viewed: { readonly of: unknown; readonly view: unknown } | undefined

  constructor(
    readonly projection: AnyProjection,
    start: FoldStart | undefined,
  ) {
    this.state = start === undefined ? projection.init() : start.state
    this.startSeq = start?.asOfSeq ?? -1
  }

  apply(event: RunEvent): void {
    if (this.failure !== undefined) return
    const skip =
      event.run === undefined
        ? event.seq <= this.startSeq
        : this.startSeq >= 0 || this.projection.inherits === false
    if (skip) return
    try {
      this.state = this.projection.apply(this.state, event)
    } catch (error) {
      this.failure = failed(this.projection, event, error)
    }
  }

  /** Computed once a state. @throws PROJECTION_FAILED */
  view(asOfSeq: number): unknown {
    if (this.failure !== undefined) throw this.failure
    const { view } = this.projection
    if (view === undefined) return this.state
    if (this.viewed?.of !== this.state || this.viewed === undefined) {
      try {
        this.viewed = { of: this.state, view: view(this.state) }
      } catch (error) {
        throw failed(this.projection, { seq: asOfSeq, type: 'view' }, error)
      }
    }
    return this.viewed.view
  }
}

export class Registry {
  private readonly units = new Map<string, Unit>()
  private readonly byType = new Map<string, readonly Unit[]>()
  private readonly states: unknown[]
  private readonly readTypes: ReadonlySet<string>
  private seq: number

  /** @param start Where the readers go on from; at the beginning of a log unless given. */
  constructor(
    private readonly readers: readonly AnyReader[],
    start?: FoldStart<ReaderStates>,
  ) {
    this.states = start === undefined ? readers.map((reader) => reader.init()) : [...start.state]
    this.readTypes = new Set(readers.flatMap(({ types }) => types))
    this.seq = start?.asOfSeq ?? -1
  }

  /**
   * The last event that was given. Units that began further on know more, until this gets there.
   */
  get asOfSeq(): number {
    return this.seq
  }

  get readerStates(): ReaderStates {
    return [...this.states]
  }

  /**
   * Take a projection in, at its first state or at one that it had. The same again (by key and
   * version) changes nothing.
   * @throws PROJECTION_CONFLICT where its key is taken by another version.
   */
  add(projection: AnyProjection, start?: FoldStart): void {
    if (this.has(projection)) return
    this.units.set(projection.key, new Unit(projection, start))
    this.byType.clear()
  }

  /** @throws PROJECTION_CONFLICT where its key is taken by another version. */
  has(projection: AnyProjection): boolean {
    const known = this.units.get(projection.key)?.projection
    if (known !== undefined) checkSame(projection, known)
    return known !== undefined
  }

  unit(projection: AnyProjection): Unit | undefined {
    return this.has(projection) ? this.units.get(projection.key) : undefined
  }

  all(): readonly Unit[] {
    return [...this.units.values()]
  }

  /** What readers of a projection get. @throws PROJECTION_FAILED */
  view<S, V>(projection: Projection<S, V>): V {
    return (this.unit(projection) as Unit).view(this.seq) as V
  }

  /** The types that anybody here wants; undefined for all. */
  types(): readonly string[] | undefined {
    const types = new Set<string>()
    for (const { projection } of this.units.values()) {
      if (projection.types === undefined) return undefined
      for (const type of projection.types) types.add(type)
    }
    return [...new Set([...types, ...this.readTypes])]
  }

  /** Whether an event of this type concerns anybody here. */
  wants(type: string): boolean {
    return this.interested(type).length > 0 || this.readTypes.has(type)
  }

  /** Fold one event, and what readers find in it. One that was given before is not taken again. */
  apply(event: RunEvent): void {
    if (event.run === undefined) {
      if (event.seq <= this.seq) return
      this.seq = event.seq
    }
    for (const unit of this.interested(event.type)) unit.apply(event)
    for (const derived of this.derive(event)) {
      for (const unit of this.interested(derived.type)) unit.apply(derived)
    }
  }

  /** All events up to this seq were given, or concern nobody. */
  advance(seq: number): void {
    this.seq = Math.max(this.seq, seq)
  }

  /** What readers find in an event, as events. They remember that they have read it. */
  derive(event: RunEvent): readonly RunEvent[] {
    if (!this.readTypes.has(event.type)) return NOTHING
    let found: RunEvent[] | undefined
    for (const [index, reader] of this.readers.entries()) {
      if (!reader.types.includes(event.type)) continue
      const { state, events } = reader.read(this.states[index], event)
      this.states[index] = state
      for (const { line, time = event.time, type, data } of events) {
        found ??= []
        found.push({ ...event, line, time, type, data: data as never })
      }
    }
    return found ?? NOTHING
  }

  /** The same at this place; what it is given from now on does not reach this one. */
  copy(): Registry {
    const copy = new Registry(this.readers, { state: this.states, asOfSeq: this.seq })
    for (const unit of this.units.values()) copy.adopt(unit, this.seq)
    return copy
  }

  /** Take over a unit of another registry that is as far as this one. */
  adopt({ projection, state, failure }: Unit, asOfSeq: number): void {
    this.add(projection, { state, asOfSeq })
    const own = this.units.get(projection.key) as Unit
    own.failure = failure
  }

  private interested(type: string): readonly Unit[] {
    let found = this.byType.get(type)
    if (found === undefined) {
      found = this.all().filter(({ projection }) => projection.types?.includes(type) ?? true)
      this.byType.set(type, found)
    }
    return found
  }
}

const NOTHING: readonly RunEvent[] = []

/** @throws PROJECTION_CONFLICT where two share a key and mean different things by it. */
export function checkSame(asked: AnyProjection, known: AnyProjection): void {
  const { key, version } = asked
  if (known.key !== key || known.version === version) return
  throw new DaglogError(
    'PROJECTION_CONFLICT',
    `projection "${key}" is here already in version ${known.version}, and version ${version} was asked for; try: another key`,
    { key, versions: [known.version, version] },
  )
}

function failed(
  { key }: AnyProjection,
  at: { readonly seq: number; readonly line?: number; readonly type: string },
  cause: unknown,
): DaglogError {
  const place = at.line === undefined ? `${at.seq}` : `${at.seq}.${at.line}`
  return new DaglogError(
    'PROJECTION_FAILED',
    `projection "${key}" threw at seq ${place} (${at.type}): ${cause instanceof Error ? cause.message : String(cause)}; all others go on. Try: make it survive any data`,
    { key, seq: at.seq },
    { cause },
  )
}
