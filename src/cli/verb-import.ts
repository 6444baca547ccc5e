/** `daglog import PATH... [--from auto|claude-code|codex|dsh|bundle|har|vcr] [--id ID]` */
import { open, stat } from 'node:fs/promises'
import type { BundleSource } from '../store/bundle-import.js'
import type { Store } from '../store/store.js'
import type { Call } from './call.js'
import type { ExitCode } from './exit-codes.js'
import { readInput, unreadable } from './input-file.js'

interface Imported {
  readonly run: string
  readonly source: string
  /** True where the store had this very run already. */
  readonly already: boolean
}

export async function importRuns(call: Call): Promise<ExitCode> {
  const paths = call.many('PATH')
  if (call.text('id') !== undefined && paths.length > 1)
    throw call.usage('--id names one run, and several files were given', 'one file at a time')
  const { bundle, har, vcr, transcript } = await sorted(paths, call.text('from') ?? 'auto')
  if ([bundle, har, vcr, transcript].filter((some) => some.length > 0).length > 1)
    throw call.usage('bundles, traffic and transcripts are imported apart', 'one kind at a time')
  if (har.length + vcr.length > 0) {
    const { importHarRuns } = await import('./har-import-report.js')
    return har.length > 0 ? importHarRuns(call, har, 'har') : importHarRuns(call, vcr, 'vcr')
  }
  if (transcript.length > 0) {
    const { importTranscriptRuns } = await import('./import-report.js')
    return importTranscriptRuns(call, transcript)
  }
  return importBundles(call, bundle)
}

type Kind = 'bundle' | 'har' | 'vcr' | 'transcript'

async function sorted(paths: readonly string[], from: string): Promise<Record<Kind, string[]>> {
  const found: Record<Kind, string[]> = { bundle: [], har: [], vcr: [], transcript: [] }
  for (const path of paths) {
    const named = from === 'bundle' || from === 'har' || from === 'vcr' ? from : 'transcript'
    found[from === 'auto' ? await kindOf(path) : named].push(path)
  }
  return found
}

const BUNDLE_BEGINS = /^\{"daglog":"bundle"/
const HAR_BEGINS = /^(?:\xEF\xBB\xBF)?\s*\{\s*"log"\s*:\s*\{/
const CASSETTE_BEGINS = /^(?:---\s*\n)?(?:version:[^\n]*\n)?interactions:/
const BEGINS_BYTES = 256

/** A pipe is a bundle: a transcript lies in a file, from which the next import goes on. */
async function kindOf(path: string): Promise<Kind> {
  if (path === '-') return 'bundle'
  try {
    if ((await stat(path)).isDirectory()) return 'transcript'
    const file = await open(path, 'r')
    try {
      const begins = Buffer.alloc(BEGINS_BYTES)
      await file.read(begins, 0, begins.length, 0)
      const text = begins.toString('latin1')
      if (BUNDLE_BEGINS.test(text)) return 'bundle'
      if (HAR_BEGINS.test(text)) return 'har'
      return CASSETTE_BEGINS.test(text) ? 'vcr' : 'transcript'
    } finally {
      await file.close()
    }
  } catch (cause) {
    throw unreadable(path, cause)
  }
}

async function importBundles(call: Call, paths: readonly string[]): Promise<ExitCode> {
  const { out } = call
  const id = call.text('id')
  const store = await call.store({ create: true })
  const runs: Imported[] = []
  for (const path of paths) {
    for (const run of await importFile(store, path, id)) {
      runs.push(run)
      if (run.already) out.note(`run ${run.run} was here already`)
      if (!out.json) out.line(run.run)
    }
  }
  if (out.json) out.document('daglog.import/1', { ok: true, runs })
  return 0
}

async function importFile(store: Store, path: string, id: string | undefined): Promise<Imported[]> {
  const { source, close } = await openBundle(path)
  try {
    const found = await store.importBundle(source, id === undefined ? {} : { id })
    return found.map((run) => ({ run: run.id, source: path, already: run.already }))
  } finally {
    await close()
  }
}

/** A file is read where it lies; a pipe, which cannot be read twice, is taken in whole. */
async function openBundle(
  path: string,
): Promise<{ readonly source: BundleSource; readonly close: () => Promise<void> }> {
  if (path === '-') {
    const whole = await readInput(path)
    const read = async (from: number, length: number): Promise<Buffer> =>
      whole.subarray(from, from + length)
    return { source: { name: 'standard input', bytes: whole.length, read }, close: async () => {} }
  }
  const file = await open(path, 'r').catch((cause: unknown) => {
    throw unreadable(path, cause)
  })
  const read = async (from: number, length: number): Promise<Buffer> => {
    const bytes = Buffer.alloc(length)
    let filled = 0
    while (filled < length) {
      const { bytesRead } = await file.read(bytes, filled, length - filled, from + filled)
      if (bytesRead === 0) break
      filled += bytesRead
    }
    return bytes.subarray(0, filled)
  }
  const bytes = (await file.stat()).size
  return { source: { name: path, bytes, read }, close: () => file.close() }
}
