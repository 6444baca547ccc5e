/**
 * Who wants to be told of new values of projections, and how they are told: finished values, once
 * they are durable, each with the last event that it knows.
 */
import type { AnyProjection, Projection } from '../fold/projection.js'
import { checkSame, type Registry } from '../fold/registry.js'
import type { Notices } from './notices.js'

export type Listener<V> = (value: V, asOfSeq: number) => void

interface Subscriber {
  readonly projection: AnyProjection
  readonly listener: Listener<unknown>
  told: unknown
}

/** What they are told of. */
interface Source {
  readonly run: string
  readonly notices: Notices
  current(projections: readonly AnyProjection[]): Promise<Registry>
}

const NOT_TOLD = Symbol('not told')

export class Subscribers {
  private readonly all = new Set<Subscriber>()
  /** Something may have changed since the last were told. */
  private news = false
  private telling = false

  constructor(private readonly source: Source) {}

  projections(): AnyProjection[] {
    return [...this.all].map(({ projection }) => projection)
  }

  /**
   * Tell `listener` of each new value, and first of the one that is there now.
   * @returns what ends it.
   * @throws PROJECTION_CONFLICT
   */
  add<S, V>(projection: Projection<S, V>, listener: Listener<V>): () => void {
    for (const other of this.projections()) checkSame(projection, other)
    const subscriber: Subscriber = {
      projection,
      listener: listener as Listener<unknown>,
      told: NOT_TOLD,
    }
    this.all.add(subscriber)
    this.tellSoon()
    return () => this.all.delete(subscriber)
  }

  /** Costs nothing where nobody listens. */
  tellSoon(): void {
    this.news = true
    if (this.telling || this.all.size === 0) return
    this.telling = true
    queueMicrotask(() => this.tellAll())
  }

  private async tellAll(): Promise<void> {
    try {
      while (this.news && this.all.size > 0) {
        this.news = false
        const registry = await this.source.current(this.projections())
        for (const subscriber of this.all) this.tell(subscriber, registry)
      }
    } catch (error) {
      const trouble = `run ${this.source.run}: subscribers could not be told`
      this.source.notices.report('cache', trouble, error)
    } finally {
      this.telling = false
    }
  }

  private tell(subscriber: Subscriber, registry: Registry): void {
    const { projection, listener } = subscriber
    const unit = registry.unit(projection)
    if (unit === undefined) return
    const now = unit.failure ?? unit.state
    if (now === subscriber.told) return
    subscriber.told = now
    try {
      listener(registry.view(projection), registry.asOfSeq)
    } catch (error) {
      const trouble = `run ${this.source.run}: a subscriber of projection "${projection.key}" failed`
      this.source.notices.report('cache', trouble, error)
    }
  }
}
