// A worker that says so many words on thread `t`, beside others. Prints the id of each checkpoint that was acknowledged.
// node --import ./one-copy.mjs talking-graph.mjs STORE NAME COUNT
import { writeSync } from 'node:fs'
import { openStore } from '../../../dist/index.js'
import { DaglogSaver } from '../../../dist/langgraph.js'
import { chatGraph, HumanMessage } from './graphs.mjs'

const [, , dir, name, count] = process.argv

class TellingSaver extends DaglogSaver {
  async put(config, checkpoint, ...rest) {
    const answer = await super.put(config, checkpoint, ...rest)
    writeSync(1, `${checkpoint.id}\n`)
    return answer
  }
}

const store = await openStore(dir, { onNotice: () => {} })
const saver = new TellingSaver(store, { lockWaitMs: 60_000, lockIdleMs: 1 })
const graph = chatGraph(saver)
for (let n = 0; n < Number(count); n += 1) {
  // A thread that both talk in may be at any point: each word begins at what is the latest.
  const messages = [new HumanMessage({ id: `${name}-${n}`, content: `${name} ${n}` })]
  await graph.invoke({ messages }, { configurable: { thread_id: 't' } })
}
await saver.close()
await store.close()
