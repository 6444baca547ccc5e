/**
 * The rows of bugs that sessions of other programs had (transcripts.md, section 5): each is a
 * requirement here, and the name of a test begins with it. This holds that none is without one.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

/** What the report was about; the reports are named in the reference. */
const ROWS: Readonly<Record<string, string>> = {
  T1: 'power loss tears the last line',
  T2: 'the next record is fused onto a torn one',
  T3: 'a reader stops at the first bad line',
  T4: 'a hole of zeros in the middle',
  T5: 'one bad session blocks the list of all',
  T6: 'a full disk leaves half a record, in silence',
  T7: 'a full disk turns recording off, and the agent goes on',
  T9: 'one result of parallel tools is never written',
  T10: 'two processes resume one session and part in silence',
  T11: 'one number twice, from two processes',
  T12: 'a shared name for temporary files tears what is rewritten',
  T13: 'a call without a result is refused for ever',
  T14: 'hundreds of such calls',
  T17: 'a compaction blanks the messages that it stands for',
  T18: 'a compaction fails, and the file is gone',
  T19: 'a file is rewritten in place, shorter',
  T20: 'a compaction replaces the history on the disk',
  T21: 'a second compaction appends the history again',
  T22: 'the history is copied with each compaction',
  T23: 'the same images again and again',
  T24: 'a write fails after the tool ran',
  T25: 'resuming takes twice the memory of the file',
  T26: 'memory grows with the file; listing reads all',
  T27: 'versions mixed in one file',
  T29: 'an old session lacks a member that is new',
  T30: 'an event of a plugin makes a session unreadable',
  T31: 'an index disagrees with the log',
  T32: 'an index is garbage',
  T33: 'a parent that was never written',
  T34: 'hooks and progress fork the chain',
  T37: 'a lone surrogate',
  T38: 'an empty or foreign signature',
  T39: 'reasoning of one provider is sent to another',
  T40: 'output counted too low, input too high',
  T41: 'forks count twice',
  T42: 'another spelling of a path hides a session',
  T44: 'secrets in transcripts',
  T45: 'sub-agents listed as sessions',
  T46: 'sub-agents lose their session',
  T47: 'a stream that is cut loses what came',
  T48: 'a crash between a call and its result',
  T49: 'what was exported is not taken in elsewhere',
  T50: 'a crash before the first answer loses the prompt',
}

const TITLE = /\b(?:it|describe)(?:\.\w+)*(?:\([^\n]*?\))?\(\s*(['"`])(?<title>.*?)\1/gs

function titlesBelow(dir: string): string[] {
  return readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    const path = join(dir, entry.name)
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : titlesBelow(path)
    if (!entry.name.endsWith('.test.ts')) return []
    return Array.from(
      readFileSync(path, 'utf8').matchAll(TITLE),
      ({ groups }) => `${groups?.title}`,
    )
  })
}

it('each row of bugs in sessions of others is named by a test', () => {
  const titles = titlesBelow(import.meta.dirname)
  const named = new Set(titles.flatMap((title) => title.match(/\bT\d{1,2}\b/g) ?? []))
  expect(Object.keys(ROWS).filter((row) => !named.has(row))).toEqual([])
  expect([...named].filter((row) => ROWS[row] === undefined)).toEqual([])
})
