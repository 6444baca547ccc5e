/**
 * Runs that come into being whole and many at once: their objects share packs, their heads one
 * note.
 * Nobody sees any of them before everything of it is durable; what a crash leaves is no run at all.
 * For importers: a run that is being lived is written by `Run`.
 */
import type { Backend, LogWriter, RunDraft } from '../backend/backend.js'
import { encodeData } from '../core/body.js'
import { DaglogError } from '../core/errors.js'
import type { ParentLink } from '../core/event-map.js'
import { GENESIS, type Hash } from '../core/hash.js'
import { DRAFT_OBJECTS_BYTES } from '../core/limits.js'
import type { StoredObject } from '../core/object.js'
import { RunIndex } from '../fold/run-index.js'
import type { RunHead } from '../fold/run-list.js'
import { Appender, type Draft } from './appender.js'
import type { StoreContext } from './context.js'
import type { StandingFrame } from './log-tail.js'
import type { EncodedEvent, NewEvent } from './new-event.js'
import { firstDrafts, metaOf, type RunBeginning } from './run-beginning.js'

/** Writers that are open at once, each with a file and a lock. */
const RUNS_MAX = 128

export class DraftRuns {
  private readonly objects: ObjectPool
  private drafts: DraftedRun[] = []

  constructor(private readonly context: StoreContext) {
    this.objects = new ObjectPool(context.backend)
  }

  /** Begin a run with this id; undefined where that is taken. */
  async begin(id: string, beginning: RunBeginning): Promise<DraftedRun | undefined> {
    const { context, objects } = this
    const draft = await context.backend.draftRun(id)
    if (draft === undefined) return undefined
    try {
      const writer = await context.backend.openWriter({ run: id }, { program: context.program })
      const run = new DraftedRun(context, { id, draft, writer, objects })
      await run.start(beginning)
      this.drafts.push(run)
      return run
    } catch (error) {
      await draft.discard()
      throw error
    }
  }

  /** Whether it is time to publish, by what is open. */
  get full(): boolean {
    return this.drafts.length >= RUNS_MAX
  }

  /**
   * Show all that were begun, durably.
   * @returns Their heads.
   * @throws what writing throws; then none of them is there.
   */
  async publish(): Promise<readonly RunHead[]> {
    const drafts = this.drafts.splice(0)
    const heads: RunHead[] = []
    try {
      // What is referred to is durable before anybody can see what refers to it.
      if (drafts[0] !== undefined) await this.objects.flush(drafts[0].id)
      for (const run of drafts) heads.push(await run.finish())
      for (const run of drafts) await run.draft.publish()
    } catch (error) {
      for (const run of drafts) await run.discard()
      throw error
    }
    if (heads.length > 0)
      await this.context.heads.note(heads.map((data) => ({ type: 'run/head', data })))
    return heads
  }

  /** Give one up, as if it had never been begun. */
  async discard(run: DraftedRun): Promise<void> {
    this.drafts = this.drafts.filter((one) => one !== run)
    await run.discard()
  }
}

/** A run on its way. What was appended is taken; it is durable once published. */
export class DraftedRun {
  readonly id: string
  readonly draft: RunDraft
  private readonly index = new RunIndex()
  private readonly writer: LogWriter
  private readonly appender: Appender
  private identity: Hash | undefined
  private last: StandingFrame | undefined

  constructor(
    private readonly context: StoreContext,
    parts: {
      readonly id: string
      readonly draft: RunDraft
      readonly writer: LogWriter
      readonly objects: ObjectPool
    },
  ) {
    this.id = parts.id
    this.draft = parts.draft
    this.writer = parts.writer
    this.appender = new Appender({
      backend: parts.objects,
      log: { run: parts.id },
      writer: parts.writer,
      at: { seq: 0, prev: GENESIS, offset: 0 },
      onCommitted: (frames) => {
        for (const frame of frames) this.take(frame)
      },
    })
  }

  private take(frame: StandingFrame): void {
    this.identity ??= frame.hash
    this.last = frame
    this.index.apply(frame)
  }

  /** @internal */
  async start(beginning: RunBeginning): Promise<void> {
    const time = this.context.now()
    const meta = metaOf(beginning)
    const drafts: Draft[] = firstDrafts(this.id, beginning, time)
    if (meta !== undefined) drafts.push({ type: 'run/meta', time, data: encodeData(meta) })
    await this.appender.append(drafts, { sync: false })
  }

  /** Append one event; resolves to its seq once it is taken. */
  append({ type, data }: NewEvent): Promise<number> {
    return this.appendEncoded({ type, data: encodeData(data) })
  }

  /** The same of what is encoded already. */
  async appendEncoded({ type, data }: Pick<EncodedEvent, 'type' | 'data'>): Promise<number> {
    const draft = { type, time: this.context.now(), data }
    const [appended] = await this.appender.append([draft], { sync: false })
    return appended?.seq ?? -1
  }

  /** A link to what is there of it now. */
  link(kind: ParentLink['kind']): ParentLink {
    const { identity, last } = this
    if (identity === undefined || last === undefined)
      throw new DaglogError('INVARIANT', `draft ${this.id} has not begun`)
    return { run: identity, seq: last.seq, hash: last.hash, kind }
  }

  /** @internal Everything is durable; nobody writes any more. */
  async finish(): Promise<RunHead> {
    await this.appender.sync()
    await this.writer.release()
    const { run, seq, hash } = this.link('child')
    const { segment, from, to } = (this.last as StandingFrame).place
    const at = [seq, segment, from, to] as const
    return { id: this.id, run, seq, hash, at, summary: this.index.summary() }
  }

  /** @internal */
  async discard(): Promise<void> {
    await this.writer.release().catch(() => undefined)
    await this.draft.discard()
  }
}

/** Hashes of objects that are known to be kept; beyond this many, some are looked up again. */
const KNOWN_MAX = 1_000_000

/** Objects of many drafts on their way into one pack. */
class ObjectPool implements Pick<Backend, 'putObjects'> {
  private objects = new Map<Hash, StoredObject>()
  private bytes = 0
  private known = new Set<Hash>()
  private flushing: Promise<void> = Promise.resolve()
  private failure: unknown

  constructor(private readonly backend: Backend) {}

  /** Resolves once they are taken; they are durable after `flush`. */
  async putObjects(run: string, objects: readonly StoredObject[]): Promise<void> {
    for (const object of objects) {
      if (this.known.has(object.hash)) continue
      this.known.add(object.hash)
      // A copy: a view would keep all the bytes alive that it was cut from.
      this.objects.set(object.hash, { ...object, bytes: Buffer.from(object.bytes) })
      this.bytes += object.bytes.length
    }
    if (this.bytes < DRAFT_OBJECTS_BYTES) return
    // One pack is being written while the next one gathers, and no more than that.
    await this.flushing
    this.flushing = this.write(run)
  }

  async flush(run: string): Promise<void> {
    await this.flushing
    await this.write(run)
    if (this.failure !== undefined) throw this.failure
  }

  private async write(run: string): Promise<void> {
    if (this.objects.size === 0) return
    const objects = [...this.objects.values()]
    this.objects = new Map()
    this.bytes = 0
    try {
      await this.backend.putObjects(run, objects, { direct: true, dense: true })
    } catch (error) {
      // Whoever counts on an object that is gone must fail too.
      this.failure ??= error
    }
    if (this.known.size > KNOWN_MAX) this.known = new Set()
  }
}
