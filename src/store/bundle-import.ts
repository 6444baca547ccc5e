/**
 * A bundle into a store: the same bytes, so the same hashes; nothing is re-encoded.
 * The whole file is checked before anything is written.
 * @see docs/format.md#bundle
 */
import { createHash } from 'node:crypto'
import { DaglogError } from '../core/errors.js'
import type { Hash } from '../core/hash.js'
import { READ_BYTES } from '../core/limits.js'
import { OBJECT_KINDS, type StoredObject } from '../core/object.js'
import { readObjectRecord, scanObjectRecords } from '../value/object-record.js'
import { BUNDLE_VERSION, type BundleHeader, type BundleSection } from './bundle.js'
import type { StoreContext } from './context.js'
import { loadState, RunView } from './run-view.js'

/** A file to read at any place. */
export interface BundleSource {
  /** For messages. */
  readonly name: string
  readonly bytes: number
  read(fromByte: number, length: number): Promise<Buffer>
}

export interface ImportedRun {
  readonly id: string
  /** True where the store had this very run already. */
  readonly already: boolean
}

interface PlacedSection {
  readonly at: BundleSection
  readonly fromByte: number
}

/**
 * @param id What to call the last run of the bundle here; its own id unless told.
 * @throws BUNDLE_INVALID, RUN_EXISTS where an id is taken by another run.
 */
export async function importBundle(
  context: StoreContext,
  source: BundleSource,
  options: { readonly id?: string } = {},
): Promise<ImportedRun[]> {
  const { header, sections } = await readSections(source)
  const imported: ImportedRun[] = []
  for (const [index, run] of header.runs.entries()) {
    const id = index === header.runs.length - 1 ? (options.id ?? run.id) : run.id
    const own = sections.filter(({ at }) => 'id' in at && at.id === run.id)
    imported.push({ id, already: await importRun(context, source, { id, run, sections: own }) })
  }
  return imported
}

const LINE_BYTES_MAX = 1024 * 1024

/** Where everything lies, after the checksum over the whole of it held. */
async function readSections(
  source: BundleSource,
): Promise<{ header: BundleHeader; sections: PlacedSection[] }> {
  const first = await lineAt(source, 0)
  const header = first.value as BundleHeader
  if (header.daglog !== 'bundle') throw invalid(source, 'it does not begin like a bundle')
  if (header.version > BUNDLE_VERSION) {
    throw new DaglogError(
      'FORMAT_TOO_NEW',
      `${source.name} is a bundle of version ${header.version}; try: a newer daglog (npm install daglog@latest)`,
    )
  }
  if (!Array.isArray(header.runs)) throw invalid(source, 'it names no runs')
  const sections: PlacedSection[] = []
  for (let at = first.end; ; ) {
    const { value, end } = await lineAt(source, at)
    const section = value as BundleSection
    if (section.section === 'end') {
      if ((await digest(source, at)) !== section.sha256)
        throw invalid(source, 'its checksum does not match')
      return { header, sections }
    }
    if (!Number.isSafeInteger(section.bytes) || section.bytes < 0)
      throw invalid(source, 'a section has no length')
    sections.push({ at: section, fromByte: end })
    at = end + section.bytes + 1
  }
}

async function lineAt(source: BundleSource, at: number): Promise<{ value: unknown; end: number }> {
  for (let length = 4096; ; length *= 8) {
    const bytes = await source.read(at, length)
    const end = bytes.indexOf(0x0a)
    if (end >= 0) {
      try {
        const value: unknown = JSON.parse(bytes.toString('utf8', 0, end))
        if (typeof value === 'object' && value !== null) return { value, end: at + end + 1 }
      } catch {
        // No JSON: the same answer as JSON of another shape.
      }
      throw invalid(source, `byte ${at} begins no section`)
    }
    if (bytes.length < length || length > LINE_BYTES_MAX)
      throw invalid(source, `it breaks off at byte ${at + bytes.length}`)
  }
}

async function digest(source: BundleSource, to: number): Promise<string> {
  const hashing = createHash('sha256')
  for (let at = 0; at < to; ) {
    const bytes = await source.read(at, Math.min(READ_BYTES, to - at))
    if (bytes.length === 0) break
    hashing.update(bytes)
    at += bytes.length
  }
  return hashing.digest('hex')
}

function invalid(source: BundleSource, why: string): DaglogError {
  return new DaglogError(
    'BUNDLE_INVALID',
    `${source.name} cannot be imported: ${why}; try: export it again`,
    {
      source: source.name,
    },
  )
}

async function importRun(
  context: StoreContext,
  source: BundleSource,
  what: {
    readonly id: string
    readonly run: BundleHeader['runs'][number]
    readonly sections: readonly PlacedSection[]
  },
): Promise<boolean> {
  const { backend, heads } = context
  const { id, run, sections } = what
  const draft = await backend.draftRun(id)
  if (draft === undefined) {
    const view = new RunView(context, id)
    const head = await view.head()
    if ((await view.identity()) === run.run && head?.hash === run.hash) return true
    throw taken(id, source)
  }
  // The frames say that they were durable before others, which they are here only once all of them
  // are.
  try {
    await importBytes(context, source, id, sections)
  } catch (error) {
    await draft.discard()
    throw error
  }
  if (!(await draft.publish())) throw taken(id, source)
  await noteImported(context, id, run)
  await heads.refresh()
  return false
}

function taken(id: string, source: BundleSource): DaglogError {
  return new DaglogError(
    'RUN_EXISTS',
    `run ${id} is here already, and it is not the one in ${source.name}; try: --id with another`,
    { id },
  )
}

async function importBytes(
  context: StoreContext,
  source: BundleSource,
  id: string,
  sections: readonly PlacedSection[],
): Promise<void> {
  const { backend, program } = context
  const writers = [await backend.openWriter({ run: id }, { program })]
  try {
    await importObjects(context, source, id, sections)
    for (const { at, fromByte } of sections) {
      if (at.section !== 'log') continue
      // A segment after the first is what a takeover makes; here we take over from ourselves.
      if (at.segment > 0)
        writers.push(await backend.openWriter({ run: id }, { program, force: true }))
      const writer = writers.at(-1)
      for (let done = 0; done < at.bytes; ) {
        const bytes = await source.read(fromByte + done, Math.min(READ_BYTES, at.bytes - done))
        if (bytes.length === 0) throw invalid(source, 'it became shorter')
        done += bytes.length
        await writer?.commit(bytes, { sync: done >= at.bytes })
      }
    }
    await backend.sealObjects(id)
  } finally {
    for (const writer of writers) await writer.release()
  }
}

async function importObjects(
  context: StoreContext,
  source: BundleSource,
  id: string,
  sections: readonly PlacedSection[],
): Promise<void> {
  for (const { at, fromByte } of sections) {
    if (at.section !== 'object') continue
    const record = await source.read(fromByte, at.bytes)
    const read = (from: number, count: number): Buffer => record.subarray(from, from + count)
    for (const found of scanObjectRecords(read, 0, record.length)) {
      const object: StoredObject = readObjectRecord(read, found)
      if (object.kind in OBJECT_KINDS)
        await context.backend.putObjects(id, [object], { direct: false })
    }
  }
}

/** The store's log learns of the run as it arrived, so that a later change shows. */
async function noteImported(
  context: StoreContext,
  id: string,
  run: BundleHeader['runs'][number],
): Promise<void> {
  const view = new RunView(context, id)
  const { index, head } = await loadState(context, view.log, id)
  const identity = await view.identity()
  if (head === undefined || identity === undefined || identity !== run.run) return
  const { segment, from, to } = head.place
  await context.heads.note([
    {
      type: 'run/head',
      data: {
        id,
        run: identity as Hash,
        seq: head.seq,
        hash: head.hash,
        at: [head.seq, segment, from, to],
        summary: index.summary(),
      },
    },
  ])
}
