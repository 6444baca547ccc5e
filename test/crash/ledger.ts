/**
 * What was asked of runs and what they acknowledged, and whether a log that was found later keeps to it.
 * Knows appends and events; neither disks nor stores.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Appended, NewEvent, Run, RunEvent } from '../../src/index.js'

/** One atomic append. Its events carry `mark`, `part` and `of` in their data. */
interface Attempt {
  readonly run: string
  /** Appends of one session are written in the order of the calls. */
  readonly session: number
  readonly mark: number
  readonly events: readonly NewEvent[]
  appended?: readonly Appended[]
}

/** How far a ledger was at some moment. */
export interface LedgerPosition {
  readonly attempts: number
  readonly acknowledged: ReadonlySet<number>
  /** Marks of appends that must survive whatever comes. */
  readonly durable: ReadonlySet<number>
  /** Runs that were deleted; what is left of them is not looked at. */
  readonly gone: ReadonlySet<string>
}

export interface AppendOptions {
  /** Whether the acknowledgement promises that power may be lost; true unless told. */
  readonly durable?: boolean
}

interface Marked {
  readonly mark: number
  readonly part: number
  readonly of: number
}

export class Ledger {
  /** Called right after each acknowledgement. */
  onAcknowledged: () => void = () => {}
  private readonly attempts: Attempt[] = []
  private readonly acknowledged = new Set<number>()
  private readonly durable = new Set<number>()
  private readonly gone = new Set<string>()
  private readonly sessions = new Map<Run, number>()

  get acknowledgedCount(): number {
    return this.acknowledged.size
  }

  /** Append events as one atomic unit; resolves, or rejects, as the run does. */
  async append(
    run: Run,
    events: readonly (readonly [type: string, data?: object])[],
    { durable = true }: AppendOptions = {},
  ): Promise<void> {
    const mark = this.attempts.length
    const session = this.sessions.get(run) ?? this.sessions.size
    this.sessions.set(run, session)
    const marked = events.map(([type, data], part) => ({
      type,
      data: { mark, part, of: events.length, ...data },
    }))
    const attempt: Attempt = { run: run.id, session, mark, events: marked }
    this.attempts.push(attempt)
    attempt.appended = await run.appendAll(marked)
    this.acknowledged.add(mark)
    if (durable) this.settle(run)
    this.onAcknowledged()
  }

  /** Whatever was acknowledged in this run is promised to be durable. */
  settle(run: { readonly id: string }): void {
    for (const mark of this.acknowledged) {
      if (this.attempts[mark]?.run === run.id) this.durable.add(mark)
    }
  }

  /** A run may be gone from now on, or partly so. */
  forget(id: string): void {
    this.gone.add(id)
  }

  /** A copy that is not reached by what comes later. */
  position(): LedgerPosition {
    return {
      attempts: this.attempts.length,
      acknowledged: new Set(this.acknowledged),
      durable: new Set(this.durable),
      gone: new Set(this.gone),
    }
  }

  /** A ledger that goes on from a position of this one. */
  from(position: LedgerPosition): Ledger {
    const ledger = new Ledger()
    ledger.attempts.push(...this.attempts.slice(0, position.attempts))
    for (const mark of position.acknowledged) ledger.acknowledged.add(mark)
    for (const mark of position.durable) ledger.durable.add(mark)
    for (const id of position.gone) ledger.gone.add(id)
    for (const [run, session] of this.sessions) ledger.sessions.set(run, session)
    return ledger
  }

  /**
   * What in `logs` is not as was promised by `position`.
   * @param logs The events of each run, in order.
   */
  losses(logs: ReadonlyMap<string, readonly RunEvent[]>, position: LedgerPosition): string[] {
    const losses: string[] = []
    for (const run of new Set(this.attempts.map((attempt) => attempt.run))) {
      if (position.gone.has(run)) continue
      const attempts = this.attempts.filter((attempt) => attempt.run === run)
      for (const loss of lossesOf(attempts, logs.get(run) ?? [], position))
        losses.push(`${run}: ${loss}`)
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
  const marked = log.filter(({ data }) => typeof (data as Marked | null)?.mark === 'number')
  const found = new Map<number, RunEvent[]>()
  for (const event of marked) {
    const { mark } = event.data as Marked
    found.set(mark, [...(found.get(mark) ?? []), event])
  }
  const broken = new Set<number>()
  for (const { mark, session, events, appended } of attempts) {
    const parts = found.get(mark) ?? []
    found.delete(mark)
    if (parts.length === 0) {
      broken.add(session)
      if (position.durable.has(mark)) losses.push(`acknowledged append ${mark} is lost`)
      continue
    }
    if (mark >= position.attempts) losses.push(`append ${mark} was not even asked for yet`)
    if (broken.has(session)) losses.push(`append ${mark} is there, and one before it is not`)
    const whole = isDeepStrictEqual(
      parts.map(({ type, data }) => ({ type, data })),
      events,
    )
    if (!whole) losses.push(`append ${mark} is there in part, or with other data`)
    if (appended === undefined || !whole) continue
    const isSame = appended.every(
      ({ seq, hash }, part) => parts[part]?.seq === seq && parts[part]?.hash === hash,
    )
    if (!isSame) losses.push(`append ${mark} has another seq or hash than was acknowledged`)
  }
  for (const mark of found.keys()) losses.push(`append ${mark} is there, and nobody asked for it`)
  for (const [index, { seq }] of log.entries()) {
    if (seq !== index) losses.push(`event ${index} has seq ${seq}`)
  }
  const order = marked.map(({ data }) => (data as Marked).mark)
  if (
    !isDeepStrictEqual(
      order,
      order.toSorted((a, b) => a - b),
    )
  )
    losses.push(`the order is ${order}`)
  return losses
}
