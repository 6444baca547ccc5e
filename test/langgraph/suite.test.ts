/**
 * LangGraph's own suite for savers, held to ours under its own name: all of it, and nothing
 * skipped.
 * (Its command line is broken in 1.1.1; what it exports works.)
 */
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  type RunnerTask,
  type RunnerTestCase,
} from 'vitest'
import { memory, openStore, type Store } from '../../src/index.js'
import { typeCheck } from '../real/type-check.js'
import { real, type Saver, saverOver } from './savers.js'

/**
 * What it counted when the version in the lockfile was taken in: 718, and 8 about delta channels.
 */
const TESTS = 726

if (real.skip === undefined) {
  // The suite takes these from the global object, while it is collected.
  Object.assign(globalThis, { describe, it, expect, beforeAll, beforeEach, afterAll, afterEach })
  const suite = await real.load('@langchain/langgraph-checkpoint-validation')
  const stores = new Map<Saver, Store>()
  const initializer = {
    checkpointerName: 'DaglogSaver',
    async createCheckpointer() {
      const store = await openStore(memory(), { onNotice: () => {} })
      const saver = await saverOver(store)
      stores.set(saver, store)
      return saver
    },
    async destroyCheckpointer(saver: Saver) {
      const store = stores.get(saver) as Store
      stores.delete(saver)
      expect((await store.verify()).ok).toBe(true)
      await store.close()
    },
  }
  suite.validate(initializer)
  suite.deltaChannelHistoryTests(initializer)
}

describe.skipIf(real.skip !== undefined)('the suite of LangGraph', () => {
  it(`was run whole: ${TESTS} of ${TESTS}, none skipped`, ({ task }) => {
    const theirs = task.file.tasks.filter(({ name }) => name.startsWith('DaglogSaver'))
    const all = testsIn(theirs)
    const passed = all.filter(({ mode, result }) => mode === 'run' && result?.state === 'pass')
    expect([passed.length, all.length]).toEqual([TESTS, TESTS])
  })
})

describe.skipIf(real.skip !== undefined)('the types of LangGraph', () => {
  it('are fitted by ours: a graph takes it to the compiler too', async () => {
    expect(await typeCheck('langgraph')).toBe('')
  })
})

function testsIn(tasks: readonly RunnerTask[]): RunnerTestCase[] {
  return tasks.flatMap((task) => ('tasks' in task ? testsIn(task.tasks) : [task]))
}
