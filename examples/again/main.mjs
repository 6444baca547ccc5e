/**
 * Would it do it again? An agent with a made-up model, recorded; then its prompt is changed, and it is
 * replayed. Usage: npm run build && node examples/again/main.mjs
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore } from '../../dist/index.js'

const dir = mkdtempSync(join(tmpdir(), 'daglog-again-'))
const store = await openStore(join(dir, 'store'))

/** Stands for a model: what it says depends on all that it is given. */
const model = ({ model: name, messages }) =>
  `${name} on ${JSON.stringify(messages.at(-1).content).length} characters`

const pages = { lima: '21 degrees, mist', oslo: '4 degrees, sun' }

/** @param {string} system */
const agentWith =
  (system) =>
  async (run, { cities }) => {
    const found = await Promise.all(
      cities.map((city) => run.step('fetch', { city }, () => pages[city], { effect: 'read' })),
    )
    const summary = await run.step(
      'llm',
      {
        model: 'small-1',
        messages: [
          { role: 'system', content: system },
          { role: 'user', content: found.join('\n') },
        ],
      },
      (s) => model(s.input),
      { effect: 'read' },
    )
    await run.step('send', { to: 'ops', summary }, () => 'sent', { effect: 'write' })
    return summary
  }

const agent = agentWith('You are brief.')
const recorded = await store.record('weather', { cities: ['lima', 'oslo'] }, agent, {
  id: 'weather',
})
console.log(`recorded: ${recorded.output}\n`)

console.log((await store.replay('weather', agent)).text())

console.log(
  (
    await store.replay('weather', agentWith('You are brief and kind.'), { id: 'weather-kind' })
  ).text(),
)

const forked = await store.forkRun(
  'weather',
  { at: 'llm', edit: (input) => ({ ...input, model: 'large-2' }), allow: ['send'] },
  agent,
)
console.log(`forked: ${forked.output} (${forked.answered} steps answered from the parent)`)
await store.close()
rmSync(dir, { recursive: true })
