/**
 * The backend of a directory: the embedded default.
 * Puts together its parts (layout, locks, logs, open objects, packs) and turns the disk's errors
 * into ours.
 * @see docs/format.md#store-layout
 */
import { dirname, join } from 'node:path'
import { DaglogError, systemCode } from '../core/errors.js'
import type { Hash } from '../core/hash.js'
import type { StoredObject } from '../core/object.js'
import type { Codec } from '../value/pack.js'
import type {
  Abilities,
  Backend,
  Holder,
  LogName,
  LogWriter,
  RunDraft,
  RunPlace,
  Segment,
  WriterOptions,
} from './backend.js'
import type { Disk } from './disk.js'
import type { Swept } from './fs-compaction.js'
import { FsExclusion } from './fs-exclusion.js'
import { createIfMissing, FsFiles } from './fs-files.js'
import { FsLayout } from './fs-layout.js'
import { FsLocks } from './fs-locks.js'
import { FsLogs } from './fs-log.js'
import { networkFileSystem } from './fs-medium.js'
import { FsObjects, type ListedObject } from './fs-objects.js'
import { FsRuns } from './fs-runs.js'
import { FsSegments } from './fs-segments.js'
import { nodeDisk } from './node-disk.js'
import { type ProcessTable, systemProcesses } from './process-identity.js'
import { nameOfRunId } from './run-path.js'

export interface DirectoryOptions {
  /** Write although the directory is on a network file system. */
  readonly allowNetwork?: boolean
  /** For tests: another disk, other processes. */
  readonly disk?: Disk
  readonly processes?: ProcessTable
  /** How pack blocks are compressed; brotli unless told. */
  readonly codec?: Codec
  /** Told of what went wrong without making anything fail. */
  readonly onNotice?: (message: string, cause?: unknown) => void
}

/** A store in `root`, an absolute path that need not exist yet. */
export function directory(root: string, options: DirectoryOptions = {}): Backend {
  return new FsBackend(root, options)
}

class FsBackend implements Backend {
  readonly can: Abilities = { multiProcess: true, durable: true, tears: true, seals: true }
  readonly place: string
  private readonly disk: Disk
  private readonly layout: FsLayout
  private readonly locks: FsLocks
  private readonly files: FsFiles
  private readonly logs: FsLogs
  private readonly segmentFiles: FsSegments
  private readonly runs: FsRuns
  private readonly objects: FsObjects
  private readonly exclusion: FsExclusion
  private prepared = false
  private rootSynced = false

  constructor(
    root: string,
    private readonly options: DirectoryOptions,
  ) {
    this.place = root
    this.disk = options.disk ?? nodeDisk()
    this.layout = new FsLayout(root)
    this.files = new FsFiles(this.disk, this.layout)
    this.locks = new FsLocks(this.disk, this.layout, options.processes ?? systemProcesses())
    const onNotice = options.onNotice ?? (() => {})
    this.segmentFiles = new FsSegments(this.disk, this.layout, onNotice)
    this.exclusion = new FsExclusion(this.disk, this.layout, this.locks)
    this.logs = new FsLogs(this.disk, this.layout, this.locks, this.segmentFiles, this.exclusion)
    this.runs = new FsRuns(this.disk, this.layout, this.files, this.logs, this.segmentFiles)
    const codec = options.codec ?? 'brotli'
    this.objects = new FsObjects(this.disk, this.layout, this.files, { codec, onNotice })
  }

  async readManifest(): Promise<Uint8Array | undefined> {
    return this.reading(() => this.files.read(this.layout.manifest()))
  }

  async createManifest(bytes: Uint8Array): Promise<boolean> {
    return this.writing(() => {
      const { layout, disk } = this
      this.prepare()
      if (disk.exists(layout.manifest())) return false
      this.syncAbove()
      if (!disk.exists(layout.segment('store', 0))) createIfMissing(() => this.logs.create('store'))
      // All parts are there for good before the manifest is: some may be from an attempt that
      // failed.
      disk.syncDir(layout.root)
      const draft = this.files.draft(bytes)
      // The manifest comes last and at once: a store without it is none.
      const created = createIfMissing(() => disk.link(draft, layout.manifest()))
      disk.remove(draft)
      disk.syncDir(layout.root)
      return created
    })
  }

  /** Make the way to the store durable, whoever made a directory of it. */
  private syncAbove(): void {
    for (let dir = this.layout.root; dir !== dirname(dir); dir = dirname(dir)) {
      try {
        this.disk.syncDir(dirname(dir))
      } catch (error) {
        // A directory that we may not open is somebody else's, and so are the names in it.
        if (!CLOSED_TO_US.has(systemCode(error) ?? '')) throw error
      }
    }
  }

  async listRuns(): Promise<readonly RunPlace[]> {
    return this.reading(() => this.runs.list())
  }

  async placeOf(id: string): Promise<string> {
    return nameOfRunId(id)
  }

  async createRun(id: string): Promise<boolean> {
    return this.writing(() => {
      this.prepare()
      return this.runs.create(id)
    })
  }

  async draftRun(id: string): Promise<RunDraft | undefined> {
    return this.writing(() => {
      this.prepare()
      if (!this.runs.draft(id)) return undefined
      const leaving = <R>(use: () => R): R => {
        this.objects.forget(id)
        return this.writing(use)
      }
      return {
        publish: async () => leaving(() => this.runs.publish(id)),
        discard: async () => leaving(() => this.runs.discard(id)),
      }
    })
  }

  async hasRun(id: string): Promise<boolean> {
    return this.reading(() => this.runs.has(id))
  }

  async removeRun(id: string): Promise<void> {
    return this.writing(() => {
      this.objects.forget(id)
      this.runs.remove(id)
    })
  }

  async segments(log: LogName): Promise<readonly Segment[]> {
    return this.reading(() => this.segmentFiles.list(log))
  }

  async logBytes(log: LogName): Promise<number> {
    return this.reading(() => this.segmentFiles.storedBytes(log))
  }

  async read(log: LogName, segment: number, fromByte: number, length: number): Promise<Buffer> {
    return this.reading(() => this.segmentFiles.read(log, segment, fromByte, length))
  }

  async faults(log: LogName): Promise<readonly string[]> {
    return this.reading(() => this.segmentFiles.faults(log))
  }

  async openWriter(log: LogName, options: WriterOptions): Promise<LogWriter> {
    return this.writing(() => {
      this.prepare()
      // Whoever made the store may have been killed before its names were durable.
      if (!this.rootSynced) this.disk.syncDir(this.layout.root)
      this.rootSynced = true
      const writer = this.logs.openWriter(log, options)
      if (log !== 'store') this.objects.writerOpened(log.run)
      return writer
    })
  }

  async holder(
    log: LogName,
  ): Promise<(Holder & { readonly alive: boolean | undefined }) | undefined> {
    const held = this.reading(() => this.logs.holder(log))
    if (held === undefined) return undefined
    return {
      ...held.holder,
      alive: held.liveness === 'unknown' ? undefined : held.liveness === 'alive',
    }
  }

  async keepTorn(log: LogName, name: string, bytes: Uint8Array): Promise<void> {
    this.writing(() => this.files.saveTorn(log, name, bytes))
  }

  async putObjects(
    run: string,
    objects: readonly StoredObject[],
    options: { readonly direct: boolean },
  ): Promise<void> {
    return this.writingSlowly(() => this.objects.put(run, objects, options))
  }

  async getObject(hash: Hash, run: string | undefined): Promise<Uint8Array | undefined> {
    return this.getObjectNow(hash, run)
  }

  getObjectNow(hash: Hash, run: string | undefined): Uint8Array | undefined {
    return this.reading(() => this.objects.get(hash, run))
  }

  async hasObject(hash: Hash, run: string | undefined): Promise<boolean> {
    return this.reading(() => this.objects.has(hash, run))
  }

  async sealObjects(run: string): Promise<void> {
    return this.writingSlowly(() => this.objects.seal(run))
  }

  async exclude(program: string): Promise<() => Promise<void>> {
    return this.writing(() => {
      const end = this.exclusion.begin(program)
      try {
        // A run that appeared later would count on packs that nobody was seen to need.
        this.runs.discardDrafts()
      } catch (error) {
        end()
        throw error
      }
      return async () => this.writing(end)
    })
  }

  async sweepObjects(
    isLive: (hash: Hash) => boolean,
    options: { readonly dryRun: boolean },
  ): Promise<Swept> {
    return this.writingSlowly(async () => {
      const swept = await this.objects.sweep(isLive, options)
      // Only run writers leave such drafts, and there is none now.
      for (const name of options.dryRun ? [] : this.disk.list(this.layout.tmp())) {
        if (DEAD_DRAFT.test(name)) this.disk.removeTree(join(this.layout.tmp(), name))
      }
      return swept
    })
  }

  async objectBytes(run: string | undefined): Promise<number> {
    return this.reading(() => this.objects.bytes(run))
  }

  async *listObjects(run: string | undefined): AsyncIterable<ListedObject> {
    yield* this.objects.list(run)
  }

  async readCache(key: string): Promise<Uint8Array | undefined> {
    return this.files.readCache(key)
  }

  async writeCache(key: string, bytes: Uint8Array): Promise<void> {
    this.files.writeCache(key, bytes)
  }

  async close(): Promise<void> {
    this.objects.close()
  }

  /**
   * Before the first write: is this a place to write to, and are all directories there? A copy may
   * lack empty ones.
   */
  private prepare(): void {
    if (this.prepared) return
    const { layout, disk, options } = this
    const kind = options.disk === undefined ? networkFileSystem(layout.root) : undefined
    if (kind !== undefined && options.allowNetwork !== true) {
      throw new DaglogError(
        'MEDIUM_UNSUITABLE',
        `${this.place} is on ${kind}: locks and syncs over a network do not hold what a log needs. Try: a local directory, or allowNetwork if you know that only one machine writes`,
        { place: this.place, kind },
      )
    }
    for (const dir of [layout.runs(), layout.packs(), layout.locks(), layout.tmp(), layout.cache()])
      disk.makeDir(dir)
    this.prepared = true
  }

  private reading<R>(use: () => R): R {
    try {
      return use()
    } catch (cause) {
      throw this.failed('READ_FAILED', cause)
    }
  }

  private writing<R>(use: () => R): R {
    try {
      return use()
    } catch (cause) {
      throw this.failed('WRITE_FAILED', cause)
    }
  }

  private async writingSlowly<R>(use: () => Promise<R>): Promise<R> {
    try {
      return await use()
    } catch (cause) {
      throw this.failed('WRITE_FAILED', cause)
    }
  }

  private failed(code: 'READ_FAILED' | 'WRITE_FAILED', cause: unknown): DaglogError {
    if (cause instanceof DaglogError) return cause
    const system = systemCode(cause)
    // Anything without a system code is our own mistake, and must not look like the disk's.
    if (system === undefined) return new DaglogError('INVARIANT', String(cause), {}, { cause })
    const next = ADVICE[system] ?? 'see the cause'
    return new DaglogError(
      code,
      `${this.place}: ${system}; try: ${next}`,
      { place: this.place, system },
      { cause },
    )
  }
}

const CLOSED_TO_US: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'EROFS', 'EINVAL'])

const DEAD_DRAFT = /^(?:pack|cold|removed)\./

const ADVICE: Readonly<Record<string, string>> = {
  ENOSPC: 'free some space on the disk, then open the run again',
  EDQUOT: 'free some of your quota, then open the run again',
  EMFILE: 'raise the limit of open files (ulimit -n), or close runs that are done',
  ENFILE: 'close other programs: the system has no file handles left',
  EACCES: 'check the permissions of the directory',
  EPERM: 'check the permissions of the directory',
  EROFS: 'the disk is read-only: reading works, writing needs another place',
  EIO: 'check the disk: it reports a failure',
}
