import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { daglog, json, say, sharedWorkplace, workplace } from './command.js'

const DAY = Date.parse('2026-11-05T12:00:00Z')

describe('daglog search', () => {
  const place = sharedWorkplace(async (store) => {
    const run = await store.createRun({ id: 'first' })
    await run.append('note', { text: 'a needle, \u001b[31mred\u001b[0m' })
    await run.append('page', { page: `${'hay '.repeat(2000)}needle` })
    await run.close()
    const second = await store.createRun({ id: 'second' })
    await second.append('page', { page: 'no such thing' })
    await second.close()
  })

  it('prints RUN:SEQ with what stands around, in characters that a terminal only shows', async () => {
    const { code, out, err } = await daglog(['search', 'needle'], place)
    expect(code).toBe(0)
    expect(out.split('\n')[0]).toBe('first:1  note  {"text":"a needle, \\u001b[31mred\\u001b[0m"}')
    expect(out).toContain('first:2  page  ')
    expect(err).toBe('2 hits in 1 run\n')
  })

  it('says by its exit code whether there is one: 0 or 4', async () => {
    expect((await daglog(['search', 'nowhere at all'], place)).code).toBe(4)
    expect((await daglog(['search', 'needle', '--run', 'second'], place)).code).toBe(4)
    expect((await daglog(['search', 'needle', '--type', 'page'], place)).out).toMatch(/^first:2 /)
    expect((await daglog(['search', 'NEEDLE', '-i', '--limit', '1'], place)).out).toMatch(
      /^first:1 .*\n$/,
    )
  })

  it('is one document with --json, a hit a line with --jsonl', async () => {
    const { code, doc } = await json(['search', 'need[l]e', '--regex'], place)
    expect(code).toBe(0)
    expect(doc).toMatchObject({ schema: 'daglog.search/1', ok: true, count: 2, runs: 1 })
    const lines = (await say(['search', 'needle', '--jsonl'], place)).split('\n')
    expect(lines.map((line) => JSON.parse(line))).toEqual(doc.hits)
    const none = await json(['search', 'nowhere at all'], place)
    expect(none).toMatchObject({ code: 4, doc: { hits: [], count: 0, ok: true } })
  })

  it('refuses a pattern that is none with words', async () => {
    const { code, err } = await daglog(['search', '--regex', '('], place)
    expect(code).toBe(2)
    expect(err).toMatch(/^USAGE: .*\ncause: .*\ntry: /)
  })
})

describe('daglog usage', () => {
  const call = (model: string, inputTokens: number) => ({
    content: 'ok',
    model,
    usage: { inputTokens, outputTokens: 1000, cacheReadTokens: 500 },
  })

  async function spent() {
    return workplace(async (store) => {
      const run = await store.createRun({ id: 'spent' })
      await run.append('assistant/message', call('gpt-5-codex', 10_500))
      await run.append('assistant/message', call('house-model', 2_500))
      await run.close()
    })
  }

  it('prints a row for each group, and says what it does not know', async () => {
    const place = await spent()
    const { code, out, err } = await daglog(['usage', '--by', 'model'], place)
    expect(code).toBe(0)
    const rows = out.split('\n').map((line) => line.split(/ {2,}/))
    expect(rows[0]).toEqual([
      'model',
      'calls',
      'input',
      'cache write',
      'cache read',
      'output',
      'total',
      'cost',
    ])
    expect(rows[1]).toEqual(['gpt-5-codex', '1', '10,000', '0', '500', '1,000', '11,500', '$0.02'])
    expect(rows[2]).toEqual(['house-model', '1', '2,000', '0', '500', '1,000', '3,500', 'unknown'])
    expect(rows[3]?.at(-1)).toBe('at least $0.02')
    expect(err).toContain('1 call of house-model: the price is not known; try: --prices FILE')
  })

  it('takes prices of the user, and refuses what is none', async () => {
    const place = await spent()
    const prices = join(place.cwd, 'prices.json')
    const write = (value: unknown): void => writeFileSync(prices, JSON.stringify(value))
    write({ prices: [{ model: 'house-model', input: 1, output: 1, cacheRead: 1 }] })
    const { doc } = await json(['usage', '--prices', 'prices.json'], place)
    expect(doc).toMatchObject({
      schema: 'daglog.usage/1',
      ok: true,
      total: { calls: 2, callsUnknown: 0 },
      unknown: [],
    })
    expect((doc.total as unknown as { costKnown: number }).costKnown).toBeCloseTo(
      0.0225625 + 0.0035,
      5,
    )
    for (const wrong of [
      [],
      { prices: 1 },
      { prices: [{ model: 'x', input: -1, output: 1 }] },
      { prices: [{ model: 'x', input: 1, output: 1, from: 'soon' }] },
    ]) {
      write(wrong)
      expect((await daglog(['usage', '--prices', 'prices.json'], place)).code).toBe(2)
    }
    expect((await daglog(['usage', '--prices', 'gone.json'], place)).code).not.toBe(0)
  })

  it('keeps to the days that are asked for', async () => {
    const place = await workplace(async (store) => {
      const run = await store.createRun({ id: 'spent' })
      await run.append('assistant/message', call('gpt-5', 10_500))
      await run.close()
    })
    const calls = async (...flags: string[]): Promise<unknown> =>
      ((await json(['usage', ...flags], place)).doc.total as unknown as { calls: number }).calls
    const tomorrow = new Date(Date.now() + 48 * 3600 * 1000).toISOString().slice(0, 10)
    expect(await calls()).toBe(1)
    expect(await calls('--since', tomorrow)).toBe(0)
    expect(
      await calls('--until', new Date(DAY - 400 * 86_400_000).toISOString().slice(0, 10)),
    ).toBe(0)
    expect((await daglog(['usage', '--since', 'monday'], place)).code).toBe(2)
  })
})
