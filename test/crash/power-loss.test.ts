import { randomBytes } from 'node:crypto'
import { it } from 'vitest'
import { killThenLosePower, losePower, type Scenario, type Stage } from './power-loss.js'

const LARGE = 'large '.repeat(1000)
async function withRun({ machine, ledger }: Stage, id = 'r') {
  const { store } = await machine.start()
  const run = await store.run(id)
  await ledger.append(run, [['note', { first: true }]])
  await run.close()
  await store.close()
}

async function bundleOf() {
  const { openStore, memory } = await import('../../src/index.js')
  const store = await openStore(memory())
  const run = await store.run('r')
  for (let n = 0; n < 3; n += 1) await run.append('note', { n, text: LARGE + n })
  await run.appendAll([
    { type: 'note', data: 1 },
    { type: 'note', data: 2 },
  ])
  await run.close()
  const parts = []
  for await (const part of await store.exportBundle('r')) parts.push(part)
  return Buffer.concat(parts)
}

const scenarios: Record<string, Scenario> = {
  create: {
    async play({ machine, ledger }) {
      const { store } = await machine.start()
      const run = await store.createRun({ id: 'r', name: 'named' })
      await ledger.append(run, [['note']])
      await run.close()
      await store.close()
    },
  },
  single: {
    before: withRun,
    async play({ machine, ledger }) {
      const { store } = await machine.start()
      const run = await store.openRun('r')
      for (let n = 0; n < 3; n += 1) await ledger.append(run, [['note', { n }]])
      await store.close()
    },
  },
  group: {
    before: withRun,
    async play({ machine, ledger }) {
      const { store } = await machine.start()
      const run = await store.openRun('r')
      await Promise.all([0, 1, 2, 3].map((n) => ledger.append(run, [['note', { n }]])))
      await Promise.all([0, 1].map((n) => ledger.append(run, [['note', { n }]])))
      await store.close()
    },
  },
  atomic: {
    before: withRun,
    async play({ machine, ledger }) {
      const { store } = await machine.start()
      const run = await store.openRun('r')
      await ledger.append(run, [['note'], ['note'], ['note']])
      await Promise.all([
        ledger.append(run, [['note'], ['note']]),
        ledger.append(run, [['note'], ['note'], ['note']]),
      ])
      await store.close()
    },
  },
  values: {
    before: withRun,
    async play({ machine, ledger }) {
      const { store } = await machine.start()
      const run = await store.openRun('r')
      await ledger.append(run, [['note', { text: `${LARGE}0` }]])
      await ledger.append(run, [
        ['note', { a: `${LARGE}1`, b: `${LARGE}2` }],
        ['note', { a: `${LARGE}0` }],
        ['note', { c: `${LARGE}3` }],
      ])
      await Promise.all([4, 5].map((n) => ledger.append(run, [['note', { text: `${LARGE}${n}` }]])))
      await store.close()
    },
  },
  seal: {
    before: withRun,
    async play({ machine, ledger }) {
      const { store } = await machine.start()
      const run = await store.openRun('r')
      await ledger.append(run, [['note', { text: `${LARGE}0` }]])
      await run.end()
      await store.close()
    },
  },
  turns: {
    before: withRun,
    async play({ machine, ledger }) {
      const { store } = await machine.start()
      const run = await store.openRun('r')
      for (let turn = 1; turn < 3; turn += 1) {
        await ledger.append(run, [['turn/start', { turn }]])
        await ledger.append(run, [['note', { turn }]])
        await ledger.append(run, [['turn/end', { turn, reason: 'completed' }]])
      }
      await store.close()
    },
  },
  taking: {
    before: withRun,
    async play({ machine, ledger }) {
      const { store } = await machine.start()
      const other = await machine.start()
      for (const s of [store, other.store, store]) {
        const run = await s.openRun('r')
        await ledger.append(run, [['note']])
        await run.close()
      }
      await store.close()
    },
  },
  takeover: {
    before: withRun,
    async play({ machine, ledger }) {
      const one = await machine.start()
      const run = await one.store.openRun('r')
      await ledger.append(run, [['note', { text: `${LARGE}0` }]])
      one.kill()
      const other = await machine.start()
      const again = await other.store.openRun('r')
      await ledger.append(again, [['note', { text: `${LARGE}1` }]])
      other.kill()
      const third = await machine.start()
      const last = await third.store.openRun('r')
      await ledger.append(last, [['note', { text: `${LARGE}2` }]])
      await third.store.close()
    },
  },
  chunks: {
    before: withRun,
    async play({ machine, ledger }) {
      const { store } = await machine.start()
      const run = await store.openRun('r')
      for (let n = 0; n < 3; n += 1)
        await ledger.append(run, [['assistant/chunk', { n }]], { durable: false })
      await ledger.append(run, [['note']])
      await ledger.append(run, [['assistant/chunk', { text: `${LARGE}1` }]], { durable: false })
      await store.close()
    },
  },
  os: {
    before: withRun,
    async play({ machine, ledger }) {
      const { store } = await machine.start({ durability: 'os' })
      const run = await store.openRun('r')
      await ledger.append(run, [['turn/start', { turn: 1 }]], { durable: false })
      await ledger.append(run, [['note', { text: `${LARGE}1` }]], { durable: false })
      await ledger.append(run, [['turn/end', { turn: 1, reason: 'completed' }]], { durable: false })
      await ledger.append(run, [['note']], { durable: false })
      await store.close()
    },
  },
  direct: {
    before: withRun,
    async play({ machine, ledger }) {
      const { store } = await machine.start()
      const run = await store.openRun('r')
      const big = randomBytes(1024 * 1024)
        .toString('latin1')
        .slice(0, 900_000)
      await Promise.all([
        ledger.append(run, [['note', { text: big }]]),
        ledger.append(run, [['note', { text: `${big}and more` }]]),
      ])
      const other = await store.run('s')
      await ledger.append(other, [['note', { text: big }]])
      await store.close()
    },
  },
  import: {
    async before(stage) {
      await withRun(stage, 's')
    },
    async play({ machine, ledger }) {
      const { store } = await machine.start()
      const bundle = await bundleOf()
      await store.importBundle({
        name: 'bundle',
        bytes: bundle.length,
        read: async (from, length) => bundle.subarray(from, from + length),
      })
      await store.close()
    },
  },
  cold: {
    async before({ machine, ledger }) {
      const { store } = await machine.start()
      const run = await store.run('r')
      for (let n = 0; n < 30; n += 1)
        await ledger.append(run, [['note', { text: 'x'.repeat(3000) }]])
      await run.close()
      await store.close()
    },
    async play({ machine, ledger }) {
      const { store } = await machine.start()
      const run = await store.openRun('r')
      await ledger.append(run, [['note', { last: true }]])
      await run.end()
      const again = await store.openRun('r')
      await ledger.append(again, [['note', { again: true }]])
      await store.close()
    },
  },
  heads: {
    async before({ machine, ledger }) {
      const { store } = await machine.start()
      const run = await store.run('r')
      for (let turn = 1; turn < 34; turn += 1) {
        await ledger.append(run, [
          ['turn/start', { turn }],
          ['turn/end', { turn, reason: 'completed' }],
        ])
      }
      await run.close()
      await store.close()
    },
    async play({ machine, ledger }) {
      const { store } = await machine.start()
      const run = await store.openRun('r')
      for (let turn = 34; turn < 70; turn += 1) {
        await ledger.append(run, [
          ['turn/start', { turn }],
          ['turn/end', { turn, reason: 'completed' }],
        ])
        await run.release()
      }
      await store.close()
    },
  },
  delete: {
    async before(stage) {
      await withRun(stage, 'r')
      const { store } = await stage.machine.start()
      const run = await store.openRun('r')
      await stage.ledger.append(run, [['note', { text: `${LARGE}0` }]])
      await store.close()
      await withRun(stage, 's')
    },
    async play({ machine, ledger }) {
      const { store } = await machine.start()
      ledger.forget('r')
      await store.deleteRun('r')
      await store.close()
    },
  },
}

async function sequel({ machine, ledger }: Stage) {
  const { store } = await machine.start()
  const run = await store.run('r')
  await ledger.append(run, [['note', { text: LARGE, sequel: true }]])
  await run.close()
}
const which = process.env.WHICH
for (const [name, scenario] of Object.entries(scenarios)) {
  if (which && !which.split(',').includes(name)) continue
  if (!process.env.KILL)
    it(name, async () => {
      const start = performance.now()
      const tally = await losePower(scenario, {
        limit: Number(process.env.LIMIT ?? 20),
        disk: { pageBytes: 256 },
      })
      console.log(
        name,
        { ...tally, findings: [...new Set(tally.findings.map((f) => `${f.moment} => ${f.what}`))] },
        performance.now() - start,
      )
    }, 600_000)
  else
    it(`${name} killed`, async () => {
      const start = performance.now()
      const tally = await killThenLosePower(scenario, sequel, {
        limit: Number(process.env.LIMIT ?? 6),
        disk: { pageBytes: 256 },
      })
      console.log(
        name,
        { ...tally, findings: [...new Set(tally.findings.map((f) => `${f.moment} => ${f.what}`))] },
        performance.now() - start,
      )
    }, 600_000)
}
