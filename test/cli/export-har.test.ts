import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { exchangeOfHar } from '../../src/http/har-exchange.js'
import { anyExchange, exchangeData } from '../http/exchanges.js'
import { daglog, json, workplace } from './command.js'

describe('daglog export --format har', () => {
  it('writes the exchanges of a run as one HAR 1.2', async () => {
    const made = fc.sample(anyExchange, { numRuns: 20, seed: 7 })
    const { cwd } = await workplace(async (store) => {
      const run = await store.createRun({ id: 'r' })
      await run.append('note', 'not HTTP')
      for (const exchange of made) await run.append('http/exchange', exchange)
    })
    const file = join(cwd, 'run.har')
    // Some of them have cookies.
    const args = ['export', 'r', '--format', 'har', '-o', file, '--allow-secrets']
    const { code, doc } = await json(args, { cwd })
    expect([code, doc]).toEqual([0, expect.objectContaining({ ok: true, format: 'har' })])
    const { log } = JSON.parse(readFileSync(file, 'utf8'))
    expect(log).toMatchObject({ version: '1.2', creator: { name: 'daglog' }, comment: 'run r' })
    expect(log.entries.map(exchangeOfHar)).toEqual(
      made.map((exchange) =>
        expect.objectContaining({ ours: expect.objectContaining({ key: exchange.key }) }),
      ),
    )
  })

  it('of a run without traffic is an empty one', async () => {
    const { cwd } = await workplace((store) => store.createRun({ id: 'r' }))
    const { code, out } = await daglog(['export', 'r', '--format', 'har'], { cwd })
    expect([code, JSON.parse(out).log.entries]).toEqual([0, []])
  })

  it('says what has no place in it, and exits with 5', async () => {
    const { cwd } = await workplace(async (store) => {
      const run = await store.createRun({ id: 'r' })
      await run.append('http/start', { ordinal: 1, method: 'GET', url: 'https://x.test/ok' })
      await run.append('http/start', { ordinal: 2, method: 'GET', url: 'https://x.test/cut' })
      await run.append('http/exchange', exchangeData({ ordinal: 1 }))
      await run.append('http/exchange', 'no exchange' as never)
      await run.append('http/gap', { from: 3, to: 4, count: 2, reason: 'ENOSPC' })
    })
    const { code, out, err } = await daglog(['export', 'r', '--format', 'har'], { cwd })
    expect(code).toBe(5)
    expect(JSON.parse(out).log.entries).toHaveLength(1)
    expect(err).toContain('left out: exchange 2, GET https://x.test/cut: it has no end')
    expect(err).toContain('left out: seq 4: it is not as a recorder writes an exchange')
    expect(err).toContain('left out: seq 5: exchanges that could not be recorded')
  })
})
