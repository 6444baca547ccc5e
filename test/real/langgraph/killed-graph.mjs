// Graphs that run until they are killed, one a thread, over one saver; what is durable is told as it becomes so.
// node --import ./one-copy.mjs killed-graph.mjs STORE THREAD...     begins once it reads a line
//   open                          the store is
//   put THREAD STEP ID            a checkpoint was acknowledged
//   writes THREAD TASK ID         the writes of a task for a checkpoint were
import { writeSync } from 'node:fs'
import { openStore } from '../../../dist/index.js'
import { DaglogSaver } from '../../../dist/langgraph.js'
import { steppingGraph } from './graphs.mjs'

const [, , dir, ...threads] = process.argv
const tell = (line) => writeSync(1, `${line}\n`)

class TellingSaver extends DaglogSaver {
  async put(config, checkpoint, ...rest) {
    const answer = await super.put(config, checkpoint, ...rest)
    tell(
      `put ${config.configurable.thread_id} ${checkpoint.channel_values.step ?? 0} ${checkpoint.id}`,
    )
    return answer
  }

  async putWrites(config, writes, task, path) {
    await super.putWrites(config, writes, task, path)
    const { thread_id, checkpoint_id } = config.configurable
    tell(`writes ${thread_id} ${task} ${checkpoint_id}`)
  }
}

await new Promise((resolve) => process.stdin.once('data', resolve))
process.stdin.unref()
const store = await openStore(dir, { onNotice: () => {} })
const saver = new TellingSaver(store)
tell('open')
// A node that waits for nothing would keep the whole process from everything else, also from writing.
const told = () => new Promise((resolve) => setImmediate(resolve))
const graph = steppingGraph(saver, { steps: Number.POSITIVE_INFINITY, told })
await Promise.all(
  threads.map(async (thread, at) => {
    const config = {
      configurable: { thread_id: thread },
      recursionLimit: 10_000,
      durability: at % 2 === 0 ? 'async' : 'sync',
    }
    const { next } = await graph.getState(config)
    await graph.invoke(next.length === 0 ? { messages: [] } : null, config)
  }),
)
