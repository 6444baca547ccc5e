/**
 * Appends to one log: encodes events into frames in the order of the calls, and commits many of
 * them with one sync (group commit).
 * Knows frames and durability; neither event types nor recovery.
 * @see docs/format.md#durability
 */
import { randomFillSync } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { Backend, LogName, LogWriter } from '../backend/backend.js'
import { bodyText, type EncodedData } from '../core/body.js'
import { DaglogError } from '../core/errors.js'
import { encodeFrame } from '../core/frame.js'
import type { Hash } from '../core/hash.js'
import {
  APPEND_FRAMES_MAX,
  BATCH_BYTES_MAX,
  DIRECT_PACK_BYTES_MIN,
  FRAME_BYTES_MAX,
} from '../core/limits.js'
import type { StoredObject } from '../core/object.js'
import type { StandingFrame } from './log-tail.js'
import { ValueWriter } from './values.js'

/**
 * One event on its way: its data was encoded at the call, so later changes of the caller's do not
 * reach it.
 */
export interface Draft {
  readonly type: string
  readonly time: number
  readonly data: EncodedData
  /** Members of frame 0's head. */
  readonly extra?: string
  readonly op?: string | undefined
}

export interface Appended {
  readonly seq: number
  readonly hash: Hash
}

/** Where the next frame goes. */
export interface AppendPoint {
  readonly seq: number
  readonly prev: Hash
  readonly offset: number
}

/** How many that gather are written at once, and for how many turns of the event loop they wait. */
const GATHERED_APPENDS_MAX = 64
const GATHER_TURNS = 16
/** What brings more bytes of objects than this is not held back. */
const GATHERED_OBJECT_BYTES_MAX = 64 * 1024

/** How an append is written where nobody waits for it. */
export interface Gathering {
  readonly gather?: boolean
}

interface EncodedAppend {
  readonly text: string
  readonly objects: NewObjects
  readonly frames: readonly StandingFrame[]
}

interface Waiting extends EncodedAppend {
  /** Seq of the last frame that there is once this is written. */
  readonly lastSeq: number
  readonly sync: boolean
  readonly gather: boolean
  readonly resolve: (appended: readonly Appended[]) => void
  readonly reject: (error: unknown) => void
}

/**
 * Objects of an append: most go to the run's own, those of a very large value straight into a pack.
 */
interface NewObjects {
  readonly open: StoredObject[]
  readonly direct: StoredObject[]
}

/** What most appends have; told by identity. */
const NO_OBJECTS: NewObjects = { open: [], direct: [] }

export interface AppenderOptions {
  readonly backend: Pick<Backend, 'putObjects'>
  readonly log: LogName
  readonly writer: LogWriter
  readonly at: AppendPoint
  /** Called in order with frames that are now acknowledged, before their appends resolve. */
  readonly onCommitted: (frames: readonly StandingFrame[]) => void
}

export class Appender {
  private seq: number
  private prev: Hash
  private offset: number
  /** Last seq known to be synced; everything that was there when the writer opened is. */
  private syncedSeq: number
  private values = new ValueWriter()
  private queue: Waiting[] = []
  private flushing: Promise<void> | undefined
  private failure: unknown

  constructor(private readonly options: AppenderOptions) {
    this.seq = options.at.seq
    this.prev = options.at.prev
    this.offset = options.at.offset
    this.syncedSeq = options.at.seq - 1
  }

  /** Whether a write has failed; then nothing more is ever written through this appender. */
  get failed(): boolean {
    return this.failure !== undefined
  }

  /**
   * Append the drafts as one atomic unit: after a crash all of them stand, or none.
   * Resolves once they would survive power loss (`sync`), or once they are handed to the medium.
   * Encoding happens before the first await, so the order of calls is the order of frames.
   * With `gather` it waits some turns of the event loop for others, to be written with them.
   * @throws LIMIT_EXCEEDED at once, and then nothing was taken; WRITE_FAILED, WRITER_FENCED
   */
  append(
    drafts: readonly Draft[],
    { sync, gather = false }: { readonly sync: boolean } & Gathering,
  ): Promise<readonly Appended[]> {
    if (this.failure !== undefined) return Promise.reject(this.failure)
    // Named one by one: spreading an object costs as much as all of the rest.
    const { text, objects, frames } = this.encoded(drafts)
    return new Promise((resolve, reject) => {
      this.queue.push({
        text,
        objects,
        frames,
        lastSeq: this.seq - 1,
        sync,
        gather: gather && areSmall(objects),
        resolve,
        reject,
      })
      this.flushing ??= this.flush()
    })
  }

  /**
   * Resolves once all that was appended before would survive power loss.
   * @throws WRITE_FAILED, WRITER_FENCED
   */
  async sync(): Promise<void> {
    if (this.failure !== undefined || this.syncedSeq < this.seq - 1)
      await this.append([], { sync: true })
  }

  private encoded(drafts: readonly Draft[]): EncodedAppend {
    try {
      return this.encode(drafts)
    } catch (error) {
      // Objects that were cut for it go nowhere, so no later value may count on them.
      this.values = new ValueWriter()
      throw error
    }
  }

  private encode(drafts: readonly Draft[]): EncodedAppend {
    if (drafts.length > APPEND_FRAMES_MAX) {
      throw tooLarge(`one append of ${drafts.length} events`, `${APPEND_FRAMES_MAX} events`)
    }
    const large = drafts.some(({ data }) => data.large.length > 0)
    const objects: NewObjects = large ? { open: [], direct: [] } : NO_OBJECTS
    const frames: StandingFrame[] = []
    let { seq, prev, offset } = this
    let text = ''
    for (const [index, draft] of drafts.entries()) {
      const refs = draft.data.large.map((value) => {
        const stored = 'ref' in value ? value : this.values.store(value, draft.type)
        const bytes = stored.objects.reduce((sum, object) => sum + object.bytes.length, 0)
        const target = bytes >= DIRECT_PACK_BYTES_MIN ? objects.direct : objects.open
        for (const object of stored.objects) target.push(object)
        return stored.ref
      })
      const body = bodyText({
        salt: nextSalt(),
        inline: draft.data.inline,
        refs,
        tags: draft.data.tags,
        op: draft.op,
      })
      const lag = seq - this.syncedSeq - 1
      const left = drafts.length - index - 1
      const { type, time, extra = '', op } = draft
      const frame = encodeFrame(prev, { seq, time, type, lag, left, extra }, body)
      const bytes = Buffer.byteLength(frame.text)
      if (bytes > FRAME_BYTES_MAX)
        throw tooLarge(`one event of ${bytes} bytes`, `${FRAME_BYTES_MAX} bytes`)
      const place = { segment: this.options.writer.segment, from: offset, to: offset + bytes }
      frames.push(
        new CommittedFrame(seq, frame.hash, place, time, type, extra, op, body, draft.data),
      )
      text += frame.text
      seq += 1
      prev = frame.hash
      offset += bytes
    }
    this.seq = seq
    this.prev = prev
    this.offset = offset
    return { text, objects, frames }
  }

  private async flush(): Promise<void> {
    // Whatever else is called in this turn of the loop shares the first sync.
    await Promise.resolve()
    while (this.queue.length > 0) {
      await this.gathered()
      const batch = this.takeBatch()
      try {
        await this.commit(batch)
      } catch (error) {
        this.fail(error, batch)
        break
      }
    }
    this.flushing = undefined
  }

  private async gathered(): Promise<void> {
    const many = (): boolean => this.queue.length >= GATHERED_APPENDS_MAX
    for (let turns = 0; turns < GATHER_TURNS && !many(); turns += 1) {
      if (!this.queue.every(({ gather }) => gather)) return
      await setImmediate()
    }
  }

  private takeBatch(): Waiting[] {
    let length = 0
    let count = 0
    while (count < this.queue.length && (count === 0 || length < BATCH_BYTES_MAX)) {
      length += (this.queue[count] as Waiting).text.length
      count += 1
    }
    return this.queue.splice(0, count)
  }

  private async commit(batch: readonly Waiting[]): Promise<void> {
    const { writer, onCommitted } = this.options
    const sync = batch.some((waiting) => waiting.sync)
    const bytes = Buffer.from(
      batch.length === 1 ? (batch[0] as Waiting).text : batch.map(({ text }) => text).join(''),
    )
    const written = writer.commit(bytes, { sync })
    // In parallel; a frame whose objects did not make it is cut when the log is opened again.
    if (batch.every(({ objects }) => objects === NO_OBJECTS)) await written
    else
      await settleAll([written, this.putObjects(batch, 'open'), this.putObjects(batch, 'direct')])
    if (sync) this.syncedSeq = (batch.at(-1) as Waiting).lastSeq
    for (const waiting of batch) {
      onCommitted(waiting.frames)
      waiting.resolve(waiting.frames)
    }
  }

  private async putObjects(batch: readonly Waiting[], where: 'open' | 'direct'): Promise<void> {
    const objects = batch.flatMap((waiting) => waiting.objects[where])
    if (objects.length === 0) return
    const { backend, log } = this.options
    if (log === 'store') throw new DaglogError('INVARIANT', "the store's log has no objects")
    await backend.putObjects(log.run, objects, { direct: where === 'direct' })
  }

  /**
   * One failed write ends this appender: what the disk holds now is known only by reading it again.
   */
  private fail(error: unknown, batch: readonly Waiting[]): void {
    this.failure = error
    for (const waiting of [...batch, ...this.queue.splice(0)]) waiting.reject(error)
  }

  /** Resolves once nothing is on its way any more. */
  async idle(): Promise<void> {
    while (this.flushing !== undefined) await this.flushing
  }
}

function areSmall({ open, direct }: NewObjects): boolean {
  const bytes = open.reduce((sum, object) => sum + object.bytes.length, 0)
  return direct.length === 0 && bytes <= GATHERED_OBJECT_BYTES_MAX
}

/** Wait for all even when one fails, so that no write goes on behind the caller's back. */
async function settleAll(all: readonly Promise<unknown>[]): Promise<void> {
  const results = await Promise.allSettled(all)
  for (const result of results) if (result.status === 'rejected') throw result.reason
}

class CommittedFrame implements StandingFrame {
  readonly redacted = false

  constructor(
    readonly seq: number,
    readonly hash: Hash,
    readonly place: StandingFrame['place'],
    readonly time: number,
    readonly type: string,
    readonly extra: string,
    readonly op: string | undefined,
    private readonly text: string,
    readonly data: EncodedData,
  ) {}

  get body(): Buffer {
    return Buffer.from(this.text)
  }
}

const SALT_BYTES = 16
const salts = Buffer.alloc(SALT_BYTES * 256)
let saltAt = salts.length

/**
 * 16 random bytes as hex. Drawn by the page, since a system call for each would be most of an
 * append.
 */
function nextSalt(): string {
  if (saltAt >= salts.length) {
    randomFillSync(salts)
    saltAt = 0
  }
  saltAt += SALT_BYTES
  return salts.toString('hex', saltAt - SALT_BYTES, saltAt)
}

function tooLarge(what: string, limit: string): DaglogError {
  return new DaglogError('LIMIT_EXCEEDED', `${what} is over the limit of ${limit}; try: split it`, {
    limit,
  })
}
