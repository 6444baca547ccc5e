/**
 * An agent that may be killed at any moment: it plans a trip with a model, tools that run at once, and one
 * that writes. Start it again with the same run and it goes on; there is no second way to begin.
 *
 * node agent.mjs STORE RUN BASE_URL
 */
import { readFile, writeFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { messages, openStore } from 'daglog'
import OpenAI from 'openai'

const SYSTEM =
  'You plan trips. Look things up with your tools; write the plan down before you answer.'
const QUESTION = 'Where is it warmest: Bern, Oslo or Lima? And how warm are the three on average?'

const tool = (name, description, properties) => ({
  type: 'function',
  function: { name, description, parameters: { type: 'object', properties } },
})
const TOOLS = [
  tool('weather', 'Degrees Celsius in a city', { city: { type: 'string' } }),
  tool('average', 'The mean of numbers', { numbers: { type: 'array', items: { type: 'number' } } }),
  tool('write_plan', 'Write the plan into its file', { text: { type: 'string' } }),
  tool('read_plan', 'What is in the file of the plan', {}),
]

const DEGREES = { Bern: 8, Oslo: -2, Lima: 21 }

const toolsIn = (file) => ({
  weather: async ({ city }) => {
    await wait(DEGREES[city] < 0 ? 15 : 5)
    return { city, degrees: DEGREES[city] }
  },
  average: ({ numbers }) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length,
  write_plan: async ({ text }) => {
    await wait(5)
    await writeFile(file, text)
    return 'written'
  },
  read_plan: () => readFile(file, 'utf8').catch(() => 'there is no plan yet'),
})

/** The answer to the question of a run: from its log where it is there, else from where the log ends. */
export async function plan(run, { client, file }) {
  const tools = toolsIn(file)
  const last = (await run.project(messages)).at(-1)
  const answered =
    last?.role === 'assistant' && !last.interrupted && typeof last.content === 'string'
  if (answered) return last.content
  return run.turn(async (turn) => {
    if (last === undefined) await turn.user(QUESTION)
    const header = { provider: 'openai', model: 'stub-1', system: SYSTEM, tools: TOOLS }
    for (;;) {
      const request = await run.request({ ...header, params: { stream: true } })
      const reply = await turn.model(request, (body) => client.chat.completions.create(body))
      if (reply.toolCalls.length === 0) return reply.text
      await Promise.all(
        reply.toolCalls.map((call) => turn.tool(call, () => tools[call.name](call.input))),
      )
    }
  })
}

if (process.argv[1] === import.meta.filename) {
  const [place, id, baseURL] = process.argv.slice(2)
  const store = await openStore(place)
  const run = await store.run(id) // Opens or creates; closes what a crash left open.
  const client = new OpenAI({ baseURL, apiKey: process.env.OPENAI_API_KEY ?? 'none' })
  console.log(await plan(run, { client, file: `${place}.plan.txt` }))
  await store.close()
}
