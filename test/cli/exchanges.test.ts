/**
 * What the command line says of a run with traffic.
 */
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { exchangeData } from '../http/exchanges.js'
import { daglog, json, say, sharedWorkplace } from './command.js'

const CHAT = 'https://api.example.com/v1/chat/completions'
const asked = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi there' }] })
const said = JSON.stringify({
  ...{ id: 'x', object: 'chat.completion', model: 'm' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
})
const packed = [
  ['content-type', 'application/json'],
  ['content-encoding', 'gzip'],
] as const

const place = sharedWorkplace(async (store) => {
  const run = await store.createRun({ id: 'r' })
  for (const [ordinal, path] of [CHAT, 'https://x.test/late', 'https://x.test/lost'].entries())
    await run.append('http/start', { ordinal: ordinal + 1, method: 'POST', url: path })
  await run.append('http/exchange', {
    ...exchangeData({ url: CHAT, asked, said: gzipSync(said), saidWith: packed, ordinal: 1 }),
    scrubbed: [{ at: 'request header authorization', count: 1 }],
  })
  await run.append('http/exchange', {
    ...exchangeData({ url: 'https://x.test/late', status: 500, ordinal: 2, end: 'upstream-reset' }),
    failure: { name: 'Error', message: 'socket hang up', code: 'ECONNRESET' },
  })
  await run.append('http/miss', {
    ...{ key: 'f'.repeat(64) as never, kind: 'exhausted', method: 'POST', url: CHAT },
    ...{ recorded: 3, asked: 4, nearest: [] },
  })
  await run.append('http/gap', { from: 5, to: 6, count: 2, reason: 'ENOSPC' })
  await run.append('http/exchange', { odd: true } as never)
  await run.close()
})

describe('a run with traffic', () => {
  it('is shown with a line an exchange, what it means below, and what was missed or has no end', async () => {
    const { cwd } = place
    const out = await say(['show', 'r'], { cwd })
    const line = (text: string) => out.split('\n').find((one) => one.includes(text)) ?? ''
    expect(line('chat/completions 200')).toMatch(
      /4 .* http\/exchange +POST https:\/\/api\.example\.com\/v1\/chat\/completions 200 {2}\d+ B → \d+ B {2}\d+ ms {2}1 secret scrubbed/,
    )
    expect(line('x.test/late')).toMatch(/500 .* upstream-reset \(ECONNRESET\)/)
    expect(line('missed POST')).toContain('exhausted: 3 recorded, asked 4 times')
    expect(line('ENOSPC')).toContain('2 exchanges were not recorded')
    expect(line('x.test/lost')).toContain('http/start')
    expect(out).toContain('open: exchange 3 POST https://x.test/lost')
    expect(out).toMatch(/^totals .*3 exchanges {2}1 missed {2}7 tokens in {2}3 tokens out/m)
    expect(line('user/message')).toContain('"hi there"')
    expect(line('assistant/message')).toContain('"hello"')
    expect(out.match(/http\/start/g)).toHaveLength(1)
    expect(line('"odd"')).toContain('http/exchange')
  })

  it('gives its messages, tokens and texts', async () => {
    const { cwd } = place
    expect(await say(['messages', 'r'], { cwd })).toContain('hello')
    const { doc: usage } = await json(['usage'], { cwd })
    expect(JSON.stringify(usage)).toContain('"inputTokens":7')
    expect(await say(['search', 'prompt_tokens'], { cwd })).toContain('r:4')
  })

  it('gives bodies as they were sent, and decoded on request (row 10)', async () => {
    const { cwd } = place
    const raw = await daglog(['cat', 'r:4:/response/body'], { cwd })
    expect(raw.bytes.equals(gzipSync(said))).toBe(true)
    expect(await say(['cat', '--decoded', 'r:4:/response/body'], { cwd })).toBe(said)
    expect(await say(['cat', '--decoded', 'r:4:/request/body'], { cwd })).toBe(asked)
    for (const what of ['r:1:/response/body', 'r:4:/request', 'a'.repeat(64)])
      expect((await daglog(['cat', '--decoded', what], { cwd })).code).toBe(2)
  })

  it('is shown to programs as it lies', async () => {
    const { doc } = await json(['show', 'r'], { cwd: place.cwd })
    expect(doc).toMatchObject({
      totals: { exchanges: 3, misses: 1 },
      open: { requests: [{ ordinal: 3, method: 'POST', url: 'https://x.test/lost' }] },
    })
    expect(
      (doc.events as unknown as { type: string }[]).filter(({ type }) => type === 'http/start'),
    ).toHaveLength(3)
  })
})
