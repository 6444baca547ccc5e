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
        if (!(error instanceof DaglogError) || error.kind !== 'environment' || attempt > 0)
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

type Fault = (stage: Stage, k: number) => { met: () => string; mend: () => void }
const failing =
  (code: string, test: (op: DiskOperation) => boolean): Fault =>
  ({ disk }, k) => {
    let seen = 0
    let met = ''
    disk.failNext(
      (op) => {
        if (!test(op)) return false
        seen += 1
        if (seen === k + 1) met = `${op.name} ${op.path} ${op.to ?? ''}`
        return seen === k + 1
      },
      { code },
    )
    return { met: () => met, mend: () => {} }
  }
const short =
  (kept: number): Fault =>
  ({ disk }, k) => {
    let seen = 0
    let met = ''
    disk.shortWriteNext((op) => {
      seen += 1
      if (seen === k + 1) met = `${op.name} ${op.path}`
      return seen === k + 1
    }, kept)
    return { met: () => met, mend: () => {} }
  }
const full =
  (kept: number): Fault =>
  ({ disk }, k) => {
    let seen = 0
    let met = ''
    const hook = disk.onOperation
    disk.onOperation = (op) => {
      hook?.(op)
      if (op.name !== 'append' || op.phase !== 'before') return
      seen += 1
      if (seen !== k + 1) return
      met = `${op.name} ${op.path}`
      disk.capacityBytes =
        [...disk.dump().values()].reduce((sum, { length }) => sum + length, 0) +
        Math.min(kept, op.bytes! - 1)
    }
    return {
      met: () => met,
      mend: () => {
        disk.capacityBytes = Infinity
      },
    }
  }
const CHANGES = new Set([
  'sync',
  'syncNow',
  'syncDir',
  'append',
  'truncate',
  'makeDir',
  'link',
  'rename',
  'remove',
  'removeTree',
])
const changes = (op: DiskOperation) =>
  CHANGES.has(op.name) || (op.name === 'openFile' && op.mode === 'create')
const faults: Record<string, Fault> = {
  EIO: failing('EIO', changes),
  read: failing('EIO', (op) => !changes(op) && op.name !== 'close'),
  short1: short(1),
  short0: short(0),
  short100: short(100),
  full0: full(0),
  full1: full(1),
  full100: full(100),
}
const which = process.env.WHICH
for (const [name, fault] of Object.entries(faults))
  for (const durability of ['step', 'os'] as const) {
    if (which && !which.split(',').includes(name)) continue
    it(`${name} ${durability}`, async () => {
      const start = performance.now()
      let states = 0
      for (let k = 0; k < 400; k += 1) {
        let met = ''
        const scenario: Scenario = {
          async play(stage) {
            const { met: m, mend } = fault(stage, k)
            try {
              await stubborn(stage, mend, durability)
            } finally {
              met = m()
              mend()
            }
          },
        }
        try {
          const tally = await losePower(scenario, {
            limit: Number(process.env.LIMIT ?? 2),
            mayStayOpen: true,
            disk: { pageBytes: 256 },
          })
          if (tally.findings.length > 0)
            show(`${name} ${durability} ${k} ${met}`, tally, performance.now() - start)
          states += tally.states
        } catch (error) {
          console.log(`${name} ${durability} ${k} ${met}`, (error as Error).message)
        }
        if (met === '') {
          console.log(
            `${name} ${durability}: ${k} places, ${states} states in ${performance.now() - start}`,
          )
          return
        }
      }
      expect(1).toBe(2)
    }, 600_000)
  }
