/**
 * Whether a file still begins with what a run holds of it, found by hashing the file alone: the
 * run's bytes are not read.
 */
import { createHash } from 'node:crypto'
import type { SourceFile } from './source-file.js'
import type { StoredLines } from './stored-lines.js'

export type Comparison =
  /** The file begins with all that the run holds. */
  | { readonly found: 'same' }
  /**
   * The file ends inside of what the run holds, and is the same up to there as far as can be told.
   */
  | { readonly found: 'shorter' }
  /** The file differs in these lines, or at their beginning. */
  | { readonly found: 'rewritten'; readonly at: number }

/** @param onLines Told of the bytes of each stored piece that was found again. */
export async function compare(
  source: SourceFile,
  stored: readonly StoredLines[],
  onLines: (lines: StoredLines, bytes: Buffer) => void | Promise<void>,
): Promise<Comparison> {
  let next = 0
  let parts: Buffer[] = []
  let missing = (stored[0]?.to ?? 0) - (stored[0]?.from ?? 0)
  if (stored.length === 0) return { found: 'same' }
  for await (const chunk of source.chunks(0)) {
    let at = 0
    while (at < chunk.length) {
      const lines = stored[next] as StoredLines
      const take = chunk.subarray(at, at + missing)
      parts.push(Buffer.from(take))
      at += take.length
      missing -= take.length
      if (missing > 0) break
      const bytes = Buffer.concat(parts)
      if (createHash('sha256').update(bytes).digest('hex') !== lines.sha256)
        return { found: 'rewritten', at: lines.from }
      await onLines(lines, bytes)
      next += 1
      const following = stored[next]
      if (following === undefined) return { found: 'same' }
      parts = []
      missing = following.to - following.from
    }
  }
  return { found: 'shorter' }
}
