/**
 * Turns, model calls and tools of a function that is run again: the same history, with no model
 * asked.
 */
import { expect, it } from 'vitest'
import { memory, messages, openStore, type Run, turns } from '../../src/index.js'

const HEADER = { provider: 'openai', model: 'm' } as const

async function* broken(texts: readonly string[]): AsyncGenerator<unknown> {
  for (const content of texts) {
    yield { id: 'c', model: 'm', choices: [{ index: 0, delta: { role: 'assistant', content } }] }
  }
  throw new Error('socket hang up')
}

it('gives what came of a stream that broke off again, and the error behind it (T47)', async () => {
  const store = await openStore(memory())
  let asked = 0
  const agent = async (run: Run): Promise<string> => {
    const said = await run
      .turn(async (turn) => {
        await turn.user('tell me')
        await turn.model(await run.request(HEADER), () => {
          asked += 1
          return broken(['half an', ' answer'])
        })
        return 'whole'
      })
      .catch((error: Error) => error.message)
    const history = await run.project(messages)
    return `${said}, after ${JSON.stringify(history.at(-1)?.content)}`
  }
  const first = await store.record('job', undefined, agent)
  expect(first.output).toBe('socket hang up, after "half an answer"')
  const again = await store.replay(first.id, agent)
  expect([again.ok, again.output, asked]).toEqual([true, first.output, 1])
  const [before, after] = await Promise.all(
    [first.id, again.id].map(async (id) => {
      const view = await store.inspectRun(id)
      const shown = (await view.project(messages)).map(({ role, content, interrupted }) => ({
        role,
        content,
        interrupted,
      }))
      return { shown, turns: (await view.project(turns)).map(({ reason }) => reason) }
    }),
  )
  expect(after).toEqual(before)
  expect(after?.shown.at(-1)?.interrupted).toBe(true)
  await store.close()
})
