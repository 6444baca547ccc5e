/**
 * What the bench appends and reads: events of the usual sizes, and long logs written straight through
 * `core/frame`, since appending millions of events one by one would take longer than measuring them.
 */
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { FsLayout } from '../dist/backend/fs-layout.js'
import { bodyText, encodeData } from '../dist/core/body.js'
import { encodeFrame, genesisExtra } from '../dist/core/frame.js'
import { GENESIS } from '../dist/core/hash.js'
import { RunIndex } from '../dist/fold/run-index.js'
import { snapshotKey } from '../dist/store/run-view.js'

/** A small event: about 300 bytes as a frame, most of them fixed. */
export const SMALL = { type: 'note', data: { text: 'page 17 of 40 is read' } }

/** A frame of about 2 KB, as a tool's result may be. */
export const LARGE = {
  type: 'tool/result',
  data: { id: 'call-17', content: 'It was a bright cold day in April. '.repeat(50) },
}

const SALT = '00112233445566778899aabbccddeeff'
const TIME = 1_790_000_000_000
const BLOCK_BYTES = 4 * 1024 * 1024

/**
 * Writes one log, frame after frame, each known to be synced when the next is written.
 */
export class LogFile {
  seq = 0
  hash = GENESIS
  bytes = 0
  /** Where the last frame lies. */
  place = { segment: 0, from: 0, to: 0 }
  #fd
  #block = Buffer.allocUnsafe(BLOCK_BYTES)
  #filled = 0

  /** @param {string} path */
  constructor(path) {
    this.#fd = openSync(path, 'w')
  }

  /**
   * @param {string} type
   * @param {unknown} data Small values only: nothing goes out of line.
   * @returns The frame as folds take it.
   */
  add(type, data) {
    const { inline, tags } = encodeData(data)
    return this.addEncoded(type, bodyText({ salt: SALT, inline, refs: [], tags }))
  }

  /**
   * @param {string} type
   * @param {string} body The text of a whole body.
   */
  addEncoded(type, body) {
    const seq = this.seq
    const extra = seq === 0 ? genesisExtra({ nonce: SALT }) : ''
    const frame = encodeFrame(
      this.hash,
      { seq, time: TIME + seq, type, lag: 0, left: 0, extra },
      body,
    )
    const from = this.bytes
    this.#write(frame.text)
    this.place = { segment: 0, from, to: this.bytes }
    this.hash = frame.hash
    this.seq += 1
    return {
      seq,
      time: TIME + seq,
      type,
      redacted: false,
      extra,
      hash: frame.hash,
      place: this.place,
      get body() {
        return Buffer.from(body)
      },
    }
  }

  /** @param {string} text */
  #write(text) {
    const most = text.length * 3
    if (this.#filled + most > this.#block.length) this.#flush()
    if (most > this.#block.length) throw new Error('a frame larger than a block of the sample')
    const count = this.#block.write(text, this.#filled)
    this.#filled += count
    this.bytes += count
  }

  #flush() {
    for (let at = 0; at < this.#filled; )
      at += writeSync(this.#fd, this.#block, at, this.#filled - at)
    this.#filled = 0
  }

  close() {
    this.#flush()
    closeSync(this.#fd)
  }
}

/**
 * A frame as the store writes it for `event`, at a seq of five digits.
 * @param {{type: string, data: unknown}} event
 */
export function frameText(event) {
  const { inline, tags } = encodeData(event.data)
  const head = { seq: 12_345, time: TIME, type: event.type, lag: 0, left: 0, extra: '' }
  return encodeFrame(GENESIS, head, bodyText({ salt: SALT, inline, refs: [], tags })).text
}

/**
 * @typedef {(log: LogFile, fold: (frame: ReturnType<LogFile['add']>) => void, index: RunIndex) => void} Fill
 *   Adds frames, gives each to `fold`, and finds in `index` what they come to.
 */

/**
 * A run whose whole log is written by `fill`, with its head in the store's log and its index in the cache:
 * what a writer that closed it leaves behind.
 * @param {import('../dist/store/store.js').Store} store In a directory.
 * @param {string} id
 * @param {Fill} fill
 */
export async function layRun(store, id, fill) {
  const { head, bytes } = await writeRun(store, id, fill)
  await store.context.heads.note([{ type: 'run/head', data: head.data }])
  await store.context.snapshots.write(snapshotKey(id), head, head.index)
  return { bytes, seq: head.seq }
}

/**
 * The log alone.
 * @param {import('../dist/store/store.js').Store} store
 * @param {string} id
 * @param {Fill} fill
 */
export async function writeRun(store, id, fill) {
  const layout = new FsLayout(store.place)
  mkdirSync(layout.run(id))
  const log = new LogFile(layout.segment({ run: id }, 0))
  const index = new RunIndex()
  const first = log.add('run/start', { id })
  index.apply(first)
  fill(log, (frame) => index.apply(frame), index)
  log.close()
  const { hash, place, bytes } = log
  const seq = log.seq - 1
  const data = {
    id,
    run: first.hash,
    seq,
    hash,
    at: [seq, place.segment, place.from, place.to],
    summary: index.summary(),
  }
  return { bytes, head: { seq, hash, place, index, data } }
}
