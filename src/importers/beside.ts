/**
 * Files that belong to a session and lie beside its transcript: results that were too long for it,
 * descriptions of sub-agents. Taken in as they are.
 */
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { systemCode } from '../core/errors.js'
import type { ImportFile } from '../core/event-map.js'

/** Every file in these places, in the order of their names. What is not there is not there. */
export async function* sideFiles(places: readonly string[]): AsyncGenerator<ImportFile> {
  for (const place of places) {
    for (const path of await filesIn(place)) {
      const { mtimeMs } = await stat(path)
      yield { path, mtime: Math.trunc(mtimeMs), bytes: await readFile(path) }
    }
  }
}

async function filesIn(place: string): Promise<string[]> {
  try {
    if ((await stat(place)).isFile()) return [place]
    const entries = await readdir(place, { withFileTypes: true })
    const files = entries.filter((entry) => entry.isFile()).map(({ name }) => join(place, name))
    return files.sort()
  } catch (error) {
    if (systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR') return []
    throw error
  }
}
