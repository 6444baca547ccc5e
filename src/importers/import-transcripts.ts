/**
 * Whole folders of transcripts into a store: finds the sessions, takes in what is new of each, and
 * says what became of every file. One that cannot be read hides no other.
 * Stopping it at any moment is safe; starting it again goes on.
 */
import { DaglogError, systemCode } from '../core/errors.js'
import type { ImportTotals, ParentLink } from '../core/event-map.js'
import type { AnyReader } from '../fold/reader.js'
import { builtInReaders } from '../fold/readers.js'
import { type DraftedRun, DraftRuns } from '../store/draft-runs.js'
import type { Store } from '../store/store.js'
import { beginning } from './beginning.js'
import { type FoundFile, findFiles, type LeftOut } from './find.js'
import type { Session, TranscriptFormat } from './format.js'
import { identify } from './formats.js'
import { type KnownRun, KnownRuns } from './known-runs.js'
import { SourceFile } from './source-file.js'
import { runIdOf, type TakeInOptions, type TakenIn, takeInNew, takeInNews } from './take-in.js'

/** What became of one file that holds a session. */
export interface ImportedFile extends Omit<TakenIn, 'totals'> {
  readonly source: string
  readonly format: string
  readonly session: string
  readonly totals: ImportTotals | undefined
}

export interface ImportReport {
  readonly files: readonly ImportedFile[]
  /** What should have been taken in and was not. */
  readonly leftOut: readonly LeftOut[]
  /** Files in folders that hold no session of a known format. */
  readonly passedOver: readonly string[]
  /** By format: what such files never hold. */
  readonly neverRecorded: Readonly<Record<string, readonly string[]>>
}

export interface ImportOptions {
  /** Version of this program. */
  readonly program: string
  /** The only format wanted; any unless told. */
  readonly from?: string | undefined
  /** What to call the run; good for one file. */
  readonly id?: string | undefined
  /** Called often; bytes are of sources that were read. */
  readonly onProgress?: (progress: { readonly files: number; readonly bytes: number }) => void
}

/** @throws READ_FAILED for a path that is not there; what writing to the store throws. */
export async function importTranscripts(
  store: Store,
  paths: readonly string[],
  options: ImportOptions,
): Promise<ImportReport> {
  const work = new Importing(store, options, await KnownRuns.of(store), await builtInReaders())
  const leave = (left: LeftOut): void => void work.leftOut.push(left)
  for await (const file of findFiles(paths, leave)) await work.file(file)
  await work.publish()
  return work.report()
}

class Importing {
  readonly leftOut: LeftOut[] = []
  private readonly files: ImportedFile[] = []
  private readonly passedOver: string[] = []
  private readonly neverRecorded: Record<string, readonly string[]> = {}
  private readonly drafts: DraftRuns
  /** Sessions whose runs are begun and not to be seen yet. */
  private readonly open = new Map<string, DraftedRun>()
  private bytes = 0

  constructor(
    private readonly store: Store,
    private readonly options: ImportOptions,
    private readonly known: KnownRuns,
    private readonly readers: readonly AnyReader[],
  ) {
    this.drafts = new DraftRuns(store.context)
  }

  async file(file: FoundFile): Promise<void> {
    let source: SourceFile | undefined
    try {
      source = await SourceFile.open(file.path)
      await this.source(file, source)
    } catch (error) {
      if (!isOfSource(error)) throw error
      const reason = error instanceof DaglogError ? error.message : `${systemCode(error)}`
      this.leftOut.push({ path: file.path, reason: `cannot be read: ${reason}` })
    } finally {
      await source?.close()
    }
    if (this.drafts.full) await this.publish()
    this.options.onProgress?.({ files: this.files.length, bytes: this.bytes })
  }

  private async source(file: FoundFile, source: SourceFile): Promise<void> {
    const { from } = this.options
    const what = identify(await beginning(source), { from, named: file.named })
    if (what === undefined) {
      if (file.named) this.leftOut.push({ path: file.path, reason: noSession(source, from) })
      else this.passedOver.push(file.path)
      return
    }
    const { format, session } = what
    const key = keyOf(format, session.session)
    const reader = this.readers.find((one) => one.key === format.key)
    if (reader === undefined) {
      this.leftOut.push({ path: file.path, reason: `no reader of ${format.key} is here` })
      return
    }
    if (this.open.has(key)) await this.publish()
    const taken = await this.take({
      store: this.store,
      drafts: this.drafts,
      known: this.known,
      format,
      reader,
      session,
      source,
      program: this.options.program,
      id: this.options.id,
      onBytes: (bytes) => {
        this.bytes += bytes
        this.options.onProgress?.({ files: this.files.length, bytes: this.bytes })
      },
    })
    this.neverRecorded[format.key] = format.neverRecorded
    this.files.push({
      ...taken,
      source: source.path,
      format: format.key,
      session: session.session,
      totals: taken.totals,
    })
  }

  private async take(options: TakeInOptions): Promise<TakenIn> {
    const { format, session, source } = options
    const head = this.known.find(format.key, session.session)
    if (head !== undefined) {
      if (head.size === source.size && head.mtime === source.mtime)
        return { run: head.id, outcome: 'same', bytes: 0, lines: 0, totals: undefined }
      return this.news(options, head.id)
    }
    const lost = await this.unlisted(options)
    if (lost !== undefined) return this.news(options, lost)
    const parent = await this.parentOf(format, session)
    const { taken, draft } = await takeInNew({ ...options, parent })
    this.open.set(keyOf(format, session.session), draft)
    return taken
  }

  private async news(options: TakeInOptions, id: string): Promise<TakenIn> {
    const taken = await takeInNews(options, id)
    // Whoever comes next must find the new version, not the one before.
    if (taken.outcome === 'rewritten') await this.publish()
    return taken
  }

  /** A run of this session that was published by an import that died before it was noted. */
  private async unlisted(options: TakeInOptions): Promise<string | undefined> {
    const id = runIdOf(options)
    if (!(await this.store.context.backend.hasRun(id))) return undefined
    const said = await (await this.store.inspectRun(id)).last('import/source')
    const { format, session } = options
    const isSame = said?.data.format === format.key && said.data.session === session.session
    return isSame ? id : undefined
  }

  /** A sub-agent's run names the run of its session as it is now. */
  private async parentOf(
    format: TranscriptFormat,
    { parent }: Session,
  ): Promise<ParentLink | undefined> {
    if (parent === undefined) return undefined
    const open = this.open.get(keyOf(format, parent))
    if (open !== undefined) return open.link('child')
    const head = this.known.find(format.key, parent)
    return head && linkTo(head)
  }

  async publish(): Promise<void> {
    for (const head of await this.drafts.publish()) this.known.add(head)
    this.open.clear()
  }

  report(): ImportReport {
    const { files, leftOut, passedOver, neverRecorded } = this
    return { files, leftOut, passedOver, neverRecorded }
  }
}

function linkTo({ run, seq, hash }: KnownRun): ParentLink {
  return { run, seq, hash, kind: 'child' }
}

function keyOf(format: TranscriptFormat, session: string): string {
  return `${format.key}\n${session}`
}

function noSession(source: SourceFile, from: string | undefined): string {
  if (source.size === 0) return 'is empty'
  return from === undefined ? 'holds no line of JSON' : `holds no session of ${from}`
}

/** Trouble with a file hides no other file; trouble with the store ends the import. */
function isOfSource(error: unknown): boolean {
  if (error instanceof DaglogError)
    return error.code === 'READ_FAILED' || error.code === 'RUN_LOCKED' || error.kind === 'damage'
  return systemCode(error) !== undefined && (error as { syscall?: string }).syscall !== 'write'
}
