import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { applyTags } from '../../src/core/decode.js'
import type { RunEvent } from '../../src/core/event.js'
import type { Hash } from '../../src/core/hash.js'
import { memory, openStore } from '../../src/index.js'
import { jsonlEvents, lineOf } from '../../src/store/jsonl.js'
import { isSameValue } from '../../src/value/value-class.js'
import { anyValue } from '../value/values.js'

const hash = 'a'.repeat(64) as Hash

function eventOf(data: unknown): RunEvent {
  return { seq: 3, time: 17, type: 'note', data, hash }
}

describe('a line of JSON', () => {
  it('holds whatever was recorded, exactly', () => {
    fc.assert(
      fc.property(anyValue, (data) => {
        const { enc = [], data: read, ...rest } = JSON.parse(lineOf(eventOf(data)))
        expect(isSameValue(applyTags(read, enc), data)).toBe(true)
        expect(rest).toEqual({ seq: 3, time: 17, type: 'note', hash })
      }),
      { numRuns: process.env.DAGLOG_LONG ? 10_000 : 1_000 },
    )
  })

  it('has nothing in it that a terminal obeys or that ends a line', () => {
    fc.assert(
      fc.property(anyValue, (data) => {
        expect(lineOf(eventOf(data))).toMatch(/^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$/)
      }),
      { numRuns: 500 },
    )
    const text = 'a\u009b\u2028\u007f'
    expect(JSON.parse(lineOf(eventOf({ [text]: text }))).data).toEqual({ [text]: text })
  })

  it('says that a body was redacted in place of its data', () => {
    expect(lineOf({ ...eventOf(undefined), redacted: true })).toBe(
      `{"seq":3,"time":17,"type":"note","redacted":true,"hash":"${hash}"}`,
    )
    expect(JSON.parse(lineOf(eventOf(undefined)))).toMatchObject({
      data: null,
      enc: [['', 'undefined']],
    })
  })
})

describe('the events of a run as lines of JSON', () => {
  it('are the events that the run gives, large values whole or left out of line', async () => {
    const store = await openStore(memory())
    const run = await store.createRun({ id: 'r' })
    await run.append('note', { text: 'x'.repeat(10_000), n: 5n })
    await run.step('work', [1, 2], () => ({ big: ['y'.repeat(5_000)] }))
    for (const refs of [false, true]) {
      const events = []
      for await (const event of run.events({ refs })) events.push(event)
      const lines = []
      for await (const line of jsonlEvents(run, { refs })) lines.push(JSON.parse(line))
      const read = lines.map(({ enc = [], data, ...rest }) => ({
        ...rest,
        data: applyTags(data, enc),
      }))
      expect(read).toEqual(events)
      expect(lines.some((line) => line.refs?.length > 0)).toBe(refs)
    }
    await store.close()
  })
})
