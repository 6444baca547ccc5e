import { expect, it } from 'vitest'
import { DaglogError, type Run } from '../../src/index.js'
import type { DiskOperation } from '../../src/testing/disk-operation.js'
import { losePower, type Scenario, type Stage } from './power-loss.js'

const LARGE = 'large '.repeat(1000)
const show = (name: string, tally: any, ms: number) =>
  console.log(
    name,
    {
      ...tally,
      findings: [...new Set(tally.findings.map((f: any) => `${f.moment} => ${f.what}`))],
    },
    ms,
  )

/** Works on until everything is done, opening the run again after each failure. */
async function stubborn(
  { machine, ledger }: Stage,
  onFailure: (e: unknown) => void,
  durability: 'step' | 'os' = 'step',
): Promise<void> {
  const persist = async <R>(what: string, use: () => Promise<R>): Promise<R> => {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await use()
      } catch (error) {
        if (!(error instanceof DaglogError) || error.code !== 'WRITE_FAILED' || attempt > 0)
          throw new Error(`${what} attempt ${attempt}: ${(error as Error).stack}`)
        onFailure(error)
      }
    }
  }
  const { store } = await persist('start', () => machine.start({ durability }))
  let run: Run | undefined
  const durable = durability === 'step'
  for (const [n, types] of [
    ['note'],
    ['assistant/chunk'],
    ['note'],
    ['turn/start'],
    ['note', 'note'],
    ['turn/end'],
  ].entries()) {
    await persist(`append ${n}`, async () => {
      try {
        run ??= await store.run('r')
        const text = n % 2 === 0 ? `${LARGE}${n}` : n
        await ledger.append(
          run,
          types.map((type) => [type, { text, turn: 1, reason: 'completed' }] as const),
          { durable: durable && types[0] !== 'assistant/chunk' },
        )
      } catch (error) {
        await run?.close().catch(() => {})
        run = undefined
        throw error
      }
    })
  }
  await persist('close', async () => store.close())
}

const SYNCS = new Set(['sync', 'syncNow', 'syncDir'])
it.each(['step', 'os'] as const)(
  'EIO %s',
  async (durability) => {
    for (let k = 0; k < 200; k += 1) {
      let seen = 0
      let left = 0
      let failed = ''
      const scenario: Scenario = {
        async play(stage) {
          stage.disk.failNext(
            (op: DiskOperation) => {
              if (!SYNCS.has(op.name)) return false
              seen += 1
              if (seen === k + 1) failed = `${op.name} ${op.path}`
              return seen === k + 1
            },
            { code: 'EIO' },
          )
          await stubborn(stage, () => {}, durability)
          left = stage.disk.faultsLeft
        },
      }
      const start = performance.now()
      try {
        const tally = await losePower(scenario, {
          limit: Number(process.env.LIMIT ?? 4),
          mayStayOpen: true,
          disk: { pageBytes: 256 },
        })
        if (tally.findings.length > 0) show(`EIO ${k} ${failed}`, tally, performance.now() - start)
      } catch (error) {
        console.log(`EIO ${k} ${failed}`, (error as Error).message)
      }
      if (left > 0) {
        console.log(`${k} syncs`)
        return
      }
    }
    expect(1).toBe(2)
  },
  600_000,
)
