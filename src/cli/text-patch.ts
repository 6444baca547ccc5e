/**
 * How two texts differ, as the lines of a patch.
 */
import { structuredPatch } from 'diff'

const CONTEXT_LINES = 2
/** Lines that may be added and removed before texts count as too different. */
const EDITS_MAX = 2000
const TIME_MS_MAX = 2000
const PATCH_LINES_MAX = 200
/** What is shown around the place where two lines differ. */
const AROUND = 40

/**
 * Lines that begin with ` `, `-`, `+` or `@@`; undefined where the texts are too different. Of a
 * pair of long lines only the part that differs is given.
 */
export function textPatch(text: {
  readonly left: string
  readonly right: string
}): readonly string[] | undefined {
  const { left, right } = text
  if (!left.includes('\n') && !right.includes('\n')) {
    const [removed, added] = differingParts(left, right)
    return [`-${removed}`, `+${added}`]
  }
  const patch = structuredPatch('', '', left, right, undefined, undefined, {
    context: CONTEXT_LINES,
    maxEditLength: EDITS_MAX,
    timeout: TIME_MS_MAX,
  })
  if (patch === undefined) return undefined
  const lines = patch.hunks.flatMap(({ oldStart, oldLines, newStart, newLines, lines }) => [
    `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`,
    ...narrowed(lines),
  ])
  const over = lines.length - PATCH_LINES_MAX
  return over > 0 ? [...lines.slice(0, PATCH_LINES_MAX), `@@ ${over} more lines @@`] : lines
}

/** Where one long line took the place of another, the parts of them that differ. */
function narrowed(lines: readonly string[]): string[] {
  const out: string[] = []
  for (let at = 0; at < lines.length; at += 1) {
    const [line = '', next = ''] = [lines[at], lines[at + 1]]
    const alone = !lines[at - 1]?.startsWith('-') && !lines[at + 2]?.startsWith('+')
    if (line.startsWith('-') && next.startsWith('+') && alone) {
      const [removed, added] = differingParts(line.slice(1), next.slice(1))
      out.push(`-${removed}`, `+${added}`)
      at += 1
    } else {
      out.push(line)
    }
  }
  return out
}

/** Both texts from a little before the place where they part; whole where they are short. */
function differingParts(left: string, right: string): readonly [string, string] {
  let same = 0
  while (same < left.length && same < right.length && left[same] === right[same]) same += 1
  if (same <= 2 * AROUND) return [left, right]
  const from = same - AROUND
  return [`…${left.slice(from)}`, `…${right.slice(from)}`]
}
