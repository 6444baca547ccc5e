/**
 * Values that are another each time, recorded where they are drawn: time, random numbers, ids. Each
 * has a key like a step's, in the place of the step it is drawn in, so a function that is run again
 * is given the same; a draw more in one place changes none in another.
 * A value waits in memory for the next event, and stands before it in the same append: whatever was
 * done with it comes later in the log, and is never durable without it.
 * @see docs/again.md
 */
import crypto from 'node:crypto'
import { encodeData } from '../core/body.js'
import { valueDigest } from '../core/canonical.js'
import { TICK_PIECES_MAX } from '../core/limits.js'
import type { EncodedEvent } from './new-event.js'
import type { Run } from './run.js'
import { keyMaker } from './step-identity.js'
import { currentStep } from './steps.js'

export type TickName = 'now' | 'random' | 'uuid'

/** Kept from before anybody may replace them. */
const { random } = Math
const { randomUUID } = crypto
const DRAWS = { random: () => random(), uuid: () => randomUUID() }
const NO_INPUT = valueDigest(undefined)

export class Ticks {
  private waiting: [key: string, value: unknown][] = []
  private taken: readonly [key: string, value: unknown][] = []
  /** Of a run that nobody answers: how often each was drawn by this process. */
  private readonly counts = new Map<string, number>()
  private listening = false

  constructor(private readonly run: Run) {}

  /** In ms since 1970. */
  now(): number {
    return this.tick('now', () => this.run.context.now())
  }

  /** From 0 to 1, without 1. */
  random(): number {
    return this.tick('random', DRAWS.random)
  }

  uuid(): string {
    return this.tick('uuid', DRAWS.uuid)
  }

  /** Any other value that is drawn; it must be one that can be recorded. */
  tick<T>(name: string, draw: () => T): T {
    const { answerer } = this.run
    // The function has returned, and nothing is recorded of what it left running.
    if (answerer?.over === true) return draw()
    const key = this.keyOf(name)
    const recorded = answerer?.tick?.(key)
    const value = recorded === undefined ? draw() : (recorded.value as T)
    if (recorded?.inLog !== true) this.add(key, value)
    return value
  }

  /** What waits, as the event that goes before the next one. */
  take(): readonly EncodedEvent[] {
    if (this.waiting.length === 0) return []
    this.taken = this.waiting
    this.waiting = []
    return [{ type: 'tick', data: encodeData({ values: this.taken }) }]
  }

  /** The append that it was taken for did not come about. */
  giveBack(events: readonly EncodedEvent[]): void {
    if (events.length > 0) this.waiting = [...this.taken, ...this.waiting]
  }

  private keyOf(name: string): string {
    const { run } = this
    const outer = currentStep()
    const parentKey = outer?.run === run ? outer.key : ''
    const ask = { run, name, input: undefined, inputDigest: NO_INPUT, parentKey, options: {} }
    if (run.answerer !== undefined) return run.answerer.identify(ask)
    const keyOf = keyMaker(ask)
    const base = keyOf(0)
    const count = this.counts.get(base) ?? 0
    this.counts.set(base, count + 1)
    return keyOf(count)
  }

  private add(key: string, value: unknown): void {
    this.waiting.push([key, value])
    if (!this.listening) {
      this.listening = true
      this.run.onClosing(async () => this.flush())
    }
    // A failure poisons the writer, so whoever appends next is told.
    if (this.waiting.length >= TICK_PIECES_MAX) this.flush().catch(() => {})
  }

  private async flush(): Promise<void> {
    const events = this.take()
    if (events.length > 0) await this.run.appendEncoded(events)
  }
}
