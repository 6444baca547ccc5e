// Compiled graphs of the real LangGraph, without a model: each node is a function of the state.
import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages'
import {
  Annotation,
  Command,
  DeltaChannel,
  END,
  interrupt,
  MessagesAnnotation,
  messagesDeltaReducer,
  Send,
  START,
  StateGraph,
} from '@langchain/langgraph'

export { AIMessage, Command, HumanMessage, ToolMessage }

const appended = () =>
  Annotation({ reducer: (before, more) => before.concat(more), default: () => [] })

/** A question gets an answer with a tool call, its result, and a sentence. */
export function chatGraph(saver) {
  const State = Annotation.Root({ ...MessagesAnnotation.spec, count: Annotation() })
  return new StateGraph(State)
    .addNode('agent', ({ messages, count }) => {
      const last = messages.at(-1)
      const id = `ai-${messages.length}`
      const answer =
        last instanceof ToolMessage
          ? new AIMessage({ id, content: `so: ${last.content}` })
          : new AIMessage({
              id,
              content: [{ type: 'text', text: `about ${last.content}` }],
              tool_calls: [
                { id: `call-${messages.length}`, name: 'look', args: { q: last.content } },
              ],
              usage_metadata: { input_tokens: 10, output_tokens: 2, total_tokens: 12 },
              response_metadata: { model_name: 'none', at: messages.length },
            })
      return { messages: [answer], count: (count ?? 0) + 1 }
    })
    .addNode('tools', ({ messages }) => {
      const [call] = messages.at(-1).tool_calls
      const content = `found ${call.args.q}`
      return {
        messages: [
          new ToolMessage({
            id: `tool-${messages.length}`,
            tool_call_id: call.id,
            name: call.name,
            content,
            artifact: { raw: [content] },
          }),
        ],
      }
    })
    .addEdge(START, 'agent')
    .addConditionalEdges('agent', ({ messages }) =>
      messages.at(-1).tool_calls?.length ? 'tools' : END,
    )
    .addEdge('tools', 'agent')
    .compile({ checkpointer: saver })
}

/** Two nodes in a row; the fork that Postgres' saver loses is made between them. */
export function forkGraph(saver) {
  return new StateGraph(Annotation.Root({ x: Annotation(), y: Annotation() }))
    .addNode('a', ({ x }) => ({ y: `a(${x})` }))
    .addNode('b', ({ y }) => ({ y: `b(${y})` }))
    .addEdge(START, 'a')
    .addEdge('a', 'b')
    .addEdge('b', END)
    .compile({ checkpointer: saver })
}

/** Node `a` gives the value to the channel `blob`, node `b` hands what it saw to `seen`. */
export function valueGraph(saver, make, seen = () => {}) {
  const State = Annotation.Root({ blob: Annotation(), n: Annotation() })
  return new StateGraph(State)
    .addNode('a', () => ({ blob: make(), n: 1 }))
    .addNode('b', ({ blob }) => {
      seen(blob)
      return { n: 2 }
    })
    .addEdge(START, 'a')
    .addEdge('a', 'b')
    .addEdge('b', END)
    .compile({ checkpointer: saver })
}

/** Fans out by Send, asks twice in one node, and ends. `ran` is told of each node that ran. */
export function askingGraph(saver, ran = () => {}) {
  return new StateGraph(Annotation.Root({ words: appended(), answer: Annotation() }))
    .addNode('split', () => {
      ran('split')
      return { words: ['split'] }
    })
    .addNode('fan', ({ word }) => {
      ran(`fan ${word}`)
      return { words: [word] }
    })
    .addNode('ask', ({ words }) => {
      ran('ask')
      const first = interrupt({ question: 'one?', words })
      const second = interrupt({ question: 'two?', first })
      return { words: [first, second], answer: `${first}+${second}` }
    })
    .addEdge(START, 'split')
    .addConditionalEdges('split', () => ['p', 'q', 'r'].map((word) => new Send('fan', { word })), [
      'fan',
    ])
    .addEdge('fan', 'ask')
    .addEdge('ask', END)
    .compile({ checkpointer: saver })
}

/** A graph in a graph in a graph; the innermost asks. */
export function nestedGraph(saver) {
  const State = Annotation.Root({ path: appended(), answer: Annotation() })
  const innermost = new StateGraph(State)
    .addNode('deep', () => ({ path: ['deep'] }))
    .addNode('ask', () => ({ path: ['ask'], answer: interrupt('deep?') }))
    .addEdge(START, 'deep')
    .addEdge('deep', 'ask')
    .compile()
  const inner = new StateGraph(State)
    .addNode('before', () => ({ path: ['before'] }))
    .addNode('innermost', innermost)
    .addEdge(START, 'before')
    .addEdge('before', 'innermost')
    .compile()
  return new StateGraph(State)
    .addNode('top', () => ({ path: ['top'] }))
    .addNode('inner', inner)
    .addNode('end', () => ({ path: ['end'] }))
    .addEdge(START, 'top')
    .addEdge('top', 'inner')
    .addEdge('inner', 'end')
    .addEdge('end', END)
    .compile({ checkpointer: saver })
}

/**
 * So many steps of one message each; `told` is awaited in each step. With `delta`, messages are a DeltaChannel
 * with a snapshot every so many updates.
 */
export function steppingGraph(saver, { steps, delta, told = () => {} }) {
  const messages =
    delta === undefined
      ? MessagesAnnotation.spec.messages
      : () => new DeltaChannel(messagesDeltaReducer, { snapshotFrequency: delta })
  const State = Annotation.Root({ messages, step: Annotation(), blob: Annotation() })
  return new StateGraph(State)
    .addNode('work', async ({ step = 0 }) => {
      await told(step + 1)
      const content = `message ${step + 1} `.repeat(20)
      return {
        messages: [new AIMessage({ id: `ai-${step + 1}`, content })],
        step: step + 1,
        blob: { step: step + 1, at: new Array(8).fill(step) },
      }
    })
    .addEdge(START, 'work')
    .addConditionalEdges('work', ({ step }) => (step >= steps ? END : 'work'), ['work', END])
    .compile({ checkpointer: saver })
}

/** Two tasks in one step, one of which fails until `fails` says no more. */
export function failingGraph(saver, { fails, ran = () => {} }) {
  return new StateGraph(Annotation.Root({ words: appended() }))
    .addNode('good', () => {
      ran('good')
      return { words: ['good'] }
    })
    .addNode('bad', async () => {
      ran('bad')
      // Lets the other one end first.
      await new Promise((resolve) => setImmediate(resolve))
      if (fails()) throw new TypeError('the tool broke')
      return { words: ['bad'] }
    })
    .addEdge(START, 'good')
    .addEdge(START, 'bad')
    .addEdge('good', END)
    .addEdge('bad', END)
    .compile({ checkpointer: saver })
}

export async function historyOf(graph, config, options) {
  const found = []
  for await (const snapshot of graph.getStateHistory(config, options)) found.push(snapshot)
  return found
}
