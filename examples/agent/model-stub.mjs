/**
 * Stands in for a model API: chat completions, streamed, on loopback. It answers by rules, from nothing but
 * the request: the same history always gets the same reply.
 */
import { createServer } from 'node:http'

/** What the model knows after a history, and what it asks for next. */
export function replyTo({ messages }) {
  const asked = new Map()
  const known = []
  for (const message of messages) {
    for (const { id, function: call } of message.tool_calls ?? []) asked.set(id, call)
    if (message.role !== 'tool') continue
    const call = asked.get(message.tool_call_id)
    known.push({ name: call.name, input: JSON.parse(call.arguments), said: message.content })
  }
  // A call that was cut off has a result that says so; it is no fact.
  const facts = known.filter(({ said }) => !said.startsWith('Interrupted'))
  const degrees = new Map(
    facts
      .filter(({ name }) => name === 'weather')
      .map(({ said }) => Object.values(JSON.parse(said))),
  )
  const missing = ['Bern', 'Oslo', 'Lima'].filter((city) => !degrees.has(city))
  if (missing.length > 0) return { calls: missing.map((city) => ['weather', { city }]) }
  const mean = facts.find(({ name }) => name === 'average')
  if (mean === undefined) return { calls: [['average', { numbers: [...degrees.values()] }]] }
  const text = `Lima is warmest, with 21 degrees; the three have ${mean.said} on average.`
  if (facts.some(({ name, said }) => said === (name === 'read_plan' ? text : 'written')))
    return { text }
  // Nobody knows whether a write went through that was cut off: look first.
  const unsure = known.findLast(({ name }) => name === 'write_plan' || name === 'read_plan')
  if (unsure?.name === 'write_plan') return { calls: [['read_plan', {}]] }
  return { calls: [['write_plan', { text }]] }
}

/** The events of the streamed reply to a request. */
export function* chunksOf(body, id) {
  const { text, calls } = replyTo(body)
  const base = { id, object: 'chat.completion.chunk', created: 0, model: body.model }
  const chunk = (delta, finish_reason = null) => ({
    ...base,
    choices: [{ index: 0, delta, finish_reason }],
  })
  yield chunk({ role: 'assistant', content: calls === undefined ? '' : null })
  for (const piece of text?.match(/\S+\s*/g) ?? []) yield chunk({ content: piece })
  for (const [index, [name, input]] of (calls ?? []).entries()) {
    const call = { index, id: `call_${id}_${index}`, type: 'function' }
    yield chunk({ tool_calls: [{ ...call, function: { name, arguments: '' } }] })
    for (const piece of JSON.stringify(input).match(/.{1,9}/g)) {
      yield chunk({ tool_calls: [{ index, function: { arguments: piece } }] })
    }
  }
  yield chunk({}, calls === undefined ? 'stop' : 'tool_calls')
}

/**
 * Start it. `onRequest` is told of each body; between two events of a stream it waits `delayMs`.
 * @returns where it listens, and what stops it.
 */
export async function startModel({ onRequest = () => {}, delayMs = 1 } = {}) {
  let count = 0
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const piece of request) text += piece
    const body = JSON.parse(text)
    count += 1
    onRequest(body, count)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const chunk of chunksOf(body, `r${count}`)) {
      response.write(`data: ${JSON.stringify(chunk)}\n\n`)
      await new Promise((resolve) => setTimeout(resolve, delayMs))
      if (response.destroyed) return
    }
    response.end('data: [DONE]\n\n')
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    baseURL: `http://127.0.0.1:${server.address().port}/v1`,
    close: () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    },
  }
}

// node model-stub.mjs: prints where it listens, and goes on until it is stopped.
if (process.argv[1] === import.meta.filename) console.log((await startModel()).baseURL)
