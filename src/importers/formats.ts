/**
 * The kinds of transcripts that can be taken in: one table. A kind that is not here does not exist.
 */
import { claudeCodeFormat } from './claude-code.js'
import { codexFormat } from './codex.js'
import { dshFormat } from './dsh.js'
import type { Beginning, Session, TranscriptFormat } from './format.js'
import { linesFormat } from './lines.js'

export const FORMATS: readonly TranscriptFormat[] = [dshFormat, codexFormat, claudeCodeFormat]

/** Which format a file has, and which session it holds. @param named Whether a file without a format is wanted. */
export function identify(
  beginning: Beginning,
  { from, named }: { readonly from?: string | undefined; readonly named: boolean },
): { readonly format: TranscriptFormat; readonly session: Session } | undefined {
  for (const format of FORMATS) {
    if (from !== undefined && format.key !== from) continue
    const session = format.identify(beginning)
    if (session !== undefined) return { format, session }
  }
  const session = named && from === undefined ? linesFormat.identify(beginning) : undefined
  return session === undefined ? undefined : { format: linesFormat, session }
}
