// A process that appends operations, each sent again now and then, and says what it was told.
// node operations-writer.mjs STORE RUN SEED COUNT: prints `OP SEQ HASH` for each answer.
import { writeSync } from 'node:fs'
import { openStore } from '../../dist/index.js'

const [dir, id, seed, count] = process.argv.slice(2)
let state = Number(seed)
const random = () => {
  state = (state * 1103515245 + 12345) & 0x7fffffff
  return state / 0x7fffffff
}
const store = await openStore(dir, { lockWaitMs: 20_000, onNotice: () => {} })
const run = await store.run(id)
const ops = Array.from({ length: Number(count) }, (_, n) => n).sort(() => random() - 0.5)
for (const op of ops) {
  const data = { op, text: 'x'.repeat(op % 7 === 0 ? 6000 : 10) }
  for (let times = random() < 0.3 ? 2 : 1; times > 0; times -= 1) {
    const { seq, hash } = await run.append('note', data, { op: `op ${op}` })
    writeSync(1, `${op} ${seq} ${hash}\n`)
  }
  // Others get their turn.
  if (random() < 0.3) await run.release()
}
await store.close()
