/**
 * How a replay went, in words for people: the verdict in one line, and each miss with the nearest
 * that is recorded.
 */
import type { Miss, RequestDifference } from '../http/exchange.js'
import type { ReplayReport } from '../http/replayer.js'
import type { Piece } from './output.js'
import { countText } from './quantity.js'

const MISSES_SHOWN = 20
const DIFFERENCES_SHOWN = 3

/** `same: 7 of 7 calls, 0 tokens`, or what was first to differ. */
export function verdictLine({ ok, answered, misses, unused }: ReplayReport): Piece[] {
  const asked = answered + misses.length
  const counts = `${answered} of ${countText(asked, 'call')}, 0 tokens`
  if (!ok)
    return [['red', 'differs: '], `${counts}; the first that is not recorded: ${firstOf(misses)}`]
  const rest =
    unused.length === 0 ? '' : `; ${countText(unused.length, 'recorded call')} not asked for`
  return [['green', 'same: '], `${counts}${rest}`]
}

function firstOf([first]: readonly Miss[]): string {
  return first === undefined ? '' : `${first.method} ${first.url}`
}

/** Each miss in a line, and below it the nearest recorded request with what differs. */
export function missLines({ misses }: ReplayReport): Piece[][] {
  const lines: Piece[][] = []
  for (const { message, nearest } of misses.slice(0, MISSES_SHOWN)) {
    lines.push([['red', 'miss '], message])
    for (const { ordinal, method, url, differences, more } of nearest) {
      lines.push(['  ', ['dim', `exchange ${ordinal} `], `${method} ${url}`])
      for (const difference of differences.slice(0, DIFFERENCES_SHOWN))
        lines.push(['    ', ...differenceWords(difference)])
      const others = Math.max(0, differences.length - DIFFERENCES_SHOWN) + more
      if (others > 0) lines.push([`    and ${countText(others, 'difference')} more`])
    }
  }
  if (misses.length > MISSES_SHOWN)
    lines.push([`and ${countText(misses.length - MISSES_SHOWN, 'miss')} more`])
  return lines
}

function differenceWords({ part, at, recorded, asked }: RequestDifference): Piece[] {
  const place = at === undefined ? part : `${part} ${at}`
  return [['yellow', place], `: recorded ${recorded ?? '(nothing)'}, asked ${asked ?? '(nothing)'}`]
}
