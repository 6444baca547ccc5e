/**
 * Two runs by their traffic: which request differed first, and at which JSON pointer.
 */
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { HttpExchange } from '../../src/core/http-events.js'
import { memory, openStore } from '../../src/index.js'
import { diffRuns, type RunDiff } from '../../src/store/diff.js'
import { anyExchange, exchangeData, type MadeUp } from '../http/exchanges.js'

const CHAT = 'https://api.example.com/v1/chat/completions'

interface Told {
  readonly role: string
  readonly content: string
}

const told = (...texts: readonly string[]): Told[] =>
  texts.map((content, at) => ({ role: at % 2 === 0 ? 'user' : 'assistant', content }))

/** One call of a model: ids and times in the answer are new each time. */
function chat(messages: readonly Told[], reply: string, minted: string, more: object = {}): MadeUp {
  const message = { role: 'assistant', content: reply }
  return {
    url: CHAT,
    asked: JSON.stringify({ model: 'm', messages, ...more }),
    said: JSON.stringify({
      id: `chatcmpl-${minted}`,
      created: minted.length,
      choices: [{ index: 0, message, finish_reason: 'stop' }],
    }),
  }
}

async function compared(
  left: readonly HttpExchange[],
  right: readonly HttpExchange[],
): Promise<RunDiff> {
  const store = await openStore(memory())
  for (const [id, list] of Object.entries({ left, right })) {
    const run = await store.createRun({ id })
    for (const [at, exchange] of list.entries()) {
      const ordinal = at + 1
      const { method, url } = exchange.request
      await run.append('http/start', { ordinal, method, url })
      await run.append('http/exchange', { ...exchange, ordinal })
    }
    await run.close()
  }
  const found = await diffRuns({
    left: await store.inspectRun('left'),
    right: await store.inspectRun('right'),
  })
  await store.close()
  return found
}

const made = (...list: readonly MadeUp[]) => list.map((one) => exchangeData(one))
const kinds = ({ differences }: RunDiff) =>
  differences.map(({ kind, tainted, soft }) =>
    [kind, ...(tainted ? ['tainted'] : []), ...(soft ? ['soft'] : [])].join(' '),
  )

describe('two runs with traffic', () => {
  it('are the same where the same was asked and answered, whatever the times', () =>
    fc.assert(
      fc.asyncProperty(fc.array(anyExchange, { maxLength: 6 }), async (list) => {
        const later = list.map((one) => ({
          ...one,
          timing: { started: one.timing.started + 5, endUs: one.timing.endUs * 2 },
        }))
        expect(await compared(list, later)).toMatchObject({ same: true, differences: [] })
      }),
      { numRuns: 30 },
    ))

  it('part at the first request that differs, at a pointer into its body', async () => {
    const first = chat(told('hi'), 'hello', 'a')
    const {
      same,
      exchanges,
      first: difference,
    } = await compared(
      made(first, chat(told('hi', 'hello', 'what is 2+2?'), '4', 'b')),
      made(first, chat(told('hi', 'hello', 'what is 2+3?'), '5', 'c')),
    )
    expect(same).toBe(false)
    expect(exchanges).toEqual({ left: 2, right: 2, same: 1 })
    expect(difference).toMatchObject({
      kind: 'request',
      path: `POST ${CHAT}`,
      left: { seq: 4 },
      right: { seq: 4 },
      history: { same: 2, left: 'user/message', right: 'user/message' },
      changes: [
        {
          ...{ pointer: '/body/messages/2/content', op: 'replace' },
          ...{ left: 'what is 2+2?', right: 'what is 2+3?' },
        },
      ],
    })
  })

  it('33. deer-flow PR#3436: an edited system prompt is the one thing that is named', async () => {
    const ask = (system: string): MadeUp =>
      chat([{ role: 'system', content: system }, ...told('hi')], 'hello', 'a')
    const { differences } = await compared(made(ask('be kind')), made(ask('be brief')))
    expect(differences).toMatchObject([
      { kind: 'request', changes: [{ pointer: '/body/messages/0/content' }] },
    ])
  })

  it('do not differ by what a model mints anew, but by what it says', async () => {
    const asked = told('hi')
    const same = await compared(
      made(chat(asked, 'hello', 'a')),
      made(chat(asked, 'hello', 'a-longer-one')),
    )
    expect(same).toMatchObject({ same: true, differences: [] })
    const other = await compared(
      made(chat(asked, 'hello', 'a')),
      made(chat(asked, 'good day', 'b')),
    )
    expect(other.first).toMatchObject({ kind: 'response', changes: [{ left: 'hello' }] })
    expect(JSON.stringify(other.first?.changes)).not.toContain('chatcmpl')
  })

  it('tell an answer that follows from what was asked apart from one that does not', async () => {
    const asked = { url: 'https://x.test/a', asked: '1', said: 'one' }
    const other = { ...asked, asked: '2', said: 'two' }
    expect(kinds(await compared(made(asked), made(other)))).toEqual(['request', 'response tainted'])
    const failed = { ...asked, end: 'upstream-reset' as const }
    expect(kinds(await compared(made(asked), made(failed)))).toEqual(['response'])
  })

  it('name the header where nothing else differs', async () => {
    const [a, b] = made({}, { askedWith: [['anthropic-beta', 'x']] }) as [
      HttpExchange,
      HttpExchange,
    ]
    const { first } = await compared([a], [{ ...b, key: 'f'.repeat(64) as HttpExchange['key'] }])
    expect(first).toMatchObject({ kind: 'request', path: expect.stringContaining('POST') })
    expect(first?.changes[0]?.pointer).toMatch(/^\/headers\//)
  })

  it('13. go-cloud#770: requests that run beside each other may finish in any order', async () => {
    const urls = ['a', 'b', 'c'].map((name): MadeUp => ({ url: `https://x.test/${name}` }))
    const found = await compared(made(...urls), made(...urls.toReversed()))
    expect(found.same).toBe(true)
    expect(kinds(found).every((kind) => kind === 'order soft')).toBe(true)
  })

  it('show a call that only one of them made', async () => {
    const [a, b] = made({ url: 'https://x.test/a' }, { url: 'https://x.test/b' })
    const found = await compared([a, b] as HttpExchange[], [a] as HttpExchange[])
    expect(found.first).toMatchObject({ kind: 'missing', path: 'POST https://x.test/b' })
    const back = await compared([a] as HttpExchange[], [a, b] as HttpExchange[])
    expect(back.first).toMatchObject({ kind: 'extra', right: { seq: 4 } })
  })

  it('compare bodies that lie out of line, and those that came packed, by what they say', async () => {
    const page = 'a line of text. '.repeat(1000)
    const big = (end: string) =>
      made({ said: `${page}${end}`, saidWith: [['content-type', 'text/plain']] })
    expect((await compared(big('x'), big('x'))).same).toBe(true)
    expect((await compared(big('x'), big('y'))).first).toMatchObject({
      kind: 'response',
      changes: [{ pointer: '/body' }],
    })
    const saidWith = [['content-encoding', 'gzip']] as const
    const packed = made({ said: gzipSync('{"a":1}'), saidWith })
    expect((await compared(packed, made({ said: '{"a":1}' }))).same).toBe(true)
  })
})
