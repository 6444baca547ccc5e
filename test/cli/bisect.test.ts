import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openStore } from '../../src/index.js'
import { temporaryDir } from '../store/temporary.js'
import { daglog } from './command.js'

async function shop(cwd: string, prices: Readonly<Record<string, number>>): Promise<void> {
  const store = await openStore(join(cwd, '.daglog'), { now: () => 1_790_000_000_000 })
  for (const [id, price] of Object.entries(prices)) {
    const run = await store.createRun({ id })
    const page = await run.step('fetch', { url: 'https://example.com' }, () => ({
      price,
      note: `it costs ${price} in this shop`,
    }))
    const buying = run.step('buy', { page }, () => {
      if (page.price > 20) throw new Error('that is too dear')
      return 'bought'
    })
    await buying.catch(() => undefined)
    await run.close()
  }
  await store.close()
}

describe('bisect', () => {
  it('says where two runs part, and how that came to what failed', async () => {
    const cwd = temporaryDir()
    await shop(cwd, { good: 12, bad: 21 })
    const { out, code } = await daglog(['bisect', 'good', 'bad'], { cwd })
    expect(out.split('\n')).toEqual([
      'good   good  2 steps',
      'bad    bad  2 steps',
      '',
      'they part at output of fetch  good n1 seq 2, bad n1 seq 2',
      '      /price  12 -> 21',
      '      /note  "it costs 12 in this shop" -> "it costs 21 in this shop"',
      '',
      'how that came to the first step that failed (in the bad run)',
      '  n1 fetch  seq 1-2  output',
      '  n2 buy  seq 3-4  input, status',
      '      was given a value of it',
      '        /output -> /input/page',
      '',
    ])
    expect(code).toBe(0)
  })

  it('prints one JSON document', async () => {
    const cwd = temporaryDir()
    await shop(cwd, { good: 12, bad: 21 })
    const { out } = await daglog(['bisect', 'good', 'bad', '--json'], { cwd })
    const { schema, ok, target, first, chain } = JSON.parse(out)
    expect([schema, ok, target]).toEqual(['daglog.bisect/1', true, 'failed'])
    expect(first).toMatchObject({ kind: 'output', path: 'fetch' })
    expect(chain.map(({ id }: { id: string }) => id)).toEqual(['n1', 'n2'])
  })

  it('exits with 4 where they part nowhere, and with 2 for a step that does not differ', async () => {
    const cwd = temporaryDir()
    await shop(cwd, { good: 12, same: 12, bad: 21 })
    expect(await daglog(['bisect', 'good', 'same'], { cwd })).toMatchObject({ code: 4 })
    const asked = await daglog(['bisect', 'good', 'bad', '--step', 'n7'], { cwd })
    expect([asked.code, asked.err]).toEqual([2, expect.stringContaining('has no step "n7"')])
  })
})
