/**
 * What was asked of runs and what they acknowledged, and whether logs that were found later keep to
 * it.
 * Knows appends and events; neither disks nor stores.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Appended, NewEvent, Run, RunEvent } from '../../src/index.js'

/**
 * What an acknowledgement is worth: it may be lost with the power, or only with the disk, or not
 * even a kill.
 */
export type Promised = 'durable' | 'to the system' | 'nothing'

/** One atomic append. */
interface Attempt {
  readonly run: string
  /** Who asked. What one asks is written in the order of the calls. */
  readonly session: number
  readonly mark: number
  readonly events: readonly NewEvent[]
  readonly promised: Promised
  appended?: readonly Appended[]
}

/** What each event carries in its data, so that it is known again. */
interface Marked {
  readonly mark: number
  readonly part: number
  readonly of: number
}

/** How far a ledger was at some moment. Not reached by what comes later. */
export interface LedgerPosition {
  readonly attempts: number
  /** Marks of appends that the caller was told of. */
  readonly acknowledged: ReadonlySet<number>
  /** Those of them that must survive a power loss. */
  readonly durable: ReadonlySet<number>
  /** Runs that are being deleted: nothing is said of them. */
  readonly leaving: ReadonlySet<string>
  /** Runs that must never be seen again. */
  readonly gone: ReadonlySet<string>
}

export class Ledger {
  /** Called right after each acknowledgement. */
  onAcknowledged: () => void = () => {}
  private readonly attempts: Attempt[] = []
  private readonly acknowledged = new Set<number>()
  private readonly durable = new Set<number>()
  private readonly leaving = new Set<string>()
  private readonly gone = new Set<string>()
  private readonly sessions = new Map<Run, number>()
  private sessionLast = 0

  get acknowledgedCount(): number {
    return this.acknowledged.size
  }

  /** Append events as one atomic unit; resolves or rejects as the run does. */
  async append(
    run: Run,
    events: readonly (readonly [type: string, data?: object])[],
    promised: Promised = 'durable',
  ): Promise<void> {
    const mark = this.attempts.length
    const marked = events.map(([type, data], part): NewEvent => {
      const own = { mark, part, of: events.length, ...data }
      return { type, data: type === 'state/write' ? { value: own } : own }
    })
    const session = this.sessionOf(run)
    const attempt: Attempt = { run: run.id, session, mark, events: marked, promised }
    this.attempts.push(attempt)
    attempt.appended = await run.appendAll(marked)
    if (promised === 'durable') return this.settle(run.id)
    if (promised === 'to the system') this.acknowledged.add(mark)
    this.onAcknowledged()
  }

  private sessionOf(run: Run): number {
    const known = this.sessions.get(run)
    if (known !== undefined) return known
    this.sessionLast += 1
    this.sessions.set(run, this.sessionLast)
    return this.sessionLast
  }

  /** All that a run has taken is promised to be durable. */
  settle(run: string): void {
    for (const attempt of this.attempts) {
      if (attempt.run !== run || attempt.appended === undefined) continue
      this.acknowledged.add(attempt.mark)
      this.durable.add(attempt.mark)
    }
    this.onAcknowledged()
  }

  /** From now on a run may be gone. */
  leave(run: string): void {
    this.leaving.add(run)
  }

  /** From now on a run must be gone. */
  erase(run: string): void {
    this.gone.add(run)
    this.onAcknowledged()
  }

  position(): LedgerPosition {
    return {
      attempts: this.attempts.length,
      acknowledged: new Set(this.acknowledged),
      durable: new Set(this.durable),
      leaving: new Set(this.leaving),
      gone: new Set(this.gone),
    }
  }

  /** A ledger that goes on from a position of this one, after a kill or a power loss. */
  from(position: LedgerPosition, after: 'kill' | 'power loss'): Ledger {
    const ledger = new Ledger()
    const kept = after === 'kill' ? position.acknowledged : position.durable
    for (const attempt of this.attempts.slice(0, position.attempts)) {
      const { run, session, mark, events, promised } = attempt
      const isTold = kept.has(mark) || promised === 'nothing'
      ledger.attempts.push(isTold ? attempt : { run, session, mark, events, promised })
    }
    for (const mark of kept) ledger.acknowledged.add(mark)
    for (const mark of position.durable) ledger.durable.add(mark)
    for (const run of position.leaving) ledger.leaving.add(run)
    for (const run of position.gone) ledger.gone.add(run)
    ledger.sessionLast = this.sessionLast
    return ledger
  }

  /**
   * What is not as was promised up to `position`.
   * @param logs The events of each run that there is, in order.
   */
  losses(logs: ReadonlyMap<string, readonly RunEvent[]>, position: LedgerPosition): string[] {
    const losses: string[] = []
    for (const run of position.gone) if (logs.has(run)) losses.push(`deleted run ${run} is back`)
    for (const run of new Set(this.attempts.map((attempt) => attempt.run))) {
      if (position.leaving.has(run)) continue
      const attempts = this.attempts.filter((attempt) => attempt.run === run)
      for (const loss of lossesOf(attempts, logs.get(run) ?? [], position))
        losses.push(`run ${run}: ${loss}`)
    }
    return losses
  }
}

function lossesOf(
  attempts: readonly Attempt[],
  log: readonly RunEvent[],
  position: LedgerPosition,
): string[] {
  const losses: string[] = []
  const order: number[] = []
  const found = new Map<number, RunEvent[]>()
  for (const [index, event] of log.entries()) {
    if (event.seq !== index) losses.push(`event ${index} has seq ${event.seq}`)
    const mark = markOf(event)
    if (mark === undefined) continue
    order.push(mark)
    found.set(mark, [...(found.get(mark) ?? []), event])
  }
  const ended = new Set<number>()
  for (const attempt of attempts) {
    const { mark, session } = attempt
    const parts = found.get(mark)
    found.delete(mark)
    if (parts === undefined) {
      ended.add(session)
      if (position.durable.has(mark)) losses.push(`acknowledged append ${mark} is lost`)
      continue
    }
    if (mark >= position.attempts) losses.push(`append ${mark} was not asked for yet`)
    if (ended.has(session)) losses.push(`append ${mark} is there, and one before it is not`)
    const difference = differenceOf(attempt, parts)
    if (difference !== undefined) losses.push(`append ${mark} ${difference}`)
  }
  for (const mark of found.keys()) losses.push(`append ${mark} is there, and nobody asked for it`)
  const isInOrder = isDeepStrictEqual(
    order,
    order.toSorted((a, b) => a - b),
  )
  if (!isInOrder) losses.push(`the order of appends is ${order}`)
  return losses
}

function markOf({ type, data }: RunEvent): number | undefined {
  const value = data as (Marked & { readonly value?: Marked }) | null | undefined
  return type === 'state/write' ? value?.value?.mark : value?.mark
}

/** How what is there of an append is not what was asked for or acknowledged. */
function differenceOf(
  { events, appended }: Attempt,
  parts: readonly RunEvent[],
): string | undefined {
  if (parts.length !== events.length) return `is there in part: ${parts.length}/${events.length}`
  for (const [part, { type, data, seq, hash }] of parts.entries()) {
    if (!isDeepStrictEqual({ type, data }, events[part])) return 'has other data than was given'
    const told = appended?.[part]
    if (told !== undefined && (told.seq !== seq || told.hash !== hash))
      return 'has another seq or hash than was acknowledged'
  }
  return undefined
}
