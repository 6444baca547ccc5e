import { describe, expect, it } from 'vitest'
import { daglog, json, say, sharedWorkplace } from './command.js'

interface Shop {
  cart: { sku: string; count: number }[]
  'odd/~key': number
  page?: string
  since?: Date
}

/** Seqs of the states: 1 the first, 3 with more in the cart, 4 with a page, 5 without odd key. */
const shared = sharedWorkplace(async (store) => {
  const run = await store.run('shop')
  await run.append('state/write', {
    value: { cart: [{ sku: 'tea', count: 1 }], 'odd/~key': 7, since: new Date(5) },
  })
  await run.append('note', { page: 'p'.repeat(200_000) })
  await run.setState<Shop>((draft) => {
    draft.cart.push({ sku: 'milk', count: 2 })
  })
  await run.setState<Shop>((draft) => {
    draft.page = 'page '.repeat(100_000)
  })
  await run.setState<Partial<Shop>>((draft) => {
    delete draft['odd/~key']
  })
  await run.close()
  await (await store.fork('shop', { at: 3, id: 'fork' })).close()
  await (await store.run('bare')).close()
})

const FIRST = '{"cart":[{"count":1,"sku":"tea"}],"odd/~key":7,"since":"1970-01-01T00:00:00.005Z"}'
const MORE =
  '{"cart":[{"count":1,"sku":"tea"},{"count":2,"sku":"milk"}],"odd/~key":7,"since":"1970-01-01T00:00:00.005Z"}'

describe('state', () => {
  it('prints the state as of an event, or as the run ended, as JSON with its keys in order', async () => {
    const { cwd } = shared
    expect(await say(['state', 'shop@1'], { cwd })).toBe(FIRST)
    expect(await say(['state', 'shop@2'], { cwd })).toBe(FIRST)
    expect(await say(['state', 'shop@3'], { cwd })).toBe(MORE)
    expect(JSON.parse(await say(['state', 'shop'], { cwd }))).toEqual({
      cart: JSON.parse(MORE).cart,
      page: 'page '.repeat(100_000),
      since: '1970-01-01T00:00:00.005Z',
    })
  })

  it('prints a part of it', async () => {
    const { cwd } = shared
    expect(await say(['state', 'shop@3', '/cart/1/sku'], { cwd })).toBe('"milk"')
    expect(await say(['state', 'shop@3', '/odd~1~0key'], { cwd })).toBe('7')
    expect(await say(['state', 'shop@3', '/cart/1'], { cwd })).toBe('{"count":2,"sku":"milk"}')
  })

  it('says for programs what it is of, and what JSON cannot carry', async () => {
    const { cwd } = shared
    const whole = await json(['state', 'shop@1'], { cwd })
    expect(whole).toMatchObject({
      code: 0,
      doc: {
        schema: 'daglog.state/1',
        ok: true,
        run: 'shop',
        seq: 1,
        root: expect.stringMatching(/^[0-9a-f]{64}$/),
        pointer: '',
        value: JSON.parse(FIRST),
        enc: [['/since', 'date']],
      },
    })
    const part = await json(['state', 'shop', '/cart'], { cwd })
    expect(part.doc).toMatchObject({ seq: 5, pointer: '/cart', value: JSON.parse(MORE).cart })
    expect(part.doc).not.toHaveProperty('enc')
  })

  it("of a fork begins as its parent's", async () => {
    expect(await say(['state', 'fork'], { cwd: shared.cwd })).toBe(MORE)
  })

  it.each([
    [['state', 'bare'], 'run bare has no state'],
    [['state', 'shop@0'], 'run shop has no state at seq 0'],
    [['state', 'shop@99'], 'has no event 99'],
    [['state', 'shop', '/cart/5/sku'], 'the state of run shop has nothing at /cart/5'],
    [['state', 'shop', '/cart/length'], 'nothing at /cart/length'],
    [['state', 'shop', '/cart/0/sku/0'], 'nothing at /cart/0/sku/0'],
    [['state', 'shop', 'cart'], 'try: /cart'],
    [['diff', 'bare@0', 'bare'], 'run bare has no state'],
  ])('%j ends with 4 and says what is not there', async (args, text) => {
    const { code, out, err } = await daglog(args, { cwd: shared.cwd })
    expect([code, out]).toEqual([4, ''])
    expect(err.replace('\ntry: ', ' try: ')).toContain(text)
  })
})

describe('diff of two states of a run', () => {
  it('says what changed, by pointer', async () => {
    const { code, out } = await daglog(['diff', 'shop@1', 'shop@5'], { cwd: shared.cwd })
    expect(code).toBe(1)
    expect(out.split('\n')).toEqual([
      'state  shop  seq 1 -> seq 5',
      '- /odd~1~0key  7',
      expect.stringMatching(/^\+ \/page {2}"page page .*…$/),
      '+ /cart/1  {"count":2,"sku":"milk"}',
      'different  3 changes',
      '',
    ])
  })

  it('says so where nothing changed, also against the end', async () => {
    const { cwd } = shared
    const same = await daglog(['diff', 'shop@1', 'shop@2'], { cwd })
    expect([same.code, same.out]).toEqual([0, 'state  shop  seq 1 -> seq 2\nsame  0 changes\n'])
    expect((await daglog(['diff', 'shop', 'shop@5'], { cwd })).code).toBe(0)
  })

  it('goes either way, and counts what it does not show', async () => {
    const { cwd } = shared
    const back = await daglog(['diff', 'shop@3', 'shop@1', '--limit', '1'], { cwd })
    expect(back.out).toContain('- /cart/1  {"count":2,"sku":"milk"}\ndifferent  1 change\n')
    const cut = await daglog(['diff', 'shop@5', 'shop@1', '--limit', '1'], { cwd })
    expect(cut.out).toContain('2 more changes; --limit 0 shows all\ndifferent  3 changes\n')
    const born = await daglog(['diff', 'shop@0', 'shop@1'], { cwd })
    expect([born.code, born.out]).toEqual([1, expect.stringContaining('+ (all of it)  {')])
  })

  it('is one document for programs', async () => {
    const { code, doc } = await json(['diff', 'shop@1', 'shop@3'], { cwd: shared.cwd })
    const root = expect.stringMatching(/^[0-9a-f]{64}$/)
    expect({ code, doc }).toEqual({
      code: 1,
      doc: {
        schema: 'daglog.state-diff/1',
        ok: false,
        run: 'shop',
        left: { seq: 1, root },
        right: { seq: 3, root },
        same: false,
        changes: [{ op: 'add', pointer: '/cart/1', right: { count: 2, sku: 'milk' } }],
      },
    })
  })

  it('is refused for two runs, which are compared whole', async () => {
    const { cwd } = shared
    const { code, err } = await daglog(['diff', 'shop@1', 'fork@0'], { cwd })
    expect(code).toBe(2)
    expect(err).toContain('try: daglog diff shop fork')
    expect((await daglog(['diff', 'shop', 'shop'], { cwd })).out).toContain('0 of 0 steps the same')
  })
})

describe('show and events', () => {
  it('say in its place what lies out of line', async () => {
    const { cwd } = shared
    for (const args of [
      ['show', 'shop'],
      ['events', 'shop'],
      ['events', 'shop', '--refs'],
    ]) {
      const text = await say(args, { cwd })
      expect(text).toMatch(/ note .*\{"page":<200\.0 kB text [0-9a-f]{6}…>\}/)
      expect(text).toMatch(/ state\/write .*\{"value":<tree [0-9a-f]{6}…>\}/)
    }
  })
})
