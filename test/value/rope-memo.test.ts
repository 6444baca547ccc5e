import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RopeMemo, type RopeResult, writeRope } from '../../src/value/rope.js'
import { MEMO_BYTES_MAX } from '../../src/value/rope-memo.js'
import {
  conversation,
  damaged,
  RopeStore,
  randomFrom,
  requestOf,
  sample,
  textOf,
} from './rope-samples.js'

describe('a memo', () => {
  it('changes no rope, whatever the bodies share', () => {
    fc.assert(
      fc.property(fc.array(fc.integer(), { minLength: 2, maxLength: 8 }), (seeds) => {
        const memo = new RopeMemo()
        const store = new RopeStore()
        let body = sample(seeds[0]!)
        for (const seed of seeds) {
          const random = randomFrom(seed)
          const rope = writeRope(body, store.put, { memo })
          expect(rope).toEqual(writeRope(body, () => {}))
          expect(store.read(rope).equals(body)).toBe(true)
          body = random() < 0.2 ? sample(seed) : damaged(body, random)
        }
      }),
      { numRuns: process.env.DAGLOG_LONG === undefined ? 30 : 500 },
    )
  })

  it('changes no rope of a growing conversation, and spares nearly all of its objects', () => {
    const messages = conversation(120)
    const memo = new RopeMemo()
    const store = new RopeStore()
    for (let count = 2; count <= messages.length; count += 2) {
      let objects = 0
      const body = requestOf(messages.slice(0, count))
      const rope = writeRope(
        body,
        (object) => {
          objects += 1
          store.put(object)
        },
        { memo },
      )
      expect(rope).toEqual(writeRope(body, () => {}))
      expect(store.read(rope).equals(body)).toBe(true)
      expect(objects).toBeLessThan(20)
    }
  })

  it('changes no rope of growing lines and event streams', () => {
    const random = randomFrom(14)
    const memos = [new RopeMemo(), new RopeMemo()]
    let lines = ''
    let events = ''
    for (let i = 0; i < 200; i++) {
      const values = Array.from({ length: random() * 40 }, () => Math.floor(random() * 1e6))
      const record = JSON.stringify({ i, values, text: textOf(random, random() * 900) })
      lines += `${record}\n`
      events += `event: e\ndata: ${record}\nid: ${i}\n\n`
      for (const [k, text] of [lines, events].entries()) {
        const body = Buffer.from(text)
        expect(writeRope(body, () => {}, { memo: memos[k]! })).toEqual(writeRope(body, () => {}))
      }
    }
  })

  it('changes no rope where members lie deeper than containers are told apart', () => {
    const member = JSON.stringify(conversation(1))
    const memos = [new RopeMemo(), new RopeMemo()]
    for (let count = 1; count < 40; count++) {
      const deep = `${'['.repeat(90)}${`${member},`.repeat(count)}1${']'.repeat(90)}`
      for (const [i, text] of [`[${deep},{"a":${deep}}]`, `${deep}\n${deep}\n`].entries()) {
        const body = Buffer.from(text)
        expect(writeRope(body, () => {}, { memo: memos[i]! })).toEqual(writeRope(body, () => {}))
      }
    }
  })

  it('notices any changed byte around a place that it remembers', () => {
    const random = randomFrom(13)
    const list = Array.from({ length: 1000 }, () => ({ id: Math.floor(random() * 1e9) }))
    const body = Buffer.from(JSON.stringify(list))
    const memo = new RopeMemo()
    for (let at = 8150; at < 8400; at++) {
      writeRope(body, () => {}, { memo })
      const changed = Buffer.from(body)
      changed[at] = 0x31
      expect(writeRope(changed, () => {}, { memo })).toEqual(writeRope(changed, () => {}))
    }
  })

  it('does not mind that bodies are overwritten afterwards', () => {
    const messages = conversation(30)
    const memo = new RopeMemo()
    const first = requestOf(messages.slice(0, 20))
    writeRope(first, () => {}, { memo })
    first.fill(0x20)
    const second = requestOf(messages)
    expect(writeRope(second, () => {}, { memo })).toEqual(writeRope(second, () => {}))
  })

  it('is forgotten where an object was not taken, so that the next body puts it again', () => {
    const body = requestOf(conversation(30))
    for (let failing = 0; failing < 40; failing++) {
      const memo = new RopeMemo()
      const store = new RopeStore()
      let count = 0
      const failOnce = () => {
        if (count++ === failing) throw new Error('disk full')
      }
      let rope: RopeResult | undefined
      try {
        rope = writeRope(body, failOnce, { memo })
      } catch {
        rope = writeRope(body, store.put, { memo })
        expect(store.read(rope).equals(body)).toBe(true)
      }
    }
  })

  it('remembers no more than its limit', () => {
    const random = randomFrom(12)
    const item = () => ({ id: random(), text: textOf(random, 700) })
    const list = Array.from({ length: MEMO_BYTES_MAX / 600 }, item)
    const memo = new RopeMemo()
    for (const items of [
      list,
      [...list, item()],
      [...list.slice(0, -9), item()],
      [{ t: textOf(random, MEMO_BYTES_MAX * 1.2) }, 1, 2],
    ]) {
      const body = Buffer.from(JSON.stringify(items))
      expect(body.length).toBeGreaterThan(MEMO_BYTES_MAX)
      expect(writeRope(body, () => {}, { memo })).toEqual(writeRope(body, () => {}))
    }
  })
})
