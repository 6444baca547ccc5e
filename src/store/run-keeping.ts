/**
 * What a writer does for its run beside appending: notes heads, seals objects, lays the log to
 * rest.
 * None of it makes an append wait or fail: the events are safe already. Trouble is told as a
 * notice.
 */
import type { Hash } from '../core/hash.js'
import {
  COLD_ENDED_BYTES_MIN,
  COLD_OPEN_BYTES_MIN,
  HEAD_EVERY_BYTES,
  OPEN_OBJECTS_BYTES_MAX,
} from '../core/limits.js'
import type { RunIndex } from '../fold/run-index.js'
import type { RunHead } from '../fold/run-list.js'
import type { StoreContext } from './context.js'
import { shapeOf } from './log-shape.js'
import type { Head } from './log-walk.js'
import type { OpenedLog } from './open-log.js'
import { snapshotKey } from './run-view.js'

/** What keeping must know of its run; all of it changes while the run is open. */
export interface Kept {
  readonly id: string
  index(): RunIndex
  identity(): Promise<Hash | undefined>
}

/**
 * Of a log whose writer was killed, opening reads at most about this part again, or
 * `HEAD_EVERY_BYTES`.
 */
const SNAPSHOT_SHARE = 32

export class RunKeeping {
  private notedSeq: number
  private notedBytes: number
  /**
   * The head when the log was opened, or -1 where it has just begun; what is behind it is not in a
   * snapshot yet.
   */
  private readonly openedSeq: number
  private snapshotBytes: number
  private noting: Promise<void> = Promise.resolve()
  private sealing: Promise<void> = Promise.resolve()
  /** Bytes of values since the open objects were last looked at. */
  private valueBytes = 0

  constructor(
    private readonly context: StoreContext,
    private readonly run: Kept,
    private readonly log: OpenedLog,
    notedSeq: number,
  ) {
    this.notedSeq = notedSeq
    this.notedBytes = log.head().place.to
    this.snapshotBytes = this.notedBytes
    this.openedSeq = notedSeq < 0 ? -1 : log.head().seq
  }

  /**
   * After an append: note the head where a turn ended or much was written, seal where there is
   * much.
   */
  afterAppend(appended: { readonly turnEnded: boolean; readonly valueBytes: number }): void {
    this.valueBytes += appended.valueBytes
    if (this.valueBytes >= OPEN_OBJECTS_BYTES_MAX) {
      this.valueBytes = 0
      this.sealing = this.sealing.then(() => this.seal(OPEN_OBJECTS_BYTES_MAX))
    }
    const head = this.log.head()
    if (!appended.turnEnded && head.place.to - this.notedBytes <= HEAD_EVERY_BYTES) return
    this.notedBytes = head.place.to
    this.noting = this.noting.then(() => this.note(head))
    const grownBytes = head.place.to - this.snapshotBytes
    if (grownBytes > Math.max(HEAD_EVERY_BYTES, head.place.to / SNAPSHOT_SHARE))
      this.snapshotSoon(head)
  }

  /**
   * Not only when the writer lets go: after a kill, the whole of a long log would have to be read.
   */
  private snapshotSoon(head: Head): void {
    this.snapshotBytes = head.place.to
    // Taken now: by the time the head is known to be durable, the index has gone on.
    const state = this.run.index().toJSON()
    const work = async (): Promise<void> => {
      await this.log.appender.sync()
      await this.context.snapshots.write(snapshotKey(this.run.id), head, state)
    }
    this.noting = this.noting.then(() =>
      this.unless('index could not be kept; the next start reads more', work),
    )
  }

  /** A run that the store's log does not know yet is noted at once, so that lists show it. */
  async introduce(): Promise<void> {
    if (this.notedSeq < 0) await this.note(this.log.head())
  }

  /** Before the writer lets go. @param forLong Whether it is not likely to be back soon. */
  async leave(forLong = false): Promise<void> {
    await this.sealing
    await this.noting
    if (this.log.appender.failed) return
    const head = this.log.head()
    await this.log.appender.sync()
    if (head.seq > this.notedSeq) await this.note(head)
    if (head.seq > this.openedSeq) {
      await this.context.snapshots.write(snapshotKey(this.run.id), head, this.run.index())
    }
    const rests = forLong || this.run.index().ended
    await this.seal(rests ? 1 : OPEN_OBJECTS_BYTES_MAX)
    await this.rest(rests ? COLD_ENDED_BYTES_MIN : COLD_OPEN_BYTES_MIN)
  }

  private async seal(bytesMin: number): Promise<void> {
    const { backend } = this.context
    await this.unless('objects could not be sealed; they are safe where they are', async () => {
      if ((await backend.objectBytes(this.run.id)) >= bytesMin)
        await backend.sealObjects(this.run.id)
    })
  }

  /** The log of an ended run, and of a very long one what is closed of it, is laid to rest. */
  private async rest(bytesMin: number): Promise<void> {
    const { writer, reader } = this.log
    if (writer.textBytes < bytesMin) return
    const { spans } = await shapeOf(reader)
    const span = spans.find(({ segment }) => segment === writer.segment)
    if (span?.prev === undefined) return
    const { firstSeq, prev } = span
    await this.unless('log could not be packed; it stays as it is', () =>
      writer.rest({ seq: firstSeq, prev }),
    )
  }

  private async unless(trouble: string, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.context.notices.report('objects', `run ${this.run.id}: its ${trouble}`, error)
    }
  }

  private async note(head: Head): Promise<void> {
    const { id } = this.run
    const identity = await this.run.identity()
    if (identity === undefined) return
    const { segment, from, to } = head.place
    const data: RunHead = {
      id,
      run: identity,
      seq: head.seq,
      hash: head.hash,
      at: [head.seq, segment, from, to],
      summary: this.run.index().summary(),
    }
    try {
      // What a head covers is never cut again, so power loss must not be able to take it.
      await this.log.appender.sync()
      await this.context.heads.note([{ type: 'run/head', data }])
      this.notedSeq = Math.max(this.notedSeq, head.seq)
    } catch (error) {
      const trouble = `the head of run ${id} could not be noted in the store's log; its events are safe`
      this.context.notices.report('heads', trouble, error)
    }
  }
}
