// A process that begins a turn, then children without an end, and says when. node spawner.mjs STORE
import { writeSync } from 'node:fs'
import { openStore } from '../../dist/index.js'

const store = await openStore(process.argv[2])
const parent = await store.run('parent')
await parent.append('turn/start', { turn: 1 })
writeSync(1, 'turn\n')
for (let number = 1; ; number += 1) {
  const child = await parent.child({ name: 'sub' })
  writeSync(1, number < 5 ? 'child\n' : 'running\n')
  await child.append('note', { number })
}
