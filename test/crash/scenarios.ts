/**
 * What stores are used for, each as small as it can be, so that nearly every way to lose power in
 * it can be visited.
 */
import { createHash } from 'node:crypto'
import { memory, openStore, type Run } from '../../src/index.js'
import { type MachineProcess, STORE_ROOT } from './machine.js'
import type { Scenario, Stage } from './power-loss.js'

/** A value that goes out of line. */
export function large(n: number): string {
  return `${n} large `.repeat(700)
}

/** Text that neither repeats nor compresses. */
function noise(bytes: number): string {
  let text = ''
  for (let n = 0; text.length < bytes; n += 1)
    text += createHash('sha512').update(`${n}`).digest('base64')
  return text
}

/** One process with run `r` open, which closes in good order. */
async function withRun(
  { machine }: Stage,
  use: (run: Run, process: MachineProcess) => Promise<void>,
): Promise<void> {
  const process = await machine.start()
  await use(await process.store.run('r'), process)
  await process.store.close()
  process.kill()
}

/** A store with run `r`, which has an event. */
async function before(stage: Stage): Promise<void> {
  await withRun(stage, (run) => stage.ledger.append(run, [['note']]))
}

/** Go on with run `r`, whoever left it: what a program does that is started again. */
export async function goOn(stage: Stage, id = 'r'): Promise<void> {
  const process = await stage.machine.start()
  const run = await process.store.run(id)
  await stage.ledger.append(run, [['note', { text: large(99) }]])
  await process.store.close()
  process.kill()
}

async function turn(stage: Stage, run: Run, number: number): Promise<void> {
  const { ledger } = stage
  await ledger.append(run, [['turn/start', { turn: number }]])
  await ledger.append(run, [['note', { text: large(number) }]])
  await ledger.append(run, [['turn/end', { turn: number, reason: 'completed' }]])
}

const create: Scenario = {
  async play({ machine, ledger }) {
    const { store } = await machine.start()
    const run = await store.createRun({ id: 'r', name: 'named', tags: ['new'] })
    await ledger.append(run, [['note']])
    await store.close()
  },
}

const appends: Scenario = {
  before,
  play: (stage) =>
    withRun(stage, async (run) => {
      for (let n = 0; n < 3; n += 1) await stage.ledger.append(run, [['note', { n }]])
    }),
}

const groups: Scenario = {
  before,
  play: (stage) =>
    withRun(stage, async (run) => {
      const append = (n: number): Promise<void> => stage.ledger.append(run, [['note', { n }]])
      await Promise.all([1, 2, 3].map(append))
      await Promise.all([4, 5].map(append))
    }),
}

const atomic: Scenario = {
  before,
  play: (stage) =>
    withRun(stage, async (run) => {
      const append = (...types: string[]): Promise<void> =>
        stage.ledger.append(
          run,
          types.map((type) => [type]),
        )
      await append('note', 'note', 'note')
      await Promise.all([append('note', 'note'), append('note', 'note', 'note')])
    }),
}

const values: Scenario = {
  before,
  play: (stage) =>
    withRun(stage, async (run) => {
      const { ledger } = stage
      await ledger.append(run, [['note', { text: large(0) }]])
      await ledger.append(run, [
        ['note', { a: large(1), b: large(2) }],
        ['note', { a: large(0) }],
        ['note', { c: large(3) }],
      ])
      await Promise.all(
        [4, 5].map((n) => ledger.append(run, [['note', { text: large(0) + large(n) }]])),
      )
    }),
}

const states: Scenario = {
  before,
  play: (stage) =>
    withRun(stage, async (run) => {
      const { ledger } = stage
      const list = Array.from({ length: 40 }, (_, n) => ({ n, text: `item ${n}` }))
      await ledger.append(run, [['state/write', { list }]])
      await Promise.all([
        ledger.append(run, [['state/write', { list: [...list, 'next'] }]]),
        ledger.append(run, [['state/write', { list: [...list, 'next', 'last'] }], ['note']]),
      ])
    }),
}

/**
 * So large that it goes straight into a pack; and again, with a little more, and in another run.
 */
const packedValues: Scenario = {
  isLarge: true,
  before,
  play: (stage) =>
    withRun(stage, async (run, { store }) => {
      const { ledger } = stage
      const text = noise(1024 * 1024)
      await Promise.all([
        ledger.append(run, [['note', { text }]]),
        ledger.append(run, [['note', { text: `${text} and more` }]]),
      ])
      const other = await store.run('s')
      await ledger.append(other, [['note', { text }]])
    }),
}

const end: Scenario = {
  before,
  play: (stage) =>
    withRun(stage, async (run, { store }) => {
      const { ledger } = stage
      await ledger.append(run, [['note', { text: large(0) }]])
      await run.end()
      const again = await store.openRun('r')
      await ledger.append(again, [['note', { text: large(1) }]])
    }),
}

/** Ends with so many small packs that they are merged. */
const merge: Scenario = {
  async before(stage) {
    for (let n = 0; n < 15; n += 1) {
      await withRun(stage, async (run) => {
        await stage.ledger.append(run, [['note', { text: large(n) }]])
        await run.end()
      })
    }
  },
  play: (stage) =>
    withRun(stage, async (run) => {
      await stage.ledger.append(run, [['note', { text: large(15) }]])
      await run.end()
    }),
}

/** A log that is long enough to be laid to rest when its run ends, and goes on all the same. */
const rest: Scenario = {
  before: (stage) =>
    withRun(stage, async (run) => {
      for (let n = 0; n < 20; n += 1)
        await stage.ledger.append(run, [['note', { text: noise(3500) }]])
    }),
  play: (stage) =>
    withRun(stage, async (run, { store }) => {
      await stage.ledger.append(run, [['note']])
      await run.end()
      const again = await store.openRun('r')
      await stage.ledger.append(again, [['note']])
    }),
}

/** Heads are noted as turns end. */
const turns: Scenario = {
  before,
  play: (stage) =>
    withRun(stage, async (run) => {
      await turn(stage, run, 1)
      await turn(stage, run, 2)
    }),
}

/** So many heads that the list of runs is kept in the cache. */
const heads: Scenario = {
  before: (stage) =>
    withRun(stage, async (run) => {
      for (let n = 0; n < 61; n += 1) {
        await stage.ledger.append(run, [['note', { n }]])
        await run.release()
      }
    }),
  play: (stage) => withRun(stage, (run) => turn(stage, run, 1)),
}

/** Three processes, one after the other and back. */
const takingTurns: Scenario = {
  before,
  async play({ machine, ledger }) {
    const processes = [await machine.start(), await machine.start()]
    for (const n of [0, 1, 0]) {
      const run = await processes[n]!.store.openRun('r')
      await ledger.append(run, [['note', { text: large(n) }]])
      await run.close()
    }
    for (const { store } of processes) await store.close()
  },
}

/** Two die with the run open, one of them in a turn. */
const takeover: Scenario = {
  before,
  async play(stage) {
    const { machine, ledger } = stage
    for (const number of [1, 2]) {
      const { store, kill } = await machine.start()
      const run = await store.openRun('r')
      await ledger.append(run, [['turn/start', { turn: number }]])
      await ledger.append(run, [['note', { text: large(number) }]])
      kill()
    }
    await goOn(stage)
  },
}

/** A run that was left in a turn, with half an event and half an object at the end. */
export async function leaveTorn({ machine, disk, ledger }: Stage): Promise<void> {
  const { store, kill } = await machine.start()
  const run = await store.run('r')
  await ledger.append(run, [['turn/start', { turn: 9 }]])
  await ledger.append(run, [['note', { text: large(9) }]])
  await run.append('assistant/chunk', { message: 'm', pieces: [large(10)], times: [0] })
  kill()
  for (const name of ['log.000000.jsonl', 'objects.open']) {
    const path = `${STORE_ROOT}/runs/r/${name}`
    disk.cut(path, disk.sizeOf(path)! - 20)
  }
}

/** Cuts half an event and half an object, and closes a turn. */
const recovery: Scenario = { before: leaveTorn, play: goOn }

/** Chunks ride along unsynced until something is synced. */
const chunks: Scenario = {
  before,
  play: (stage) =>
    withRun(stage, async (run) => {
      const { ledger } = stage
      const chunk = (n: number, text?: string): Promise<void> =>
        ledger.append(run, [['assistant/chunk', { n, text }]], 'to the system')
      for (let n = 0; n < 3; n += 1) await chunk(n)
      await ledger.append(run, [['note']])
      await Promise.all([chunk(3), chunk(4, large(4))])
      await run.close()
      ledger.settle('r')
    }),
}

const handedToSystem: Scenario = {
  before,
  async play({ machine, ledger }) {
    const { store, kill } = await machine.start({ durability: 'os' })
    const run = await store.openRun('r')
    const append = (type: string, data?: object): Promise<void> =>
      ledger.append(run, [[type, data]], 'to the system')
    await append('turn/start', { turn: 1 })
    await append('note', { text: large(1) })
    await append('turn/end', { turn: 1, reason: 'completed' })
    await append('note')
    await run.close()
    ledger.settle('r')
    await store.close()
    kill()
  },
}

const deletion: Scenario = {
  async before(stage) {
    await before(stage)
    await withRun(stage, (run) => stage.ledger.append(run, [['note', { text: large(0) }]]))
    await stage.machine.start().then(async ({ store }) => {
      const run = await store.run('s')
      await stage.ledger.append(run, [['note', { text: large(0) }]])
      await store.close()
    })
  },
  async play({ machine, ledger }) {
    const { store } = await machine.start()
    ledger.leave('r')
    await store.deleteRun('r')
    ledger.erase('r')
    await store.close()
  },
  sequel: (stage) => goOn(stage, 's'),
}

/** Sealed objects of a deleted run are dropped, those of another kept. */
const collection: Scenario = {
  async before(stage) {
    await withRun(stage, async (run) => {
      await stage.ledger.append(run, [['note', { text: large(0) }]])
      await run.end()
    })
    const { store } = await stage.machine.start()
    const other = await store.run('s')
    await other.append('note', { text: large(1) + large(2), more: large(0) })
    await other.end()
    await store.deleteRun('s')
    await store.close()
  },
  async play(stage) {
    const process = await stage.machine.start()
    await process.store.gc()
    process.kill()
    await goOn(stage)
  },
}

function importing(): Scenario {
  let bundle = Buffer.alloc(0)
  const play = async ({ machine, ledger }: Stage): Promise<void> => {
    const { store, kill } = await machine.start()
    await store.importBundle({
      name: 'bundle',
      bytes: bundle.length,
      read: async (from, length) => bundle.subarray(from, from + length),
    })
    ledger.settle('r')
    await store.close()
    kill()
  }
  return {
    async before({ machine, ledger }) {
      const source = await openStore(memory())
      const run = await source.run('r')
      for (let n = 0; n < 3; n += 1)
        await ledger.append(run, [['note', { text: n === 1 ? large(n) : n }]], 'nothing')
      await run.close()
      const parts: Buffer[] = []
      for await (const part of await source.exportBundle('r')) parts.push(part)
      bundle = Buffer.concat(parts)
      await machine.start().then(({ store }) => store.close())
    },
    play,
    sequel: play,
  }
}

const deepPlace: Scenario = { ...create, root: '/home/someone/store' }

export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'creating a store and a run': create,
  'creating a store where no directory is': deepPlace,
  'one append after the other': appends,
  'appends that share a sync': groups,
  'atomic appends': atomic,
  'values out of line': values,
  'states that share their parts': states,
  'values of a MiB': packedValues,
  'ending a run': end,
  'merging packs': merge,
  'laying a log to rest': rest,
  'turns whose heads are noted': turns,
  'keeping the list of runs': heads,
  'processes taking turns': takingTurns,
  'taking over from dead processes': takeover,
  'recovering torn bytes': recovery,
  'chunks that ride along': chunks,
  'durability os': handedToSystem,
  'deleting a run': deletion,
  'collecting garbage': collection,
  'importing a bundle': importing(),
}
