/** Inputs for the rope tests, and a store that holds ropes to their contract as they come in. */
import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import type { Hash } from '../../src/core/hash.js'
import type { StoredObject } from '../../src/core/object.js'
import {
  type RopeReadOptions,
  type RopeResult,
  readRope,
  ropeChildren,
  writeRope,
} from '../../src/value/rope.js'
import { ROPE_NODE_BYTES_MAX } from '../../src/value/rope-node.js'

export const hashOf = (bytes: Uint8Array | string) =>
  createHash('sha256').update(bytes).digest('hex') as Hash

/** Keeps objects by name, and counts what is new. */
export class RopeStore {
  readonly objects = new Map<Hash, Uint8Array>()
  bytes = 0
  loads = 0

  readonly put = ({ hash, kind, bytes }: StoredObject): void => {
    if (this.objects.has(hash)) return
    expect(hashOf(bytes)).toBe(hash)
    if (kind === 'rope') {
      expect(bytes.length).toBeLessThanOrEqual(ROPE_NODE_BYTES_MAX)
      for (const child of ropeChildren(bytes)) expect(this.objects.has(child.hash)).toBe(true)
    }
    this.objects.set(hash, Uint8Array.from(bytes))
    this.bytes += bytes.length
  }

  readonly load = (hash: Hash): Uint8Array => {
    this.loads += 1
    const bytes = this.objects.get(hash)
    if (bytes === undefined) throw new Error(`missing ${hash}`)
    return bytes
  }

  read(rope: RopeResult, options: RopeReadOptions = {}): Buffer {
    const range = { size: rope.size, ...options }
    return Buffer.concat([...readRope(rope.root, rope.rootKind, this.load, range)])
  }

  /** New objects and bytes that `bytes` add to what is here. */
  adds(bytes: Uint8Array | string): { objects: number; bytes: number } {
    const before = { objects: this.objects.size, bytes: this.bytes }
    writeRope(Buffer.from(bytes), this.put)
    return { objects: this.objects.size - before.objects, bytes: this.bytes - before.bytes }
  }
}

/** Writes `bytes` and holds the result to all that is promised of it. */
export function checkedRope(bytes: Uint8Array, store = new RopeStore()): RopeResult {
  const rope = writeRope(bytes, store.put)
  expect(store.read(rope).equals(bytes)).toBe(true)
  expect(rope.sha256).toBe(hashOf(bytes))
  expect(rope.size).toBe(bytes.length)
  expect(rope.root === rope.sha256).toBe(rope.rootKind === 'blob')
  return rope
}

/** Numbers in [0, 1) that depend on the seed only (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

const WORDS = 'the of "quoted" \\ tool result: {a} [1] const x = 1; é 漢 😀 \n \t data: null'.split(
  ' ',
)

export function textOf(random: () => number, length: number): string {
  let text = ''
  while (text.length < length)
    text += `${WORDS[Math.floor(random() * WORDS.length)]}${text.length} `
  return text.slice(0, length)
}

/** JSON text of a random value with white space, duplicate keys, large numbers and long strings. */
function looseJson(random: () => number, depth: number): string {
  const space = () => (random() < 0.8 ? '' : [' ', '\n', '\r\n\t', '  '][Math.floor(random() * 4)])
  const pick = random()
  if (depth > 0 && pick < 0.7) {
    const members = Array.from({ length: Math.floor(random() * 9) }, () => {
      const key = pick < 0.4 ? `${JSON.stringify(`k${Math.floor(random() * 4)}`)}${space()}:` : ''
      return `${space()}${key}${space()}${looseJson(random, depth - 1)}${space()}`
    }).join(',')
    return pick < 0.4 ? `{${members}}` : `[${members}]`
  }
  if (pick < 0.75)
    return ['true', 'false', 'null', '-0', '1E400', '123456789012345678901'][
      Math.floor(random() * 6)
    ]!
  if (pick < 0.8) return '"\\ud83d lone \\u0000 \\" \\\\"'
  if (pick < 0.81) return JSON.stringify(textOf(random, 60_000 + random() * 20_000))
  return JSON.stringify(textOf(random, random() ** 4 * 4000))
}

/** Bodies, lines, streams, text and noise, 0 to about 300 KB, some of them damaged. */
export function sample(seed: number): Buffer {
  const random = randomFrom(seed)
  const many = (n: number, make: (i: number) => string) =>
    Array.from({ length: Math.floor(random() * n) }, (_, i) => make(i))
  const forms: (() => string | Buffer)[] = [
    () => looseJson(random, 6),
    () => `\ufeff [${many(60, () => looseJson(random, 3)).join(' ,\n')}]\r\n`,
    () =>
      many(40, () => looseJson(random, 3).replace(/[\r\n]/g, ' '))
        .map((line) => `${line}\n`)
        .join(''),
    () =>
      many(
        60,
        (i) => `event: e${i}\r\ndata: ${looseJson(random, 2).replace(/[\r\n]/g, '')}\r\n\r\n`,
      ).join(''),
    () => `data: ${many(400, (i) => `${i}\n\ndata:{"i":${i}}`).join('\n\n')}`,
    () => `{"numbers":[${many(9000, () => String(Math.floor(random() * 300))).join(',')}]}`,
    () => `[${'[{"a":'.repeat(random() * 300)}1${'}],'.repeat(random() * 300)}`,
    () => `{"gap":${' '.repeat(random() * 90_000)}1${'0'.repeat(random() * 90_000)}}`,
    () => textOf(random, random() * 200_000),
    () => Buffer.from(many(150_000, () => '').map(() => random() * 256)),
    () => Buffer.alloc(random() * 100_000, random() < 0.5 ? 0 : 0x5c),
    () => `["${'\\'.repeat(random() * 70_000)}"${',""'.repeat(random() * 9000)}`,
    () => many(20_000, () => '{}[]",:\\\n 1'[Math.floor(random() * 11)]!).join(''),
  ]
  const bytes = Buffer.from(forms[Math.floor(random() * forms.length)]!())
  return random() < 0.6 ? bytes : damaged(bytes, random)
}

/** One byte changed, bytes left out, bytes added, or the end cut off. */
export function damaged(bytes: Buffer, random: () => number): Buffer {
  const at = Math.floor(random() * bytes.length)
  const pick = random()
  if (pick < 0.25) return bytes.subarray(0, at)
  const added =
    pick < 0.5
      ? Buffer.from('"]}\n'.charAt(random() * 4))
      : Buffer.from(textOf(random, random() * 99))
  const left = pick < 0.75 ? 1 : random() * 2000
  return Buffer.concat([bytes.subarray(0, at), added, bytes.subarray(at + left)])
}

/** A chat message as a model API takes it, about `length` bytes of it text. */
export function message(random: () => number, role: string, length: number) {
  const id = `toolu_${Math.floor(random() * 1e9)}`
  const text = textOf(random, length)
  return {
    role,
    content: [{ type: 'tool_result', tool_use_id: id, content: [{ type: 'text', text }] }],
  }
}

/** A conversation of `count` messages of one to six KB. */
export function conversation(count: number, seed = 1) {
  const random = randomFrom(seed)
  return Array.from({ length: count }, (_, i) =>
    message(random, i % 2 === 0 ? 'user' : 'assistant', 1000 + random() * 5000),
  )
}

export function requestOf(messages: readonly unknown[], system = 'You are careful.'): Buffer {
  return Buffer.from(
    JSON.stringify({ model: 'm', max_tokens: 8192, system, messages, stream: true }),
  )
}
