import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { writeRope } from '../../src/value/rope.js'
import { conversation, message, RopeStore, randomFrom, requestOf, textOf } from './rope-samples.js'

const FIXTURES = join(import.meta.dirname, '../../../shared/fixtures')
const KB = 1024

const storeOf = (...bodies: Uint8Array[]) => {
  const store = new RopeStore()
  for (const body of bodies) writeRope(body, store.put)
  return store
}

describe('what a changed body adds', () => {
  const messages = conversation(130)
  const body = requestOf(messages)
  const random = randomFrom(9)

  it('is nothing where it is the same', () => {
    expect(storeOf(body).adds(body)).toEqual({ objects: 0, bytes: 0 })
  })

  it('is a message and a few nodes where one is appended', () => {
    expect(body.length).toBeGreaterThan(400 * KB)
    const store = storeOf(body)
    const grown = [...messages]
    for (let i = 0; i < 40; i++) {
      grown.push(message(random, 'user', 3000))
      const added = store.adds(requestOf(grown))
      expect(added.objects).toBeLessThanOrEqual(10)
      expect(added.bytes).toBeLessThan(3000 * 1.3 + 16 * KB)
    }
  })

  it('is a few nodes where a marker moves from message to message', () => {
    const marked = (at: number) =>
      requestOf(
        messages.map((each, i) =>
          i === at ? { ...each, cache_control: { type: 'ephemeral' } } : each,
        ),
      )
    const store = storeOf(marked(0))
    for (let at = 1; at < 130; at += 8) {
      const added = store.adds(marked(at))
      expect(added.objects).toBeLessThanOrEqual(24)
      expect(added.bytes).toBeLessThan(60 * KB)
    }
  })

  it('is little where an early byte changes', () => {
    const store = storeOf(body)
    for (let i = 0; i < 20; i++) {
      const added = store.adds(requestOf(messages, `You are careful. The time is 07:${i}.`))
      expect(added.objects).toBe(1)
      expect(added.bytes).toBeLessThan(2 * KB)
    }
  })

  it('is little where old messages are dropped from the front', () => {
    const store = storeOf(body)
    for (let dropped = 5; dropped < 100; dropped += 5) {
      const added = store.adds(requestOf(messages.slice(dropped)))
      expect(added.bytes).toBeLessThan(64 * KB)
    }
  })

  it('is little where the messages stand in a body of another shape', () => {
    const store = storeOf(body)
    const other = Buffer.from(`${JSON.stringify({ id: 1, input: { messages, x: [] } })}\n`)
    expect(store.adds(other).bytes).toBeLessThan(16 * KB)
    const lines = Buffer.from(messages.map((each) => `${JSON.stringify(each)}\n`).join(''))
    // Here the wrappers of each message are new; its text is not.
    expect(store.adds(lines).bytes).toBeLessThan(lines.length / 8)
  })
})

describe('what a changed list adds', () => {
  const random = randomFrom(10)
  const kinds: [kind: string, count: number, make: () => unknown][] = [
    ['small objects', 4000, () => ({ id: random(), text: textOf(random, random() * 200) })],
    ['long strings', 2000, () => textOf(random, 600 + random() * 600)],
    ['numbers', 100_000, () => Math.floor(random() * 1000)],
    ['few distinct values', 100_000, () => Math.floor(random() * 2)],
  ]

  it.each(kinds)('is little where one of its %s goes or comes', (_, count, make) => {
    const list = Array.from({ length: count }, make)
    const store = storeOf(Buffer.from(JSON.stringify(list)))
    let added = 0
    for (let at = 100; at < count; at += count / 10) {
      added += store.adds(JSON.stringify(list.toSpliced(at, 1))).bytes
      added += store.adds(JSON.stringify(list.toSpliced(at, 0, make()))).bytes
    }
    // 20 changes, each of a few groups and the nodes above.
    expect(added).toBeLessThan(20 * 12 * KB)
  })
})

describe('a page of 10 MB', () => {
  const random = randomFrom(11)
  const lines = Array.from({ length: 90_000 }, (_, i) =>
    `${i} ${textOf(random, 60 + random() * 80)}`.replaceAll('\n', ' '),
  )
  const page = lines.join('\n')

  it('adds nothing the second time and at most 64 KB with one line changed', () => {
    expect(page.length).toBeGreaterThan(9e6)
    const store = storeOf(Buffer.from(page))
    expect(store.adds(page).bytes).toBe(0)
    for (const at of [0, 1000, 45_000, 89_999]) {
      const changed = lines.with(at, `changed, and not as long`).join('\n')
      expect(store.adds(changed).bytes).toBeLessThanOrEqual(64 * KB)
    }
  })

  it('shares its chunks as the string in a JSON body of any position', () => {
    const text = JSON.stringify(page.slice(0, 2e6))
    const store = storeOf(Buffer.from(`{"page":${text}}`))
    expect(store.adds(`[{"id":1},{"page":${text},"more":true}]`).bytes).toBeLessThan(16 * KB)
  })
})

describe.skipIf(!existsSync(FIXTURES))(
  'real transcripts (skipped without ../shared/fixtures)',
  () => {
    const read = (name: string) => readFileSync(join(FIXTURES, 'entire', `${name}.full.jsonl`))

    it('add their news where the session is seen again', () => {
      const before = read('768de5d6-snap1')
      const after = read('768de5d6-snap2')
      const store = storeOf(before)
      const fresh = storeOf(after)
      const added = store.adds(after)
      expect(added.bytes).toBeLessThan(after.length - before.length)
      expect(added.bytes).toBeLessThan(fresh.bytes - before.length * 0.6)
    })

    it('add little where they grow line by line', () => {
      const lines = read('e1-compaction-progress-errors')
        .toString('latin1')
        .split(/(?<=\n)/)
      const store = storeOf(Buffer.from(lines.join(''), 'latin1'))
      const once = store.bytes
      for (let count = 10; count < lines.length; count += 10) {
        store.adds(Buffer.from(lines.slice(0, count).join(''), 'latin1'))
      }
      expect(store.bytes - once).toBeLessThan(16 * 16 * KB)
    })
  },
)
