/**
 * An agent that may be killed at any moment. Usage: node killed-agent.mjs DIR record|resume
 * Each body notes its key in a file before it returns; the result goes to stdout.
 */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { openStore } from '../../dist/index.js'

const [dir, verb] = process.argv.slice(2)
const store = await openStore(join(dir, 'store'))
const ran = (key) => appendFileSync(join(dir, 'ran'), `${key}\n`)

const agent = async (run, count) => {
  let carry = 'in'
  for (let i = 0; i < count; i++) {
    const parts = await Promise.all(
      [0, 1, 2].map((part) =>
        run.step('part', { carry, part }, async (s) => {
          ran(s.key)
          const inner = await s.step('inner', { carry, part }, (t) => {
            ran(t.key)
            return `${carry.length}.${part}`
          })
          return `<${inner}>`
        }),
      ),
    )
    carry = await run.step('join', { parts }, (s) => {
      ran(s.key)
      return parts.join('').slice(-24)
    })
  }
  return carry
}

console.log('began')
const result =
  verb === 'record'
    ? await store.record('killed', 12, agent, { id: 'killed' })
    : await store.resume('killed', agent)
console.log(`result ${result.output}`)
await store.close()
