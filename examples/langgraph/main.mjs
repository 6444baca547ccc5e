// A conversation that survives its process, forks, and says what it costs.
//   npm run build (in the root), then here: npm ci && node main.mjs, again and again
import { AIMessage, HumanMessage } from '@langchain/core/messages'
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import { openStore } from 'daglog'
import { DaglogSaver } from 'daglog/langgraph'

const store = await openStore('.daglog')
const saver = new DaglogSaver(store)
const graph = new StateGraph(MessagesAnnotation)
  .addNode('agent', ({ messages }) => ({
    messages: [new AIMessage(`You said: ${messages.at(-1).content}`)],
  }))
  .addEdge(START, 'agent')
  .addEdge('agent', END)
  .compile({ checkpointer: saver })

const config = { configurable: { thread_id: 'demo' }, metadata: { user_id: 'ann' } }
const said = await graph.invoke({ messages: [new HumanMessage('hello')] }, config)
console.log(`${said.messages.length} messages; the last: ${said.messages.at(-1).content}`)

// Another answer to an earlier question: both branches stay.
const history = []
for await (const snapshot of graph.getStateHistory(config)) history.push(snapshot)
const ended = history.filter(({ next }) => next.length === 0)
const first = ended.at(-1)
const fork = await graph.invoke({ messages: [new HumanMessage('no, goodbye')] }, first.config)
console.log(`fork: ${fork.messages.map(({ content }) => content).join(' | ')}`)

console.log('channels:', await saver.sizes(['demo']))
await saver.close()
await store.close()
console.log('now: npx daglog show langgraph/demo, npx daglog state langgraph/demo /messages')
