/**
 * What a frame costs: its fixed bytes, and the time to encode and to check one, without any disk.
 */
import { hash } from 'node:crypto'
import { bodyText, encodeData } from '../dist/core/body.js'
import { encodeFrame, scanFrames } from '../dist/core/frame.js'
import { GENESIS } from '../dist/core/hash.js'
import { median, p99, rate, ratio, takeTurns } from './rounds.mjs'
import { frameText, LARGE, SMALL } from './sample.mjs'

const SALT = '00112233445566778899aabbccddeeff'
const TIME = 1_790_000_000_000

/** @param {{quick: boolean}} options */
export async function frame({ quick }) {
  const [rounds, count] = quick ? [7, 5000] : [21, 20_000]
  const rows = [fixedBytes()]
  for (const [what, event] of [
    ['small frames', SMALL],
    ['2 KB frames', LARGE],
  ]) {
    const log = encodeMany(event, count)
    const [head, body] = partsOf(frameText(event))
    const times = await takeTurns(rounds, {
      encode: () => rate(count, () => encodeMany(event, count)),
      scan: () =>
        rate(count, () => {
          if (scanFrames(log).count !== count) throw new Error('the sample does not scan')
        }),
      bare: () =>
        rate(count, () => {
          for (let made = 0; made < count; made += 1) {
            hash('sha256', head, 'hex')
            hash('sha256', body, 'hex')
          }
        }),
    })
    const limit = { what: 'two hashes a frame', median: median(times.bare) }
    for (const [verb, rates] of [
      ['encode', times.encode],
      ['scan', times.scan],
    ]) {
      rows.push({
        what: `${verb} ${what}, ${Math.round((median(rates) * log.length) / count / 1e6)} MB/s`,
        median: median(rates),
        unit: 'frames/s',
        p99: { value: p99(rates.map((each) => 1e6 / each)), unit: 'us' },
        limit: { ...limit, ratio: ratio(rates, times.bare) },
      })
    }
  }
  return rows
}

/** A frame without its type and data, at a seq of five digits, its body open. */
function fixedBytes() {
  const type = 'note'
  const bytes = Buffer.byteLength(frameText({ type, data: {} })) - type.length - '{}'.length
  return { what: 'fixed bytes of a frame: all but its type and data', median: bytes, unit: 'B' }
}

function encodeMany(event, count) {
  let prev = GENESIS
  const lines = []
  for (let seq = 0; seq < count; seq += 1) {
    const { inline, tags } = encodeData(event.data)
    const head = { seq, time: TIME, type: event.type, lag: 0, left: 0, extra: '' }
    const { text, hash } = encodeFrame(prev, head, bodyText({ salt: SALT, inline, refs: [], tags }))
    lines.push(text)
    prev = hash
  }
  return Buffer.from(lines.join(''))
}

/** What is hashed of a frame: its head, and its body. */
function partsOf(text) {
  const line = Buffer.from(text)
  return [
    line.subarray(0, line.indexOf(',"hash":"')),
    line.subarray(line.indexOf(',"body":') + ',"body":'.length, -2),
  ]
}
