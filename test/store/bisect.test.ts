import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { memory, openStore, type Run } from '../../src/index.js'
import { type Bisection, bisectRuns } from '../../src/store/bisect.js'

type Agent = (run: Run) => Promise<unknown>

async function bisected(good: Agent, bad: Agent, step?: string): Promise<Bisection> {
  let time = 0
  const store = await openStore(memory(), { now: () => ++time })
  for (const [id, agent] of Object.entries({ good, bad })) {
    const run = await store.createRun({ id })
    await agent(run).catch(() => undefined)
    await run.close()
  }
  const sides = { good: await store.inspectRun('good'), bad: await store.inspectRun('bad') }
  const found = await bisectRuns({ ...sides, ...(step === undefined ? {} : { step }) })
  await store.close()
  return found
}

/** A chain in short: `fetch(output) inferred> llm(input,output)`. */
function told({ chain }: Bisection): string {
  return chain
    .map(({ path, kinds, by }) => `${by === undefined ? '' : `${by}> `}${path}(${kinds.join(',')})`)
    .join(' ')
}

/** A program of steps, each of which makes something of what it is given. */
interface Plan {
  readonly uses: readonly number[]
  readonly inside: boolean
}

const plans = fc.array(
  fc.record({ uses: fc.uniqueArray(fc.nat(), { maxLength: 3 }), inside: fc.boolean() }),
  { minLength: 1, maxLength: 10 },
)

/** @param odd The step that gives something else. */
function program(list: readonly Plan[], odd?: number): Agent {
  return async (run) => {
    const outputs: { text: string }[] = []
    for (const [at, { uses, inside }] of list.entries()) {
      const given = at === 0 ? [] : [...new Set(uses.map((use) => use % at))]
      const input = { given: given.map((one) => outputs[one]) }
      const words = input.given.map((one) => one?.text.length).join(' ')
      const made = `step ${at}${at === odd ? ' in a bad mood' : ''} made this of ${words} words`
      const work = () => ({ text: `${made} ${input.given.map((one) => one?.text).join()}` })
      outputs.push(
        await run.step(`s${at}`, input, (step) =>
          inside ? step.step('inner', { at }, () => work()) : work(),
        ),
      )
    }
  }
}

describe('bisect', () => {
  it('begins each chain at the one step that gave something else, and each link stands on the one before', async () => {
    await fc.assert(
      fc.asyncProperty(plans, fc.nat(), async (list, pick) => {
        const odd = pick % list.length
        const found = await bisected(program(list), program(list, odd))
        const root = list[odd]?.inside ? `s${odd}/inner` : `s${odd}`
        expect([found.first?.path, found.first?.kind]).toEqual([root, 'output'])
        expect(found.chain[0]?.path).toBe(root)
        for (const [at, { path, by, pieces = [] }] of found.chain.entries()) {
          if (at === 0) continue
          const before = found.chain[at - 1]?.path ?? ''
          if (by === 'outcome') expect(before.startsWith(`${path}/`)).toBe(true)
          else {
            expect(by).toBe('inferred')
            const uses = list[Number(path.slice(1))]?.uses.map((use) => use % Number(path.slice(1)))
            expect(uses).toContain(Number(before.slice(1)))
            expect(pieces.length).toBeGreaterThan(0)
          }
        }
      }),
      { numRuns: 60 },
    )
  })

  it('finds nothing between two runs of the same', async () => {
    await fc.assert(
      fc.asyncProperty(plans, async (list) => {
        const found = await bisected(program(list), program(list))
        expect([found.first, found.chain, found.diff.same]).toEqual([undefined, [], true])
      }),
      { numRuns: 20 },
    )
  })

  const agent =
    (price: number): Agent =>
    async (run) => {
      const noise = await run.step('noise', {}, () => ({ text: `noise that is its own: ${price}` }))
      const page = await run.step('fetch', { url: 'https://example.com/price' }, () => ({
        price,
        page: 'the page of the shop',
        note: `it costs ${price} in this shop`,
      }))
      await run.step('log', { noise }, () => 'logged')
      const plan = await run.step('plan', { page }, () => ({ buy: price < 20, at: page.note }))
      await run.step('buy', { plan }, () => {
        if (!plan.buy) throw new Error('that is too dear')
        return 'bought'
      })
    }

  it('ends at the first step that failed in the bad run, and leaves out what did not lead there', async () => {
    const found = await bisected(agent(12), agent(21))
    expect(found.target).toBe('failed')
    expect(told(found)).toBe(
      'fetch(output) inferred> plan(input,output) inferred> buy(input,status)',
    )
    expect(found.chain[1]?.pieces).toEqual([{ from: '/output', to: '/input/page' }])
    // What is earliest need not be what led there: both are said.
    expect(found.first?.path).toBe('noise')
  })

  it('explains any step that is asked about', async () => {
    const found = await bisected(agent(12), agent(21), 'n3')
    expect(told(found)).toBe('noise(output) inferred> log(input)')
    await expect(bisected(agent(12), agent(21), 'n9')).rejects.toMatchObject({
      code: 'USAGE',
      data: { step: 'n9' },
    })
    await expect(bisected(agent(12), agent(12), 'n1')).rejects.toMatchObject({ code: 'USAGE' })
  })

  it('takes the value at the place that differs for the cause, not just any value of a step that differs', async () => {
    const flow =
      (mood: string): Agent =>
      async (run) => {
        const a = await run.step('a', {}, () => ({
          same: 'a part that is the same',
          n: mood.length,
        }))
        const b = await run.step('b', {}, () => ({ text: `a text in a ${mood} mood` }))
        await run.step('c', { left: a.same, right: b }, () => 'fine')
      }
    const found = await bisected(flow('good'), flow('terrible'))
    expect(told(found)).toBe('b(output) inferred> c(input)')
  })

  it('says where only the order speaks: a step that another branch was taken to', async () => {
    const flow =
      (yes: boolean): Agent =>
      async (run) => {
        const go = await run.step('decide', {}, () => yes)
        if (go) await run.step('left', { at: 1 }, () => 'ok')
        else
          await run.step('right', { at: 2 }, async (step) => {
            await step.step('deep', {}, () => {
              throw new Error('no such thing')
            })
          })
      }
    const found = await bisected(flow(true), flow(false))
    expect(found.first).toMatchObject({ kind: 'output', path: 'decide' })
    expect(told(found)).toBe('decide(output) before> right(extra) nested> right/deep(extra)')
  })

  it('follows an input into the steps inside', async () => {
    const flow =
      (task: string): Agent =>
      (run) =>
        run.step('agent', { task }, async (step) => {
          await step.step('search', { q: `look for ${task}` }, () => 'found')
        })
    const found = await bisected(flow('shoes'), flow('hats'))
    expect(told(found)).toBe('agent(input) nested> agent/search(input)')
  })
})
