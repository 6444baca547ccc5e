/**
 * The first records of a file, which say what it is.
 */
import { readLines } from '../fold/import-lines.js'
import type { Beginning } from './format.js'
import type { SourceFile } from './source-file.js'

/** A file's beginning that is looked at to tell what it is. */
const HEAD_BYTES = 64 * 1024
/** Where that holds no whole record, as much as this. */
const HEAD_BYTES_MAX = 4 * 1024 * 1024

export async function beginning(source: SourceFile): Promise<Beginning> {
  for (let bytes = HEAD_BYTES; ; bytes *= 8) {
    const head = await source.head(bytes)
    const records: unknown[] = []
    for (const { fault, value } of readLines(head)) {
      if (fault !== undefined) continue
      if (Array.isArray(value)) records.push(...value.slice(0, 64))
      else records.push(value)
    }
    const isAll = head.length < bytes || bytes >= HEAD_BYTES_MAX
    if (records.some((one) => typeof one === 'object') || isAll)
      return { path: source.path, records }
  }
}
