/**
 * Lets recorded results out in the order in which they were recorded, one in a turn of the event
 * loop, so that whatever waits for the first of several goes the same way.
 * Where the next one is never asked for and nothing else moves, the lowest that is waits no longer.
 */
import { later, turn } from './quiet.js'

/** How a result went out: in its turn, before one that nobody had asked for, or after its turn. */
export type Release = 'in-order' | 'early' | 'late'

/** Turns of the event loop without a new call, until what waits is looked at. */
const QUIET_TURNS = 4

export interface GateOptions {
  /** How many places there are. */
  readonly places: number
  /**
   * Nothing moves. @returns Whether something was done about it; else the lowest result goes out
   * of order.
   */
  readonly onQuiet: () => Promise<boolean> | boolean
  /** Before the result at a place goes out, in order or not. */
  readonly onRelease?: (place: number) => void
  /** Whether nothing is on its way that may call for more. */
  readonly isQuiet: () => boolean
}

export class OrderGate {
  /** The first place that neither went out nor will be skipped. */
  private next = 0
  private readonly gone: Uint8Array
  private readonly waiting = new Map<number, (release: Release) => void>()
  private pumping: Promise<void> | undefined
  private moved = false
  /** Until the result that was let out has reached its caller. */
  private delivering: Promise<void> | undefined
  private tellDelivered: (() => void) | undefined
  private quietWanted = 0
  private closed = false
  private readonly enders: (() => void)[] = []

  constructor(private readonly options: GateOptions) {
    this.gone = new Uint8Array(options.places)
  }

  /** Results that wait. */
  get size(): number {
    return this.waiting.size
  }

  /** Resolves when the result at `place` may go out. */
  wait(place: number): Promise<Release> {
    return new Promise((resolve) => {
      this.waiting.set(place, resolve)
      this.move()
    })
  }

  /** Nobody will ask for the result at `place`. */
  skip(place: number): void {
    this.gone[place] = 1
    this.move()
  }

  /** A result that was let out is on its way until `delivered`; the next waits for that. */
  delivered(): void {
    this.tellDelivered?.()
  }

  /** Something was called. */
  move(): void {
    this.moved = true
    this.pumping ??= this.pump().finally(() => {
      this.pumping = undefined
      if (this.hasWork()) this.move()
    })
    // Who waits is told through what it waits for.
    this.pumping.catch(() => {})
  }

  /** `onQuiet` is to be called even where no result waits, until this is taken back. */
  wantQuiet(wanted: boolean): void {
    this.quietWanted += wanted ? 1 : -1
    if (wanted) this.move()
  }

  /** Resolves once all results went out, or nobody asks for those that are left. */
  done(): Promise<void> {
    this.skipGone()
    if (this.next >= this.gone.length) return Promise.resolve()
    return new Promise((resolve) => {
      this.enders.push(resolve)
      this.move()
    })
  }

  private skipGone(): void {
    while (this.next < this.gone.length && this.gone[this.next] === 1) this.next += 1
  }

  private tellDone(): void {
    for (const tell of this.enders.splice(0)) tell()
  }

  /** Whatever waits still waits for good. */
  close(): void {
    this.closed = true
    this.tellDone()
  }

  private hasWork(): boolean {
    return !this.closed && (this.waiting.size > 0 || this.quietWanted > 0 || this.enders.length > 0)
  }

  private async pump(): Promise<void> {
    let still = 0
    while (this.hasWork()) {
      await this.delivering
      // Whoever was told goes on first, as far as it comes.
      await turn()
      this.skipGone()
      if (this.next >= this.gone.length) this.tellDone()
      const lowest = this.waiting.has(this.next) ? this.next : this.late()
      if (lowest !== undefined) {
        this.release(lowest, lowest === this.next ? 'in-order' : 'late')
        still = 0
        continue
      }
      still = this.moved ? 0 : still + 1
      this.moved = false
      if (still < QUIET_TURNS) continue
      still = 0
      if (!this.options.isQuiet()) await later()
      else if (!(await this.options.onQuiet())) this.giveUp()
    }
  }

  /** One that was not asked for when it was its turn. */
  private late(): number | undefined {
    let lowest: number | undefined
    for (const place of this.waiting.keys())
      if (place < this.next && (lowest === undefined || place < lowest)) lowest = place
    return lowest
  }

  /** The next result is not asked for: the lowest that is goes out instead. */
  private giveUp(): void {
    let lowest = Number.POSITIVE_INFINITY
    for (const place of this.waiting.keys()) lowest = Math.min(lowest, place)
    if (this.waiting.size === 0) {
      this.tellDone()
      return
    }
    this.release(lowest, 'early')
    this.next = lowest + 1
  }

  private release(place: number, how: Release): void {
    const resolve = this.waiting.get(place)
    this.waiting.delete(place)
    this.gone[place] = 1
    this.delivering = new Promise((delivered) => {
      this.tellDelivered = delivered
    })
    this.options.onRelease?.(place)
    resolve?.(how)
  }
}
