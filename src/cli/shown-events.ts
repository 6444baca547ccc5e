/**
 * The events of a run as people are shown them: as they lie, payloads left out, and behind each
 * what readers find in it. One rule for recordings, exchanges and imports.
 * May be read piece by piece, as a log grows.
 */
import type { RunEvent } from '../core/event.js'
import type { AnyReader } from '../fold/reader.js'
import { builtInReaders } from '../fold/readers.js'
import { Registry } from '../fold/registry.js'
import type { RunView } from '../store/run-view.js'
import { type Events, isDamage, isGap, readable } from './readable.js'

export interface ShownEvent {
  readonly event: RunEvent
  /** What is in it follows and says all of it. */
  readonly isTold: boolean
}

/** What readers look at and derive nothing from: it is a session event itself. */
const SESSION_TYPE =
  /^(?:turn|user|assistant|tool|request|step|run)\/|^compaction$|^import\/source$/

/** Shown itself, whatever is in it: of an exchange both are of interest. */
const SHOWN_TOO = new RegExp(`${SESSION_TYPE.source}|^http/exchange$`)

export class ShownEvents {
  private readonly raw: Events
  private readonly whole: Events
  private readers: readonly AnyReader[] = []
  private registry: Registry | undefined
  /** The readers were given all before this. */
  private next = 0

  /** @param onTrouble Told once of each place that cannot be read. */
  constructor(
    private readonly view: RunView,
    onTrouble: (what: string) => void,
  ) {
    const told = new Set<string>()
    const once = (what: string): void => {
      if (told.has(what)) return
      told.add(what)
      onTrouble(what)
    }
    this.raw = readable(view, once)
    this.whole = readable(view, once)
  }

  /** Whether readers find anything in the run: then what is inside an event counts, too. */
  async isDerived(): Promise<boolean> {
    if (this.registry !== undefined) return true
    this.readers = await builtInReaders()
    for (const type of new Set(this.readers.flatMap(({ types }) => types))) {
      if (SESSION_TYPE.test(type) || !(await this.holds(type))) continue
      this.registry = new Registry(this.readers)
      return true
    }
    return false
  }

  private async holds(type: string): Promise<boolean> {
    try {
      return (await this.view.last(type)) !== undefined
    } catch (error) {
      // It is there, and what it refers to is not.
      if (isDamage(error)) return true
      throw error
    }
  }

  /** In order of address. `from` must not be before what was read already. */
  async *read(range: { readonly from: number; readonly to?: number }): AsyncGenerator<ShownEvent> {
    const isDerived = await this.isDerived()
    const types = isDerived ? new Set(this.readers.flatMap((reader) => reader.types)) : NOTHING
    const whole = new Whole(this.whole.events({ from: this.next, types: [...types] }))
    for await (const event of this.raw.events({ ...range, refs: true })) {
      const inside = types.has(event.type) ? await this.derive(whole, event.seq) : []
      if (isDerived) this.next = event.seq + 1
      yield { event, isTold: inside.length > 0 && !SHOWN_TOO.test(event.type) }
      for (const found of inside) yield { event: found, isTold: false }
    }
  }

  /** Give the readers all up to an event. @returns What they find in that one. */
  private async derive(whole: Whole, seq: number): Promise<readonly RunEvent[]> {
    for (;;) {
      const event = await whole.upTo(seq)
      if (event === undefined) return []
      // Of what is gone nothing is derived; that it is gone was told.
      const isGone = isGap(event) || event.refs !== undefined
      const inside = isGone ? [] : (this.registry?.derive(event) ?? [])
      if (event.seq === seq && !isGap(event)) return inside
    }
  }
}

const NOTHING: ReadonlySet<string> = new Set()

/** Events with their payloads, taken only once they are known to be there. */
class Whole {
  private readonly events: AsyncIterator<RunEvent>
  private held: RunEvent | undefined

  constructor(events: AsyncIterable<RunEvent>) {
    this.events = events[Symbol.asyncIterator]()
  }

  /** The next event, if it is not behind `seq`. */
  async upTo(seq: number): Promise<RunEvent | undefined> {
    if (this.held === undefined) {
      const { value, done } = await this.events.next()
      if (done === true) return undefined
      this.held = value
    }
    const event = this.held as RunEvent
    if (event.seq > seq) return undefined
    this.held = undefined
    return event
  }
}
