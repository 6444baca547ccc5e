// An agent of the real SDK with a model of our own: answers each question with a tool call and a sentence.
// node agent.mjs STORE RUN: asks the questions that the session has no answer to, and prints `done`.
import { writeSync } from 'node:fs'
import { Agent, run as runAgent, setTracingDisabled, tool, Usage } from '@openai/agents'
import { z } from 'zod'

setTracingDisabled(true)

export const QUESTIONS = ['How is Paris?', 'How is Rome?', 'How is Oslo?', 'How is Bonn?']

/** A function of the input alone, as far as a session may tell. */
export class StubModel {
  requests = []

  async getResponse({ input }) {
    const items = typeof input === 'string' ? [{ role: 'user', content: input }] : input
    this.requests.push(structuredClone(items))
    const last = items.at(-1)
    const asked = items.filter(({ role }) => role === 'user').length
    const output =
      last.type === 'function_call_result'
        ? {
            type: 'message',
            id: `msg_${asked}`,
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text: `Answer ${asked}: ${last.output.text}` }],
          }
        : {
            type: 'function_call',
            id: `fc_${asked}`,
            callId: `call_${asked}`,
            name: 'weather',
            status: 'completed',
            arguments: JSON.stringify({ question: asked }),
          }
    return { usage: new Usage({ inputTokens: 10, outputTokens: 5 }), output: [output] }
  }

  // biome-ignore lint/correctness/useYield: nobody streams here.
  async *getStreamedResponse() {
    throw new Error('not streamed')
  }
}

export function agentOf(model, { onTool = () => {}, ...options } = {}) {
  const weather = tool({
    name: 'weather',
    description: 'The weather',
    parameters: z.object({ question: z.number() }),
    execute: ({ question }) => {
      onTool(question)
      return `sunny, ${question} degrees`
    },
  })
  return new Agent({
    name: 'Guide',
    instructions: 'Be short.',
    model,
    tools: [weather],
    ...options,
  })
}

/** Whether the items end where a turn does. */
const isAnswered = (items) => items.length === 0 || items.at(-1).role === 'assistant'

/** Ask what has no answer yet. What a crash left of a turn is taken back and asked again. */
export async function askAll(session, agent) {
  for (;;) {
    while (!isAnswered(await session.getItems(1))) await session.popItem()
    const asked = (await session.getItems()).filter(({ role }) => role === 'user').length
    const question = QUESTIONS[asked]
    if (question === undefined) return
    await runAgent(agent, question, { session })
  }
}

if (process.argv[1] === import.meta.filename) {
  const [{ openStore }, { openAiSession }] = await Promise.all([
    import('../../../dist/index.js'),
    import('../../../dist/openai-agents.js'),
  ])
  const [, , dir, id] = process.argv
  const store = await openStore(dir, { onNotice: () => {} })
  const session = openAiSession(await store.run(id))
  writeSync(1, 'open\n')
  await askAll(session, agentOf(new StubModel()))
  await store.close()
  writeSync(1, 'done\n')
}
