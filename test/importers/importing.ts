/**
 * Imports as tests want them.
 */
import { type ImportReport, importTranscripts } from '../../src/importers/import-transcripts.js'
import { rawBytes } from '../../src/importers/stored-lines.js'
import type { RunView, Store } from '../../src/index.js'

export function importAll(store: Store, ...paths: readonly string[]): Promise<ImportReport> {
  return importTranscripts(store, paths, { program: 'test' })
}

/** What `export --format raw` gives. */
export async function raw(view: RunView, upTo?: number): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const piece of rawBytes(view, upTo)) parts.push(piece)
  return Buffer.concat(parts)
}

export function typesOf(view: RunView): Promise<string[]> {
  return collect(view)
}

async function collect(view: RunView): Promise<string[]> {
  const types: string[] = []
  for await (const { type } of view.events()) types.push(type)
  return types
}
