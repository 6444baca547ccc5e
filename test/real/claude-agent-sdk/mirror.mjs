// A process that mirrors the same transcript as others do, in batches, each sent again now and then.
// node mirror.mjs STORE SEED COUNT: prints the number of each batch that was kept, and `done`.
import { writeSync } from 'node:fs'
import { claudeSessionStore } from '../../../dist/claude-agent-sdk.js'
import { openStore } from '../../../dist/index.js'

const [dir, seed, count] = process.argv.slice(2)
let state = Number(seed)
const random = () => {
  state = (state * 1103515245 + 12345) & 0x7fffffff
  return state / 0x7fffffff
}
const store = await openStore(dir, { onNotice: () => {} })
const sessions = claudeSessionStore(store)
const entry = (number) => ({
  type: 'user',
  uuid: `u${number}`,
  message: { role: 'user', content: 'x'.repeat(number % 5 === 0 ? 6000 : 20) },
})
for (let batch = 0; batch < Number(count); batch += 1) {
  const entries = [0, 1, 2].map((at) => entry(batch * 3 + at))
  for (const subpath of [undefined, 'subagents/agent-1']) {
    const key = { projectKey: 'p', sessionId: 's', ...(subpath && { subpath }) }
    for (let times = random() < 0.3 ? 2 : 1; times > 0; times -= 1)
      await sessions.append(key, entries)
  }
  writeSync(1, `${batch}\n`)
}
await sessions.close()
await store.close()
writeSync(1, 'done\n')
