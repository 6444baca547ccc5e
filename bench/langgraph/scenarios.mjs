/**
 * What the graphs of the bench do: an agent and its tools in turn, one message a step, without a model. The same
 * text for the same step, so every saver is given the same.
 */
import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages'
import {
  Annotation,
  DeltaChannel,
  END,
  MessagesAnnotation,
  messagesDeltaReducer,
  START,
  StateGraph,
} from '@langchain/langgraph'
import { textOf } from './text.mjs'

const PAGE_BYTES = 10 * 1024 * 1024
const PAGE_SEED = 424_242
let page
/** The page that is fetched, again and again. */
const pageOf = (quick) => (page ??= textOf(PAGE_SEED, quick ? PAGE_BYTES / 10 : PAGE_BYTES))
const usual = (step) => textOf(1000 + step, step % 2 === 1 ? 900 : 8700)

/**
 * @typedef {{steps: number, threads: number, contentOf: (step: number) => string}} Scenario
 * @type {Record<string, (quick: boolean) => Scenario>}
 */
export const SCENARIOS = {
  a: (quick) => ({
    steps: quick ? 40 : 100,
    threads: 1,
    contentOf: usual,
  }),
  b: (quick) => ({
    steps: quick ? 12 : 26,
    threads: 1,
    contentOf: (step) => (step === 6 ? pageOf(quick) : usual(step)),
  }),
  c: (quick) => ({
    steps: quick ? 150 : 1000,
    threads: 1,
    contentOf: (step) => textOf(1000 + step, 200),
  }),
  d: (quick) => ({
    steps: 5,
    threads: quick ? 4 : 20,
    contentOf: (step) => (step === 2 ? pageOf(quick) : usual(step)),
  }),
}

export const threadOf = (n) => `thread-${n}`
export const configOf = (n) => ({ configurable: { thread_id: threadOf(n) } })

/** @param {Scenario} scenario @param {{saver: object, delta: boolean}} given */
export function graphOf({ steps, contentOf }, { saver, delta }) {
  const messages = delta
    ? () => new DeltaChannel(messagesDeltaReducer)
    : MessagesAnnotation.spec.messages
  const scalars = {
    step: Annotation(),
    tokens: Annotation(),
    status: Annotation(),
    plan: Annotation(),
  }
  const after = (other) => (state) => (state.step >= steps ? END : other)
  return new StateGraph(Annotation.Root({ messages, ...scalars }))
    .addNode('agent', (state) => changeOf(state, 'calling', contentOf))
    .addNode('tools', (state) => changeOf(state, 'got', contentOf))
    .addEdge(START, 'agent')
    .addConditionalEdges('agent', after('tools'), ['tools', END])
    .addConditionalEdges('tools', after('agent'), ['agent', END])
    .compile({ checkpointer: saver })
}

function changeOf({ step = 0, tokens = 0 }, status, contentOf) {
  const now = step + 1
  return {
    messages: [messageOf(now, contentOf(now))],
    step: now,
    tokens: tokens + 120 + now,
    status,
    ...(now % 10 === 1 ? { plan: `revision ${now}` } : {}),
  }
}

function messageOf(step, content) {
  if (step % 2 === 0) {
    const tool_call_id = `call-${step - 1}`
    return new ToolMessage({ id: `tool-${step}`, tool_call_id, name: 'fetch', content })
  }
  return new AIMessage({
    id: `ai-${step}`,
    content,
    tool_calls: [{ id: `call-${step}`, name: 'fetch', args: { q: `query ${step}` } }],
    usage_metadata: { input_tokens: 100 + step, output_tokens: 20, total_tokens: 120 + step },
  })
}

const question = () => textOf(1, 4500)

/** Run one thread from its beginning to its end. */
export function runThread(graph, { steps }, n) {
  const first = { messages: [new HumanMessage({ id: 'h', content: question() })] }
  return graph.invoke(first, { ...configOf(n), recursionLimit: steps + 10, durability: 'sync' })
}

/** What is new in each step of a thread: the least that can be written. @param {Scenario} scenario */
export function newsOf({ steps, contentOf }) {
  const news = [{ id: 'h', type: 'human', content: question() }]
  for (let step = 1; step <= steps; step += 1) {
    const { id, tool_calls, tool_call_id } = messageOf(step, '')
    const content = contentOf(step)
    const scalars = { step, tokens: 120 + step, status: step % 2 === 1 ? 'calling' : 'got' }
    news.push({
      id,
      type: step % 2 === 1 ? 'ai' : 'tool',
      tool_calls,
      tool_call_id,
      content,
      ...scalars,
    })
  }
  return news
}
