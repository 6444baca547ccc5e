/**
 * A function with turns: its replay writes the same session, and a changed request is told by
 * message.
 */
import { expect, it } from 'vitest'
import { memory, messages, openStore, type Run } from '../../src/index.js'

const reply = (text: string) => ({
  choices: [{ message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 2 },
})

const agentWith = (question: string, asked: unknown[]) => async (run: Run) => {
  let answer = ''
  for (const text of ['hello', question]) {
    await run.turn(async (turn) => {
      await turn.user(text)
      const request = await run.request({ provider: 'openai', model: 'm' })
      const said = await turn.model(request, () => {
        asked.push(text)
        return reply(`you said ${text}`)
      })
      await turn.tool({ id: 'c1', name: 'note', input: { text } }, () => `noted ${text}`)
      answer = said.text
    })
  }
  return answer
}

it('replays with the same messages in its own run, and no model asked', async () => {
  const store = await openStore(memory())
  const asked: unknown[] = []
  const r1 = await store.record('chat', null, agentWith('and now?', asked))
  expect(r1.output).toBe('you said and now?')
  expect(asked.length).toBe(2)
  const r3 = await store.replay(r1.id, agentWith('and now?', asked))
  expect(r3.text()).toMatch(/^same/)
  expect(asked.length).toBe(2)
  const [then, now] = [await store.inspectRun(r1.id), await store.inspectRun(r3.id)]
  const told = (list: readonly { role: string; content: unknown }[]) =>
    list.map(({ role, content }) => [role, content])
  expect(told(await now.project(messages))).toEqual(told(await then.project(messages)))
  await store.close()
})

it('tells a changed request by message', async () => {
  const store = await openStore(memory())
  const r1 = await store.record('chat', null, agentWith('and now?', []))
  const r3 = await store.replay(r1.id, agentWith('and then?', []))
  expect(r3.first).toMatchObject({
    kind: 'input-changed',
    path: 'model#2',
    changes: [{ op: 'replace', left: 'and now?', right: 'and then?' }],
  })
  expect(r3.first?.changes?.[0]?.pointer).toMatch(/^\/messages\/\d+\/content$/)
  await store.close()
})
