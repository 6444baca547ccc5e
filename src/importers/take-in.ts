/**
 * One transcript file into the store: a new run, the news of one that is there, or a new version of
 * it.
 * The bytes go in as they are; the reader runs beside, for the totals that lists show.
 */
import type {
  ImportEnd,
  ImportFile,
  ImportLines,
  ImportSource,
  ImportTotals,
  ParentLink,
} from '../core/event-map.js'
import type { AnyReader } from '../fold/reader.js'
import type { DraftedRun, DraftRuns } from '../store/draft-runs.js'
import { parentLink } from '../store/parent-link.js'
import type { Run } from '../store/run.js'
import type { Store } from '../store/store.js'
import { sideFiles } from './beside.js'
import { compare } from './compare.js'
import type { Session, TranscriptFormat } from './format.js'
import type { KnownRuns } from './known-runs.js'
import { Parts } from './parts.js'
import { Reading } from './reading.js'
import type { Piece, SourceFile } from './source-file.js'
import { type StoredLines, storedLines } from './stored-lines.js'

/** What became of a file. */
export interface TakenIn {
  readonly run: string
  /** `same`: nothing in it is new. `older`: all of it is the beginning of what the run holds. */
  readonly outcome: 'new' | 'grown' | 'same' | 'older' | 'rewritten'
  /** Bytes and lines that are new in the store's logs. */
  readonly bytes: number
  readonly lines: number
  readonly totals: ImportTotals | undefined
}

export interface TakeInOptions {
  readonly store: Store
  readonly drafts: DraftRuns
  readonly known: KnownRuns
  readonly format: TranscriptFormat
  readonly reader: AnyReader
  readonly session: Session
  readonly source: SourceFile
  /** Version of this program. */
  readonly program: string
  /** What to call a new run; made of date and session unless told. */
  readonly id?: string | undefined
  readonly parent?: ParentLink | undefined
  /** Told of each piece, for progress. */
  readonly onBytes?: (bytes: number) => void
}

/** A new run with all of a file. */
export async function takeInNew(
  options: TakeInOptions,
  outcome: 'new' | 'rewritten' = 'new',
): Promise<{ readonly taken: TakenIn; readonly draft: DraftedRun }> {
  const { drafts, parent } = options
  const draft = await beginRun(options, parent)
  const parts = partsOf(options, draft.id)
  const link = (): ParentLink => draft.link('child')
  try {
    const reading = new Reading(options.reader)
    const source = sourceOf(options)
    reading.take(
      await draft.append({ type: 'import/source', data: source }),
      'import/source',
      source,
    )
    for await (const piece of options.source.pieces()) {
      const data = linesOf(piece)
      reading.take(await draft.append({ type: 'import/lines', data }), 'import/lines', data)
      await parts?.take(piece.bytes, link)
      options.onBytes?.(piece.bytes.length)
    }
    for await (const data of sideFiles(options.session.beside ?? []))
      await draft.append({ type: 'import/file', data })
    await draft.append({ type: 'import/end', data: endOf(options, reading) })
    await parts?.finish()
    const { lines, bytes } = reading
    const totals = reading.totals()
    return { taken: { run: draft.id, outcome, bytes, lines, totals }, draft }
  } catch (error) {
    await parts?.discard()
    await drafts.discard(draft)
    throw error
  }
}

/** Runs of one session have one id, and a number where there are several. */
async function beginRun(
  options: TakeInOptions,
  parent: ParentLink | undefined,
): Promise<DraftedRun> {
  const base = runIdOf(options)
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? base : `${base}.${number}`
    const draft = await options.drafts.begin(name, parent === undefined ? {} : { parent })
    if (draft !== undefined) return draft
  }
}

/** What the first run of a session is called: the same whenever it is imported. */
export function runIdOf({ format, session, id, source }: TakeInOptions): string {
  const date = new Date(session.started ?? source.mtime).toISOString().slice(0, 10)
  return id ?? `${date}-${format.prefix}-${session.label}`
}

function sourceOf(options: TakeInOptions): ImportSource {
  const { format, session, source, program } = options
  const { key, version } = options.reader
  return {
    format: format.key,
    session: session.session,
    path: source.path,
    ...(source.packing === undefined ? {} : { packing: source.packing }),
    reader: { key, version },
    daglog: program,
  }
}

function linesOf({ from, lines, bytes }: Piece, continuesLine = false): ImportLines {
  return { from, lines: continuesLine ? lines - 1 : lines, bytes }
}

function endOf({ source, reader }: TakeInOptions, reading: Reading): ImportEnd {
  const { key, version } = reader
  return {
    bytes: reading.bytes,
    lines: reading.lines,
    size: source.size,
    mtime: source.mtime,
    reader: { key, version },
    totals: reading.totals(),
  }
}

/**
 * What is new of a file that the run `id` holds the beginning of; or a new run where it does not
 * any more.
 */
export async function takeInNews(options: TakeInOptions, id: string): Promise<TakenIn> {
  const { store, source } = options
  const view = await store.inspectRun(id)
  const stored = await storedLines(view)
  const reading = new Reading(options.reader)
  reading.take(0, 'import/source', sourceOf(options))
  const parts = partsOf(options, id)
  const head = await parentLink(view, undefined, 'child')
  const link = (): ParentLink => head
  const { found } = await compare(source, stored, async (lines, bytes) => {
    reading.take(lines.seq, 'import/lines', again(lines, bytes))
    await parts?.take(bytes, link)
    options.onBytes?.(bytes.length)
  })
  if (found !== 'same') {
    await parts?.discard()
    const said = await view.last('import/source')
    const isElsewhere = said !== undefined && said.data.path !== source.path
    // A copy from earlier, somewhere else, is no loss; the same file grown shorter is.
    if (found === 'shorter' && isElsewhere) return untouched(id, 'older')
    const parent = await parentLink(view, undefined, 'import')
    return (await takeInNew({ ...options, parent }, 'rewritten')).taken
  }
  const run = await store.openRun(id, { lockWaitMs: 0 })
  try {
    return await addNews(options, { run, reading, parts, link })
  } finally {
    await run.close()
  }
}

const LF = 0x0a

function again({ from }: StoredLines, bytes: Buffer): unknown {
  let lines = 0
  for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, at + 1)) lines += 1
  return { from, lines: bytes.at(-1) === LF ? lines : lines + 1, bytes }
}

function untouched(run: string, outcome: TakenIn['outcome']): TakenIn {
  return { run, outcome, bytes: 0, lines: 0, totals: undefined }
}

function partsOf(options: TakeInOptions, id: string): Parts | undefined {
  const { format, store, drafts, known, source } = options
  if (format.parting === undefined) return undefined
  const { size, mtime } = source
  return new Parts(format.parting(), {
    store,
    drafts,
    known,
    id,
    source: sourceOf(options),
    file: { size, mtime },
    newReading: () => new Reading(options.reader),
  })
}

/** When the files beside it that a run holds were last changed. */
async function knownFiles(run: Run): Promise<ReadonlyMap<string, number>> {
  const known = new Map<string, number>()
  for await (const { data } of run.events({ types: ['import/file'], refs: true }))
    if (data !== undefined) known.set((data as ImportFile).path, (data as ImportFile).mtime)
  return known
}

async function addNews(
  options: TakeInOptions,
  work: {
    readonly run: Run
    readonly reading: Reading
    readonly parts: Parts | undefined
    readonly link: () => ParentLink
  },
): Promise<TakenIn> {
  const { run, reading, parts, link } = work
  const before = reading.bytes
  const linesBefore = reading.lines
  const start = reading.tornFrom ?? reading.bytes
  let isNew = false
  for await (const piece of options.source.pieces(start)) {
    // The torn line is as it was: nothing to say.
    if (!isNew && piece.from + piece.bytes.length <= before) break
    if (!isNew) await run.append('import/source', sourceOf(options))
    isNew = true
    const data = linesOf(piece, reading.continuesLine(piece.from))
    const { seq } = await run.append('import/lines', data)
    reading.take(seq, 'import/lines', data)
    await parts?.take(piece.bytes, link)
    options.onBytes?.(piece.bytes.length)
  }
  const known = await knownFiles(run)
  for await (const data of sideFiles(options.session.beside ?? []))
    if (known.get(data.path) !== data.mtime) await run.append('import/file', data)
  // The file may have been touched only; saying so spares the next import the comparison.
  await run.append('import/end', endOf(options, reading))
  await parts?.finish()
  const { bytes, lines } = reading
  return {
    run: run.id,
    outcome: isNew ? 'grown' : 'same',
    bytes: bytes - before,
    lines: lines - linesBefore,
    totals: reading.totals(),
  }
}
