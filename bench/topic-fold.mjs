/**
 * What folds cost: events through projections, resuming a long run from a fresh snapshot beside folding it
 * whole, and what the events of a turn cost beside appending the same bytes bare.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { Registry } from '../dist/fold/registry.js'
import { messages, openStore, steps, todo, turns, usage } from '../dist/index.js'
import { median, ratio, takeTurns } from './rounds.mjs'
import { layRun } from './sample.mjs'
import { withScratch } from './scratch.mjs'

const EVENTS = 100_000
const EVENTS_QUICK = 20_000
/** Turns of a run that are measured, and how many it has where its history is long. */
const TURNS_EACH = 8
const TURNS_LONG = 64
const FIVE = [turns, usage, steps, todo, messages]

/** @param {{quick: boolean}} options */
export async function fold(options) {
  return [
    ...(await registryRows(options)),
    ...(await withScratch((dir) => resumeRows(join(dir, 'store'), options))),
    ...(await withScratch((dir) => turnRows(join(dir, 'store'), options))),
  ]
}

/** Small events as they come in an agent's day; every eighth is a message. */
function smallEvents(count) {
  const kinds = [
    ['user/message', { content: 'what now?' }],
    ['note', { text: 'page 17 of 40 is read' }],
    ['step/start', { id: 'n1', key: '0', name: 'fetch' }],
    ['tool/call', { id: 'c', name: 'fetch', arguments: {} }],
    ['step/end', { id: 'n1', status: 'ok' }],
    ['note', { text: 'page 18 of 40 is read' }],
    ['tool/result', { id: 'c', content: 'ok' }],
    ['retry', { of: 'n1', attempt: 1, reason: 'busy' }],
  ]
  return Array.from({ length: count }, (_, seq) => {
    const [type, data] = kinds[seq % kinds.length]
    return { seq, time: 1_790_000_000_000 + seq, type, data, hash: '' }
  })
}

/** A projection that looks at every event. */
const counting = {
  key: 'counting',
  version: 1,
  init: () => 0,
  apply: (state, event) => (event.type === 'note' ? state + 1 : state),
}

async function registryRows({ quick }) {
  const count = quick ? 200_000 : 1_000_000
  const events = smallEvents(count)
  const through = (projections) => {
    const registry = new Registry([])
    for (const projection of projections) registry.add(projection)
    const began = performance.now()
    for (const event of events) registry.apply(event)
    const took = performance.now() - began
    for (const projection of projections) registry.view(projection)
    return took
  }
  const bare = () => {
    let state = counting.init()
    const began = performance.now()
    for (const event of events) state = counting.apply(state, event)
    const took = performance.now() - began
    if (state !== count / 4) throw new Error('the fold lost events')
    return took
  }
  const { one, single, five, loop } = await takeTurns(quick ? 5 : 9, {
    loop: bare,
    one: () => through([counting]),
    single: () => through([messages]),
    five: () => through(FIVE),
  })
  const perSecond = (ms) => (count * 1000) / ms
  return [
    {
      what: 'one projection that looks at every event',
      median: perSecond(median(one)),
      unit: 'events/s',
      limit: { what: 'a bare loop', median: perSecond(median(loop)), ratio: ratio(loop, one) },
      bars: { medianMin: 1_000_000 },
    },
    {
      what: 'messages alone',
      median: perSecond(median(single)),
      unit: 'events/s',
      bars: { medianMin: 1_000_000 },
    },
    {
      what: `five: ${FIVE.map(({ key }) => key).join(', ')}`,
      median: perSecond(median(five)),
      unit: 'events/s',
      limit: {
        what: 'one projection: times its time',
        median: perSecond(median(single)),
        ratio: ratio(five, single),
      },
      bars: { ratioMax: 3 },
    },
  ]
}

/** A long run: opened only, resumed with a fresh snapshot of its messages, and folded with verification. */
async function resumeRows(root, { quick }) {
  const count = quick ? EVENTS_QUICK : EVENTS
  const store = await openStore(root)
  const rows = smallEvents(count - 1)
  await layRun(store, 'long', (log, index) => {
    for (const { type, data } of rows) index(log.add(type, data))
  })
  const view = await store.inspectRun('long')
  const projections = [messages, turns]
  for (const projection of projections) await view.project(projection)
  await store.close()
  const opened = async (use) => {
    const fresh = await openStore(root)
    const began = performance.now()
    const run = await fresh.openRun('long')
    await use(run)
    const took = performance.now() - began
    await run.release()
    await fresh.close()
    return took
  }
  const times = await takeTurns(quick ? 5 : 9, {
    tail: () => opened((run) => run.head()),
    resumed: () =>
      opened(async (run) => {
        const found = await run.project(turns)
        if (!Array.isArray(found)) throw new Error('no turns')
      }),
    history: () => opened((run) => run.project(messages)),
  })
  const verified = await takeTurns(quick ? 3 : 5, {
    ours: async () => {
      rmSync(join(root, 'cache'), { recursive: true, force: true })
      const fresh = await openStore(root)
      const began = performance.now()
      const report = await fresh.verify('long')
      const run = await fresh.inspectRun('long')
      await run.project(messages)
      const took = performance.now() - began
      if (!report.ok) throw new Error('the sample does not verify')
      await fresh.close()
      return took
    },
    fold: async () => {
      rmSync(join(root, 'cache'), { recursive: true, force: true })
      return opened((run) => run.project(turns))
    },
  })
  const more = (ours) => median(ours) - median(times.tail)
  return [
    {
      what: `resume of ${count.toLocaleString('en-US')} events, turns from a fresh snapshot, beyond opening`,
      median: more(times.resumed),
      unit: 'ms',
      bars: { medianMax: 20 },
    },
    {
      what: 'the same, the whole history of messages',
      median: more(times.history),
      unit: 'ms',
    },
    {
      what: 'the same, nothing in the cache: times the time with a snapshot',
      median: median(verified.fold),
      unit: 'ms',
      limit: {
        what: 'resume with a snapshot',
        median: median(times.resumed),
        ratio: median(verified.fold) / median(times.resumed),
      },
      bars: { ratioMin: 20 },
    },
    {
      what: 'verify and a full fold of messages, cold',
      median: (count * 1000) / median(verified.ours),
      unit: 'events/s',
      bars: { medianMin: 50_000 },
    },
  ]
}

/** One turn through `run.turn`, and the same events appended bare, as many at a time. */
async function turnRows(root, { quick }) {
  const store = await openStore(root)
  const calls = [0, 1].map((n) => ({ id: `call-${n}`, name: 'fetch', input: { page: n } }))
  const stream = [
    'It was ',
    'a bright ',
    'cold day ',
    'in April, ',
    'and the clocks ',
    'were striking ',
    'thirteen.',
  ]
  let turnsRun = await store.createRun()
  let bareRun = await store.createRun()
  const page = 'Winston Smith, his chin nuzzled into his breast. '.repeat(30)
  const oneTurn = () =>
    turnsRun.turn(async (turn) => {
      await turn.user('what is on the pages?')
      const request = await turnsRun.request({
        provider: 'openai',
        model: 'gpt-x',
        system: 'be brief',
      })
      await turn.model(request, async () => replyOf(stream, calls))
      for (const call of calls) await turn.tool(call, () => page)
    })
  // The first turn says the request header; the rest are alike.
  await oneTurn()
  const from = (await turnsRun.head()).seq + 1
  await oneTurn()
  const made = []
  for await (const { type, data } of turnsRun.events({ from })) made.push({ type, data })
  const groups = grouped(made)
  const began = async (work) => {
    const start = performance.now()
    await work()
    return performance.now() - start
  }
  const bareTurn = async () => {
    for (const group of groups) await bareRun.appendAll(group)
  }
  // A request holds the whole history, so a turn costs more the more there was: both are said.
  const sides = (turnsBefore) => {
    const done = { ours: turnsBefore, bare: turnsBefore }
    const side = (name, again, turn) => async () => {
      if (done[name] === turnsBefore) {
        done[name] = 0
        await again()
        for (let n = 0; n < turnsBefore - TURNS_EACH; n += 1) await turn()
        done[name] = turnsBefore - TURNS_EACH
      }
      done[name] += 1
      return began(turn)
    }
    return {
      ours: side(
        'ours',
        async () => {
          await turnsRun.close()
          turnsRun = await store.createRun()
        },
        oneTurn,
      ),
      bare: side(
        'bare',
        async () => {
          await bareRun.close()
          bareRun = await store.createRun()
        },
        bareTurn,
      ),
    }
  }
  const rounds = quick ? 9 : 31
  const short = await takeTurns(rounds, sides(TURNS_EACH), 5)
  const long = await takeTurns(rounds, sides(TURNS_LONG), 5)
  await store.close()
  const row = (what, { ours, bare }, bars) => ({
    what: `${what}: ${made.length} events, one reply in ${stream.length} chunks, two tools`,
    median: median(ours),
    unit: 'ms',
    limit: {
      what: `the same events in ${groups.length} bare appends`,
      median: median(bare),
      ratio: ratio(ours, bare),
    },
    ...(bars === undefined ? {} : { bars }),
  })
  return [
    row(`one of the first ${TURNS_EACH} turns`, short, { ratioMax: 1.5 }),
    row(`one of the last of ${TURNS_LONG} turns`, long),
  ]
}

/** The appends that a turn makes: a step's start with the call, its end with the outcome, the rest alone. */
function grouped(events) {
  const groups = []
  let open
  for (const event of events) {
    const { type } = event
    if (type === 'step/start') {
      open = [event]
      groups.push(open)
    } else if (type === 'tool/call' && open !== undefined) {
      open.push(event)
    } else if (type === 'assistant/message' || type === 'tool/result') {
      open = [event]
      groups.push(open)
    } else if (type === 'step/end') {
      open.push(event)
      open = undefined
    } else {
      open = undefined
      groups.push([event])
    }
  }
  return groups
}

/** A stream of OpenAI chat chunks: text in pieces, then the calls of tools. */
async function* replyOf(texts, calls) {
  const chunk = (delta, rest = {}) => ({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    model: 'gpt-x',
    choices: [{ index: 0, delta, finish_reason: null, ...rest }],
  })
  for (const content of texts) yield chunk({ role: 'assistant', content })
  for (const [index, { id, name, input }] of calls.entries()) {
    const call = {
      index,
      id,
      type: 'function',
      function: { name, arguments: JSON.stringify(input) },
    }
    yield chunk({ tool_calls: [call] })
  }
  yield chunk({}, { finish_reason: 'tool_calls' })
}
