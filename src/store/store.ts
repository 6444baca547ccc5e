/**
 * A store: runs and what they share.
 */
import type { Backend } from '../backend/backend.js'
import { DaglogError } from '../core/errors.js'
import type {
  AgainVerbs,
  Agent,
  Executed,
  Forked,
  ForkRunOptions,
  RecordOptions,
  Replayed,
  ReplayOptions,
  Resumed,
  ResumeOptions,
} from './again-verbs.js'
import { putAnswer } from './ask-giving.js'
import { exportBundle } from './bundle.js'
import { type BundleSource, type ImportedRun, importBundle } from './bundle-import.js'
import type { Durability, StoreContext } from './context.js'
import { type DeleteOptions, deleteRun } from './delete-run.js'
import { diffRuns, type RunDiff } from './diff.js'
import { type DuReport, usage } from './du.js'
import { collect, type GcReport } from './gc.js'
import { HeadLog } from './head-log.js'
import { encodeManifest, type Manifest, newManifest, readManifest } from './manifest.js'
import { type Notice, Notices, warnOnNotice } from './notices.js'
import { type ForkOptions, forkBeginning } from './parent-link.js'
import { Run } from './run.js'
import type { RunBeginning } from './run-beginning.js'
import { newRunId } from './run-id.js'
import { listRuns, type RunInfo } from './run-infos.js'
import { resolveRun } from './run-reference.js'
import { RunView } from './run-view.js'
import type { OpenRunOptions } from './run-writer.js'
import { type Salvaged, salvageInto, salvageLink } from './salvage.js'
import type { StandardSchema } from './schemas.js'
import { Snapshots } from './snapshots.js'
import type { KnownHead } from './verify-report.js'
import { type VerifyReport, verifyStore } from './verify-store.js'

export interface StoreOptions {
  readonly durability?: Durability
  /** Checks for the data of event types, by type; run when an event is appended. */
  readonly schemas?: Readonly<Record<string, StandardSchema>>
  /** Told of what went wrong without making anything fail; a Node process warning unless given. */
  readonly onNotice?: (notice: Notice) => void
  /** How long to wait for another writer of the same run, in ms; 0 unless told. */
  readonly lockWaitMs?: number
  /** A run that nothing was appended to for this long lets go of its lock, in ms; 30,000 unless told. */
  readonly lockIdleMs?: number
  /** What to call this program in locks. */
  readonly program?: string
  /** The clock, in ms since 1970. */
  readonly now?: () => number
}

export interface CreateRunOptions extends RunBeginning {
  /** The exact id; one is made of date and name unless told. */
  readonly id?: string
  /** When an append of this run resolves; as the store says unless told. */
  readonly durability?: Durability
}

const LOCK_IDLE_MS = 30_000
/** The store's log is locked for one short append at a time, so waiting is always worth it. */
const STORE_LOCK_WAIT_MS_MIN = 10_000

export class Store {
  /** @internal */
  readonly context: StoreContext
  private readonly open = new Set<Run>()
  /** @internal Put in by `openStore`. */
  again: AgainVerbs | undefined
  /** @internal Makes the fetch of a run that is opened; set by whoever opens the store. */
  recording: ((run: Run) => typeof fetch) | undefined

  private constructor(
    readonly manifest: Manifest,
    context: StoreContext,
  ) {
    this.context = context
  }

  /**
   * Open the store on a backend; with `create`, make one where there is none.
   * @throws STORE_NOT_FOUND, STORE_INVALID, FORMAT_TOO_NEW
   */
  static async open(
    backend: Backend,
    options: StoreOptions & { readonly create?: boolean } = {},
  ): Promise<Store> {
    const now = options.now ?? Date.now
    let bytes = await backend.readManifest()
    if (bytes === undefined) {
      if (options.create !== true) {
        const what = `there is no store at ${backend.place}; try: daglog init`
        throw new DaglogError('STORE_NOT_FOUND', what, { place: backend.place })
      }
      await backend.createManifest(encodeManifest(newManifest(now())))
      bytes = (await backend.readManifest()) as Uint8Array
    }
    const { manifest, readOnly } = readManifest(bytes, backend.place)
    const notices = new Notices(options.onNotice ?? warnOnNotice)
    const snapshots = new Snapshots(backend, notices)
    const program = options.program ?? 'daglog'
    const lockWaitMs = options.lockWaitMs ?? 0
    const heads = new HeadLog({
      backend,
      notices,
      snapshots,
      program,
      now,
      lockWaitMs: Math.max(lockWaitMs, STORE_LOCK_WAIT_MS_MIN),
    })
    return new Store(manifest, {
      backend,
      notices,
      snapshots,
      heads,
      now,
      program,
      durability: options.durability ?? 'step',
      schemas: options.schemas ?? {},
      lockWaitMs,
      lockIdleMs: options.lockIdleMs ?? LOCK_IDLE_MS,
      readOnly,
    })
  }

  /** The place of the store, in words. */
  get place(): string {
    return this.context.backend.place
  }

  /** Why nothing can be written to this store, or undefined where it can. */
  get readOnly(): string | undefined {
    return this.context.readOnly
  }

  /**
   * Open the run with this id, or create it. Recovers it first, and closes what a crash left open.
   * @throws RUN_LOCKED, CHAIN_BROKEN, RUN_ID_INVALID
   */
  async run(id: string, options: Omit<RunBeginning, 'parent'> & OpenRunOptions = {}): Promise<Run> {
    return this.openOrBegin(id, options, options)
  }

  private async openOrBegin(id: string, beginning: RunBeginning, options: OpenRunOptions) {
    this.checkWritable()
    await this.context.backend.createRun(id)
    return this.start(new Run(this.context, id, beginning, options))
  }

  /**
   * Begin a new run.
   * @throws RUN_EXISTS where `id` is taken.
   */
  async createRun(options: CreateRunOptions = {}): Promise<Run> {
    this.checkWritable()
    const id = await this.claimId(options)
    const { durability = this.context.durability } = options
    return this.start(new Run({ ...this.context, durability }, id, options, {}))
  }

  private async claimId(options: CreateRunOptions): Promise<string> {
    const { backend, now } = this.context
    if (options.id !== undefined) {
      if (await backend.createRun(options.id)) return options.id
      throw new DaglogError(
        'RUN_EXISTS',
        `run ${options.id} is there already; try: another id, or store.run(id)`,
        { id: options.id },
      )
    }
    for (;;) {
      const id = newRunId({ name: options.name ?? 'run', time: now() })
      if (await backend.createRun(id)) return id
    }
  }

  /** Open a run that exists, to append to it. `reference` as `resolve` takes it. */
  async openRun(reference: string, options: OpenRunOptions = {}): Promise<Run> {
    this.checkWritable()
    return this.start(new Run(this.context, await this.resolve(reference), undefined, options))
  }

  private async start(run: Run): Promise<Run> {
    await run.ready()
    run.spawner = {
      newId: (name) => newRunId({ name, time: this.context.now() }),
      hasRun: (id) => this.context.backend.hasRun(id),
      create: (options) => this.createRun(options),
    }
    if (this.recording !== undefined) run.fetch = this.recording(run)
    this.open.add(run)
    run.onClosed(() => this.open.delete(run))
    return run
  }

  /** A run to read. Needs no lock and writes nothing. */
  async inspectRun(reference: string): Promise<RunView> {
    return new RunView(this.context, await this.resolve(reference))
  }

  /**
   * The id of the run that `reference` means: an id, a unique beginning of one (with or without its
   * date), `@last`, `@last~N`; with `gone` also the id of one that only the store's log still knows.
   * @throws RUN_NOT_FOUND, RUN_AMBIGUOUS
   */
  async resolve(reference: string, options: { readonly gone?: boolean } = {}): Promise<string> {
    if (!reference.startsWith('@') && (await this.hasRun(reference))) return reference
    const list = await this.context.heads.refresh()
    if (options.gone === true && list.head(reference) !== undefined) return reference
    return resolveRun(reference, await this.runs())
  }

  private async hasRun(id: string): Promise<boolean> {
    try {
      return await this.context.backend.hasRun(id)
    } catch (error) {
      if (error instanceof DaglogError && error.code === 'RUN_ID_INVALID') return false
      throw error
    }
  }

  /** All runs, newest first, from the store's log alone; one that cannot be read hides no other. */
  runs(): Promise<RunInfo[]> {
    return listRuns(this.context)
  }

  /**
   * A new run that begins where another is at `at` (its end unless told). Nothing is copied: its first
   * frame names the parent's identity, seq and head.
   * @throws SEQ_NOT_FOUND; TURN_OPEN inside an open turn, unless it is to be closed in the fork
   */
  async fork(reference: string, options: ForkOptions = {}): Promise<Run> {
    const beginning = await forkBeginning(await this.inspectRun(reference), options)
    return this.createRun({ ...beginning, ...(options.id === undefined ? {} : { id: options.id }) })
  }

  /**
   * Audit runs (all unless told) and the store's log. Writes nothing.
   * @param options.head A head kept outside the store, for the one run given.
   */
  async verify(
    references?: string | readonly string[],
    options: { readonly head?: KnownHead } = {},
  ): Promise<VerifyReport> {
    const asked = typeof references === 'string' ? [references] : references
    if (asked === undefined) return verifyStore(this.context, undefined, options)
    const ids: string[] = []
    for (const reference of asked) ids.push(await this.resolve(reference))
    return verifyStore(this.context, ids, options)
  }

  /**
   * Run a function and record it, in a run of its own. Resolves also where the function fails: its
   * error is thrown when `output` is looked at.
   * @throws RUN_EXISTS; what says that nothing can be recorded any more
   */
  record<I, O>(
    name: string,
    input: I,
    agent: Agent<I, O>,
    options: RecordOptions = {},
  ): Promise<Executed<O>> {
    return this.verbs().record(this, name, input, agent, options)
  }

  /**
   * Run the function of a run again, in that run: steps that ended are answered from the log, the
   * rest runs. A step that began and never ended runs again, after its `check` where it has one; one
   * that says that it writes and has none stops the function (`STEP_IN_DOUBT`).
   * @throws RUN_LOCKED where another process has the run
   */
  resume<I, O>(
    reference: string,
    agent: Agent<I, O>,
    options: ResumeOptions = {},
  ): Promise<Resumed<O>> {
    return this.verbs().resume(this, reference, agent, options)
  }

  /**
   * Run the function of a run again, every step answered from the log, and say whether it does the
   * same. Writes a run of its own, never the one that is replayed.
   */
  replay<I, O>(
    reference: string,
    agent: Agent<I, O>,
    options: ReplayOptions = {},
  ): Promise<Replayed<O>> {
    return this.verbs().replay(this, reference, agent, options)
  }

  /**
   * Run the function of a run again in a fork of it, with one thing changed: what was done before
   * that is answered from the parent, and is nowhere copied.
   * @throws STEP_NOT_FOUND, USAGE
   */
  forkRun<I, O>(
    reference: string,
    options: ForkRunOptions,
    agent: Agent<I, O>,
  ): Promise<Forked<O>> {
    return this.verbs().forkRun(this, reference, options, agent)
  }

  /** Answer a question of `run.ask`, whoever asks it. @throws ASK_NOT_FOUND, RUN_LOCKED */
  async answer(reference: string, name: string, value?: unknown, options: OpenRunOptions = {}) {
    const view = await this.inspectRun(reference)
    return putAnswer(view, { name, value }, (...run) => this.openOrBegin(...run, options))
  }

  private verbs(): AgainVerbs {
    if (this.again !== undefined) return this.again
    throw new DaglogError(
      'USAGE',
      'this store was not opened by openStore; try: openStore(backend)',
    )
  }

  /** How two runs differ, aligned by what their steps are. See `RunDiff`. */
  async diff(
    left: string,
    right: string,
    options: { readonly limit?: number } = {},
  ): Promise<RunDiff> {
    return diffRuns({
      left: await this.inspectRun(left),
      right: await this.inspectRun(right),
      ...options,
    })
  }

  /** A new run with everything that can be read of a damaged one, linked to it. */
  async salvage(reference: string, options: { readonly id?: string } = {}): Promise<Salvaged> {
    const source = await this.inspectRun(reference)
    const parent = await salvageLink(this.context, source)
    const target = await this.createRun({
      ...(parent === undefined ? {} : { parent }),
      name: 'salvage',
      ...(options.id === undefined ? {} : { id: options.id }),
    })
    const salvaged = await salvageInto(source, target)
    await target.close()
    return salvaged
  }

  /** Delete a run; see `deleteRun`. @throws RUN_HAS_FORKS, RUN_LOCKED */
  async deleteRun(reference: string, options: DeleteOptions = {}): Promise<void> {
    this.checkWritable()
    await deleteRun(this.context, await this.resolve(reference, { gone: true }), options)
  }

  /** Drop objects that no run refers to; see `collect`. @throws STORE_LOCKED while anybody writes */
  async gc(options: { readonly dryRun?: boolean } = {}): Promise<GcReport> {
    this.checkWritable()
    return collect(this.context, { dryRun: options.dryRun ?? false })
  }

  /** What runs take, and what they share. See `DuReport`. */
  du(): Promise<DuReport> {
    return usage(this.context)
  }

  /** The bytes of a file that holds a run, the runs it begins in, and all their objects. */
  async exportBundle(reference: string): Promise<AsyncIterable<Buffer>> {
    return exportBundle(this.context, await this.resolve(reference))
  }

  /** Runs out of a bundle, byte for byte. @throws BUNDLE_INVALID, RUN_EXISTS, FORMAT_TOO_NEW */
  async importBundle(
    source: BundleSource,
    options: { readonly id?: string } = {},
  ): Promise<ImportedRun[]> {
    this.checkWritable()
    return importBundle(this.context, source, options)
  }

  private checkWritable(): void {
    if (this.context.readOnly !== undefined)
      throw new DaglogError('FORMAT_TOO_NEW', this.context.readOnly)
  }

  /** Close all runs that were opened through this store, and the store. */
  async close(): Promise<void> {
    const results = await Promise.allSettled([...this.open].map((run) => run.close()))
    this.open.clear()
    await this.context.heads.close()
    await this.context.backend.close()
    for (const result of results) if (result.status === 'rejected') throw result.reason
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
