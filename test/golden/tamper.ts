/**
 * What goldens suffer: bytes flipped, cut, swapped, rewritten, redacted.
 * Knows lines and frames; where files lie is the caller's business.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { encodeFrame, FrameReader, filler } from '../../src/core/frame.js'
import { GENESIS, type Hash } from '../../src/core/hash.js'

/** The lines of a log, each without its newline. */
export function linesOf(path: string): string[] {
  return readFileSync(path, 'utf8').split('\n').slice(0, -1)
}

export function writeLines(path: string, lines: readonly string[]): void {
  writeFileSync(path, lines.map((line) => `${line}\n`).join(''))
}

/**
 * Flip the lowest bit of one byte: the first of `what` in the line, or a place counted from the
 * line's end.
 */
export function flip(path: string, line: number, what: string | number): void {
  const bytes = readFileSync(path)
  let at = 0
  for (let n = 0; n < line; n++) at = bytes.indexOf(0x0a, at) + 1
  const end = bytes.indexOf(0x0a, at) + 1
  const target = typeof what === 'number' ? end + what : bytes.indexOf(what, at)
  if (target < at || target >= end) throw new Error(`no ${what} in line ${line} of ${path}`)
  bytes[target] = (bytes[target] as number) ^ 1
  writeFileSync(path, bytes)
}

/** Flip the lowest bit of a byte, counted from the end where `at` is negative. */
export function flipByte(path: string, at: number): void {
  const bytes = readFileSync(path)
  const place = at < 0 ? bytes.length + at : at
  bytes[place] = (bytes[place] as number) ^ 1
  writeFileSync(path, bytes)
}

/** Flip one bit of one file of a store; which one follows from `round`. @returns Where. */
export function flipAnyBit(dir: string, round: number): string {
  const files = readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(?:jsonl|z|open|pack)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readFileSync(path).length > 0)
    .sort()
  const draw = createHash('sha256').update(String(round)).digest()
  const path = files[draw.readUInt32LE(0) % files.length] as string
  const bytes = readFileSync(path)
  const at = draw.readUInt32LE(4) % bytes.length
  const bit = draw.readUInt32LE(8) % 8
  bytes[at] = (bytes[at] as number) ^ (1 << bit)
  writeFileSync(path, bytes)
  return `${relative(dir, path)}, byte ${at}, bit ${bit}`
}

/** Take `count` bytes off the end. */
export function cut(path: string, count: number): void {
  truncateSync(path, readFileSync(path).length - count)
}

/** Put the filler in place of a frame's body, as `redact` will. */
export function redact(path: string, line: number): void {
  const lines = linesOf(path)
  const bytes = Buffer.from(lines[line] as string)
  const frame = readFrame(bytes)
  filler(frame.bodyTo - frame.bodyFrom).copy(bytes, frame.bodyFrom)
  lines[line] = bytes.toString()
  writeLines(path, lines)
}

/** Change bodies from a line on and compute all hashes anew, as a forger would. */
export function rewrite(path: string, line: number, edit: (body: string) => string): void {
  const lines = linesOf(path)
  let prev = GENESIS
  for (const [n, text] of lines.entries()) {
    const bytes = Buffer.from(text)
    const frame = readFrame(bytes)
    const body = bytes.toString('utf8', frame.bodyFrom, frame.bodyTo)
    if (n >= line) {
      const encoded = encodeFrame(prev, frame, n === line ? edit(body) : body)
      lines[n] = encoded.text.slice(0, -1)
      prev = encoded.hash
    } else prev = frame.hash
  }
  writeLines(path, lines)
}

function readFrame(bytes: Buffer): FrameReader {
  const frame = new FrameReader()
  if (!frame.read(bytes, 0, bytes.length, undefined)) throw new Error('no frame to tamper with')
  return frame
}

/** The hash that the first frame with this seq states, wherever in the text it stands. */
export function statedHash(text: string, seq: number): Hash {
  const stated = new RegExp(
    `\\{"seq":${seq},"time":[^{}]*?"commit":"[0-9a-f]{64}","hash":"([0-9a-f]{64})"`,
  )
  const found = stated.exec(text)
  if (found === null) throw new Error(`no frame ${seq}`)
  return found[1] as Hash
}
