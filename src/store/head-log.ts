/**
 * The store's own log: where the heads of runs are noted, and what it says of them.
 * A head there protects a run's frames: what it covers is never cut, and a log that ends before it,
 * or differs from it, is known to be damaged.
 */
import { randomBytes } from 'node:crypto'
import type { Backend } from '../backend/backend.js'
import { encodeData, encodeInline, parseBody } from '../core/body.js'
import { genesisExtra } from '../core/frame.js'
import { HEADS_SNAPSHOT_FRAMES } from '../core/limits.js'
import { type RunDeleted, type RunHead, RunList } from '../fold/run-list.js'
import type { Draft } from './appender.js'
import { LogReader } from './log-reader.js'
import { shapeOf } from './log-shape.js'
import { readTail, type StandingFrame, standsAt, type Tail } from './log-tail.js'
import type { Head } from './log-walk.js'
import type { Notices } from './notices.js'
import { type OpenedLog, openLog } from './open-log.js'
import type { Snapshots } from './snapshots.js'

const SNAPSHOT_KEY = 'store/run-list'
/** A snapshot is written once the new frames are this part of the runs that it lists. */
const SNAPSHOT_SHARE = 16

export interface HeadLogOptions {
  readonly backend: Backend
  readonly notices: Notices
  readonly snapshots: Snapshots
  readonly program: string
  readonly now: () => number
  readonly lockWaitMs: number
}

type Fact =
  | { readonly type: 'run/head'; readonly data: RunHead }
  | { readonly type: 'run/deleted'; readonly data: RunDeleted }

export class HeadLog {
  private list = new RunList()
  private head: Head | undefined
  private snapshotSeq = -1
  private damaged: string | undefined
  private queue: {
    facts: readonly Fact[]
    resolve: () => void
    reject: (error: unknown) => void
  }[] = []
  private working: Promise<void> | undefined

  constructor(private readonly options: HeadLogOptions) {}

  /**
   * The list of runs as the log says it now. Damage in the log is told and leaves what stands
   * before it.
   */
  async refresh(): Promise<RunList> {
    const { backend, snapshots, notices } = this.options
    const reader = new LogReader(backend, 'store')
    const shape = await shapeOf(reader)
    // The log we folded may have been put aside for another (a restored backup).
    if (this.head !== undefined && !(await standsAt(reader, shape, this.head))) this.reset()
    if (this.head === undefined) {
      const snapshot = await snapshots.read(SNAPSHOT_KEY, reader, shape)
      const list = snapshot === undefined ? undefined : RunList.fromJSON(snapshot.state)
      if (snapshot !== undefined && list !== undefined) this.adopt(list, snapshot.head)
    }
    const tail = await readTail(reader, {
      shape,
      anchor: this.head,
      coveredSeq: -1,
      hasObject: async () => true,
      onFrame: (frame) => this.apply(frame),
    })
    if (tail.damage !== undefined && this.damaged !== tail.damage.reason) {
      this.damaged = tail.damage.reason
      notices.report(
        'heads',
        `the store's log is damaged at seq ${tail.damage.seq}: heads after it are not known`,
      )
    }
    return this.list
  }

  /**
   * The list of runs read from the log alone, without what is known or cached of it; for audits.
   */
  async read(): Promise<{ list: RunList; tail: Tail; events: number }> {
    const reader = new LogReader(this.options.backend, 'store')
    const list = new RunList()
    let events = 0
    const tail = await readTail(reader, {
      shape: await shapeOf(reader),
      coveredSeq: -1,
      hasObject: async () => true,
      onFrame: ({ type, body, redacted }) => {
        events += 1
        if (!redacted) list.apply(type, parseBody(body).data)
      },
    })
    return { list, tail, events }
  }

  private reset(): void {
    this.list = new RunList()
    this.head = undefined
    this.snapshotSeq = -1
  }

  private adopt(list: RunList, head: Head): void {
    this.list = list
    this.head = head
    this.snapshotSeq = head.seq
  }

  private apply(frame: StandingFrame): void {
    if (this.head !== undefined && frame.seq <= this.head.seq) return
    if (!frame.redacted) this.list.apply(frame.type, parseBody(frame.body).data)
    const { seq, hash, place } = frame
    this.head = { seq, hash, place }
  }

  private async snapshot(framesMin: number): Promise<void> {
    if (this.head === undefined || this.head.seq - this.snapshotSeq < framesMin) return
    await this.options.snapshots.write(SNAPSHOT_KEY, this.head, this.list)
    this.snapshotSeq = this.head.seq
  }

  /**
   * Note facts, durably. Many that come at once share one turn at the log.
   * @throws STORE_LOCKED where the log stays locked, CHAIN_BROKEN where it is damaged.
   */
  note(facts: readonly Fact[]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.queue.push({ facts, resolve, reject })
      this.working ??= this.work()
    })
  }

  private async work(): Promise<void> {
    await Promise.resolve()
    while (this.queue.length > 0) {
      const batch = this.queue.splice(0)
      try {
        await this.write(batch.flatMap(({ facts }) => facts))
        for (const { resolve } of batch) resolve()
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    this.working = undefined
  }

  /** The lock is held for this one append only, so that many processes can take turns. */
  private async write(facts: readonly Fact[]): Promise<void> {
    const log = await this.open()
    try {
      const drafts = facts.map(({ type, data }): Draft => {
        // The store's log has no objects: whatever it says is in its frames.
        return { type, time: this.options.now(), data: encodeInline(data) }
      })
      await log.appender.append(drafts, { sync: true })
      // Only here is all before the head known to be durable, and a snapshot hides what is before
      // it. A share of the list, or writing it again and again would cost more than all else.
      await this.snapshot(Math.max(HEADS_SNAPSHOT_FRAMES, this.list.size / SNAPSHOT_SHARE))
    } finally {
      await log.writer.release()
    }
  }

  private async open(): Promise<OpenedLog> {
    const { backend, notices, snapshots, program, now, lockWaitMs } = this.options
    return openLog({
      backend,
      log: 'store',
      notices,
      snapshots,
      snapshotKey: SNAPSHOT_KEY,
      known: this.head,
      fold: {
        restore: (state) => {
          const list = RunList.fromJSON(state)
          if (list !== undefined) this.list = list
          return list !== undefined
        },
        reset: () => this.reset(),
        apply: (frame) => this.apply(frame),
      },
      genesis: () => [
        {
          type: 'store/start',
          time: now(),
          data: encodeData({}),
          extra: genesisExtra({ nonce: randomBytes(16).toString('hex') }),
        },
      ],
      covered: undefined,
      program,
      now,
      force: false,
      lockWaitMs,
    })
  }

  /** Leave a snapshot behind where enough is new. */
  async close(): Promise<void> {
    while (this.working !== undefined) await this.working
  }
}
