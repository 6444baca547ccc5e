/**
 * An agent that asks a person and waits. Usage: node asking-agent.mjs DIR record|resume|leave
 * Says `asking` when the question is in the log; the result goes to stdout.
 */
import { openStore } from '../../dist/index.js'

const [dir, verb] = process.argv.slice(2)
const store = await openStore(dir)

const agent = async (run) => {
  await run.step('before', {}, () => 1)
  const going = run.ask('approve', { sum: 12 })
  while ((await run.last('ask/question')) === undefined) await new Promise(setImmediate)
  console.log('asking')
  if (verb === 'leave') return 'left'
  return `it said ${JSON.stringify(await going)}`
}

const result =
  verb !== 'resume'
    ? await store.record('asking', 0, agent, { id: 'asking' })
    : await store.resume('asking', agent)
console.log(`result ${result.output}`)
await store.close()
