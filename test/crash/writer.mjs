// A process that appends until it is killed, and says of each append when it was acknowledged.
// node writer.mjs STORE RUN SEED: prints `SEQ TEXT` for each acknowledged event.
import { writeSync } from 'node:fs'
import { openStore } from '../../dist/index.js'

const [dir, id, seed] = process.argv.slice(2)
let state = Number(seed)
const random = () => {
  state = (state * 1103515245 + 12345) & 0x7fffffff
  return state / 0x7fffffff
}
const store = await openStore(dir, { lockWaitMs: 5000 })
const run = await store.run(id)
writeSync(1, 'open\n')
const say = ({ seq }, text) => writeSync(1, `${seq} ${text}\n`)
const payload = () => 'p'.repeat(Math.floor(random() * 12_000)) + random()
for (let turn = 1; ; turn += 1) {
  const marks = Array.from({ length: 3 }, (_, k) => `${seed}.${turn}.${k}`)
  say(await run.append('turn/start', { turn }), '')
  // Several at once (group commit), an atomic pair, a step with a large output.
  await Promise.all(
    marks.map(async (mark) => say(await run.append('note', { mark, payload: payload() }), mark)),
  )
  const pair = await run.appendAll([
    { type: 'note', data: { mark: `${seed}.${turn}.a`, payload: payload() } },
    { type: 'note', data: { mark: `${seed}.${turn}.b` } },
  ])
  say(pair[0], `${seed}.${turn}.a`)
  say(pair[1], `${seed}.${turn}.b`)
  await run.step('work', { turn, text: payload() }, () => payload())
  say(await run.append('turn/end', { turn, reason: 'completed' }), '')
  if (random() < 0.1) {
    await run.release()
    writeSync(1, 'let go\n')
  }
}
