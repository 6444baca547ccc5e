/**
 * The rows of bugs that other programs had, in sessions (transcripts.md, section 5) and in traffic
 * (traffic.md, section 5): each is a requirement here, and the name of a test says it. This holds that
 * none is without one.
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

const TRAFFIC: Readonly<Record<string, string>> = {
  1: 'a stream is held back until its end',
  2: 'streamed answers are not in the replay',
  6: 'a replay opens connections all the same',
  7: 'streams both ways crash the recorder',
  10: 'a recording is binary that nobody can read',
  11: 'a random boundary never matches',
  12: 'whoever asks again is given the first answer',
  13: 'matching by order ends concurrency',
  15: 'a header that was filtered is written by a second path',
  16: 'a live key is committed',
  17: 'a header is scrubbed in one case of letters only',
  18: 'only requests are scrubbed',
  20: 'binary is blown up or broken',
  22: 'a rule of the recording is none of the replay',
  23: 'calls go by in silence',
  24: 'a request with a stream for a body fails',
  25: 'a cancel never settles',
  26: 'the recorder holds a stream until it times out',
  27: 'a timestamp in a prompt is a miss',
  28: 'recorded delays slow tests',
  29: 'a counter says that nothing was missed',
  30: 'a stream comes back in one piece',
  31: 'another body is given the old answer',
  32: 'a date that counts is normalised away',
  33: 'a miss is swallowed',
  34: 'a miss goes live',
  35: 'a miss is tried again until a timeout',
  36: 'a client refuses the certificate, and nobody says so',
  37: 'an upgrade hangs',
  38: 'a certificate is named where nobody reads it',
  39: 'a client that leaves a stream is called a failure',
  40: 'a recording is too large to load',
  43: 'signatures and ids change each time',
  44: 'two recorders share a file',
  45: 'the key does not know who was asked',
}

/** What does not apply, and why. */
const TRAFFIC_NOT: Readonly<Record<string, string>> = {
  3: 'HTTP/2 is not offered to clients; who speaks nothing else is reported',
  4: 'gRPC needs HTTP/2',
  5: 'HTTP/2 connections',
  42: 'there is no rule that echoes a part of the request; docs/record-replay.md says so',
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

it('each row of bugs in the traffic of others is named by a test, or said not to apply', () => {
  const titles = ['http', 'real', 'cli'].flatMap((dir) =>
    titlesBelow(join(import.meta.dirname, dir)),
  )
  const named = new Set(
    titles.flatMap((title) =>
      Array.from(title.matchAll(/\(rows? ([\d, ]+)/g), ([, rows = '']) => rows.split(',')).flat(),
    ),
  )
  const rows = new Set([...named].map((row) => row.trim()).filter((row) => row !== ''))
  expect(Object.keys(TRAFFIC).filter((row) => !rows.has(row))).toEqual([])
  const known = { ...TRAFFIC, ...TRAFFIC_NOT }
  expect([...rows].filter((row) => known[row] === undefined)).toEqual([])
})
