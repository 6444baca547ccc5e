import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Store } from '../../src/index.js'
import { parentLink } from '../../src/store/parent-link.js'
import { usageOfRuns } from '../../src/store/usage-of-runs.js'
import { temporaryStore } from './temporary.js'

const answer = (inputTokens: number) => ({ content: 'ok', model: 'm', usage: { inputTokens } })

async function spend(store: Store, id: string, ...counts: number[]): Promise<void> {
  const run = await store.run(id)
  for (const count of counts) await run.append('assistant/message', answer(count))
  await run.close()
}

const sums = async (store: Store): Promise<unknown[]> =>
  (await usageOfRuns(store)).calls.map(({ run, usage }) => [run, usage.inputTokens])

describe('usage of a store', () => {
  it('is the same from notes as from the runs, and follows runs that grow', async () => {
    const { store } = await temporaryStore()
    await spend(store, 'a', 1, 2)
    expect(await sums(store)).toEqual([
      ['a', 1],
      ['a', 2],
    ])
    expect(await usageOfRuns(store)).toEqual(await usageOfRuns(store))
    await spend(store, 'a', 3)
    await spend(store, 'b', 4)
    expect(await sums(store)).toEqual([
      ['a', 1],
      ['a', 2],
      ['a', 3],
      ['b', 4],
    ])
    const live = await store.openRun('b')
    await live.append('assistant/message', answer(5))
    expect((await sums(store)).at(-1)).toEqual(['b', 5])
    await store.close()
  })

  it('does not change with what happens to the cache', async () => {
    const { store, dir } = await temporaryStore()
    await spend(store, 'a', 1, 2)
    const fresh = await usageOfRuns(store)
    const cache = join(dir, 'cache')
    const files = readdirSync(cache, { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    )
    const notes = files
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => readFileSync(path, 'utf8').includes('inputTokens'))
    expect(notes.length).toBeGreaterThan(0)
    for (const path of notes) {
      const text = readFileSync(path, 'utf8')
      for (const broken of [
        text.replace('"inputTokens":2', '"inputTokens":9'),
        text.slice(0, 40),
        '',
      ]) {
        writeFileSync(path, broken)
        expect(await usageOfRuns(store)).toEqual(fresh)
      }
      rmSync(path)
      expect(await usageOfRuns(store)).toEqual(fresh)
    }
  })

  it('leaves out what is another run again: a replay, and what was salvaged of a run that is here', async () => {
    const { store } = await temporaryStore()
    await spend(store, 'a', 1)
    const view = await store.inspectRun('a')
    const replay = await store.createRun({
      id: 'again',
      parent: await parentLink(view, undefined, 'replay'),
    })
    await replay.append('assistant/message', answer(1))
    await replay.close()
    await store.salvage('a', { id: 'saved' })
    const found = await usageOfRuns(store)
    expect(found.calls).toHaveLength(1)
    expect(found.again.toSorted()).toEqual(['again', 'saved'])
  })
})
