/**
 * Golden stores in which nothing is wrong: some are not complete, some were written by a later
 * daglog.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { encodeData } from '../../src/core/body.js'
import type { Run } from '../../src/store/run.js'
import { cut, linesOf, redact, rewrite } from './tamper.js'
import type { Golden, Workshop } from './workshop.js'

/** An event of which only the redaction is of interest. */
export async function note(run: Run, text: string): Promise<void> {
  await run.append('note', { text })
}

/** Names what `redact` will take away. The store alone may write it. */
export async function authorise(run: Run, seq: number): Promise<void> {
  const data = encodeData({ seq, reason: 'erasure request 17', actor: 'ops@example.org' })
  await run.appendEncoded([{ type: 'redaction', data }])
}

/** A text over the inline limit that compresses well. */
export function page(word: string): string {
  return `${word} 世界 `.repeat(400)
}

const tiny: Golden = {
  name: 'v1-tiny',
  about: 'One run of four events, ended. Shown byte for byte in docs/format.md.',
  exit: 0,
  runs: [{ run: 'tiny', events: 4 }],
  async build(shop) {
    const store = await shop.store()
    const run = await store.run('tiny')
    await note(run, 'hello')
    await run.append('note', { text: 'Grüße, 世界', at: new Date(0) })
    await run.end()
    await store.close()
    shop.keep()
  },
}

async function session(run: Run): Promise<void> {
  await run.append('turn/start', { turn: 1 })
  await run.append('user/message', { content: 'What is at https://example.org/ ? Ünïcödé 🙂' })
  await run.append('assistant/chunk', { message: 0 as unknown as string, pieces: ['Let me ', 'look'], times: [0, 12] })
  await run.append('assistant/message', {
    content: [
      { type: 'tool_use', id: 'c1', name: 'fetch', input: { url: 'https://example.org/' } },
    ],
    usage: { inputTokens: 120, outputTokens: 18 },
  })
  await run.append('tool/call', {
    id: 'c1',
    name: 'fetch',
    arguments: { url: 'https://example.org/' },
  })
  const text = await run.step('fetch', { url: 'https://example.org/' }, async (outer) => {
    await outer.step('resolve', { host: 'example.org' }, () => '192.0.2.7')
    return page('page')
  })
  await run.append('tool/result', { id: 'c1', content: text })
  await run
    .step('score', { text }, () => {
      throw Object.assign(new TypeError('no score for this'), { stack: undefined, code: 'E_SCORE' })
    })
    .catch(() => {})
  await run.append('turn/end', { turn: 1, reason: 'completed' })
  await run.release()
}

/** Each codec tag, each kind of ref, and what JSON carries but careless code does not. */
async function values(run: Run): Promise<void> {
  await run.append('note', {
    nothing: undefined,
    numbers: [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, 1e21],
    big: 2n ** 64n,
    dates: [new Date(1_790_000_000_000), new Date(Number.NaN)],
    bytes: new Uint8Array([0, 127, 128, 255]),
    lone: '\ud83d',
    'a/b~c': JSON.parse('{"__proto__":{"polluted":true}}'),
  })
  await run.append('note', {
    text: page('text'),
    json: { deep: [page('json'), { when: new Date(0) }] },
    bytes: new Uint8Array(5000).fill(7),
  })
  await run.append(
    'note',
    Array.from({ length: 1200 }, (_, n) => n),
  )
  await run.appendAll([
    { type: 'note', data: 'first of three' },
    { type: 'note', data: null },
    { type: 'cart/add', data: { sku: '4711' } },
  ])
}

const good: Golden = {
  name: 'v1-good',
  about:
    'Steps, a turn, codec tags, refs in a pack and in open objects, a fork, awkward ids, a deletion.',
  exit: 0,
  runs: [
    { run: 'A/b é.con', events: 1, head: 0 },
    { run: 'agent', events: 22, objects: 6 },
    { run: 'agent-fork', events: 3 },
    { run: 'con', events: 2 },
    { run: 'open', events: 4, objects: 3 },
  ],
  async build(shop) {
    const store = await shop.store()
    const agent = await store.run('agent', { name: 'agent', tags: ['golden'] })
    await session(agent)
    await values(agent)
    await agent.end()
    const open = await store.run('open')
    await note(open, page('open'))
    await note(open, page('page'))
    await note(open, page('more'))
    await open.close()
    const fork = await store.fork('agent', { at: 5, id: 'agent-fork', name: 'other way' })
    await note(fork, 'from here on otherwise')
    await fork.close()
    await (await store.run('A/b é.con')).close()
    const con = await store.run('con')
    await note(con, 'a reserved name')
    await con.close()
    const gone = await store.run('gone')
    await gone.close()
    await store.deleteRun('gone')
    await store.close()
    shop.keep()
  },
}

/** An open turn, and a process that is killed; the copy is made while the run is open. */
async function killed(shop: Workshop, ids: readonly string[], last = ['last']): Promise<void> {
  const store = await shop.store()
  for (const id of ids) {
    const run = await store.run(id)
    await run.append('turn/start', { turn: 1 })
    await note(run, 'before')
    await run.appendAll(last.map((data) => ({ type: 'note', data })))
  }
  shop.keep()
}

const torn: Golden = {
  name: 'v1-torn',
  about:
    'The writer was killed in an open turn: its last frame is torn, followed by zeros, or whole.',
  exit: 5,
  runs: [
    { run: 'line', events: 3, coveredSeq: 0, incomplete: 2 },
    { run: 'whole', events: 4, coveredSeq: 0, incomplete: 1 },
    { run: 'zeros', events: 4, coveredSeq: 0, incomplete: 2 },
  ],
  async build(shop) {
    await killed(shop, ['line', 'whole', 'zeros'])
    cut(shop.log('line'), 40)
    writeFileSync(shop.log('zeros'), Buffer.alloc(64), { flag: 'a' })
  },
}

const tornAppend: Golden = {
  name: 'v1-torn-append',
  about:
    'An atomic append of three frames of which two are whole, and one whose object is not there.',
  exit: 5,
  runs: [
    { run: 'objects', events: 3, coveredSeq: 0, incomplete: 2 },
    { run: 'three', events: 3, coveredSeq: 0, incomplete: 2 },
  ],
  async build(shop) {
    await killed(shop, ['objects'], [page('lost')])
    await killed(shop, ['three'], ['one', 'two', 'three'])
    rmSync(shop.file('runs', 'objects', 'objects.open'))
    cut(shop.log('three'), Buffer.byteLength(`${linesOf(shop.log('three')).at(-1)}\n`))
  },
}

const recovered: Golden = {
  name: 'v1-recovered',
  about:
    'Torn runs that were opened again: one by a clean turn, one taken over from the dead writer.',
  exit: 0,
  runs: [
    { run: 'clean', events: 6 },
    { run: 'taken', events: 7 },
  ],
  async build(shop) {
    await killed(shop, ['clean', 'taken'])
    for (const run of ['clean', 'taken']) cut(join(shop.live, 'runs', run, 'log.000000.jsonl'), 40)
    // As if the locks had been in a directory that is emptied when the machine starts.
    rmSync(join(shop.live, 'locks', 'clean.0.lock'))
    const later = await shop.store(4343, 'dead')
    for (const id of ['clean', 'taken']) {
      const run = await later.openRun(id)
      await note(run, 'after')
      await run.close()
    }
    shop.keep()
  },
}

const takenOver: Golden = {
  name: 'v1-taken-over',
  about: 'A writer was only paused when another took over; what it wrote after it woke is stray.',
  exit: 0,
  runs: [{ run: 'shared', events: 7, stray: [[0, 875, 283]] }],
  async build(shop) {
    const paused = await shop.store()
    const first = await paused.run('shared')
    await first.append('turn/start', { turn: 1 })
    await note(first, 'acknowledged')
    const other = await shop.store(4343)
    const second = await other.openRun('shared', { force: true })
    await first.append('note', { text: 'never acknowledged' }).then(
      () => Promise.reject(new Error('the old writer was not fenced')),
      () => {},
    )
    await note(second, 'of the new writer')
    await second.append('note', { text: 'its last' })
    await second.close()
    shop.keep()
  },
}

const emptySegment: Golden = {
  name: 'v1-empty-segment',
  about: 'A takeover died after it had made its segment, another in the middle of its first frame.',
  exit: 0,
  runs: [{ run: 'twice', events: 2, stray: [[2, 0, 60]] }],
  async build(shop) {
    const store = await shop.store()
    const run = await store.run('twice')
    await note(run, 'all there is')
    await run.close()
    shop.keep()
    writeFileSync(shop.log('twice', 1), '')
    const opening = '{"seq":2,"time":1790000009000,"type":"writer/open","commit":'
    writeFileSync(shop.log('twice', 2), opening)
  },
}

const redacted: Golden = {
  name: 'v1-redacted',
  about: 'A body was taken away, and a redaction event says so.',
  exit: 0,
  runs: [{ run: 'erased', events: 4, redacted: [1] }],
  async build(shop) {
    const store = await shop.store()
    const run = await store.run('erased')
    await note(run, 'a secret')
    await note(run, 'no secret')
    await authorise(run, 1)
    await run.close()
    shop.keep()
    redact(shop.log('erased'), 1)
  },
}

const redactedStep: Golden = {
  name: 'v1-redacted-step',
  about: 'The output of a step and the end of a turn were redacted: both are closed all the same.',
  exit: 0,
  runs: [{ run: 'erased', events: 7, redacted: [3, 4] }],
  async build(shop) {
    const store = await shop.store()
    const run = await store.run('erased')
    await run.append('turn/start', { turn: 1 })
    await run.step('ask', { who: 'me' }, () => 'a secret')
    await run.append('turn/end', { turn: 1, reason: 'completed' })
    await run.release()
    await authorise(run, 3)
    await authorise(run, 4)
    await run.close()
    shop.keep()
    redact(shop.log('erased'), 3)
    redact(shop.log('erased'), 4)
  },
}

const longId: Golden = {
  name: 'v1-long-id',
  about: 'A run whose id is too long for a file name: only its first frame spells it.',
  exit: 0,
  runs: [{ run: 'Ünïcödé'.repeat(40), events: 2 }],
  async build(shop) {
    const store = await shop.store()
    const run = await store.run('Ünïcödé'.repeat(40))
    await note(run, 'one')
    await run.close()
    shop.keep()
  },
}

const redactionPending: Golden = {
  name: 'v1-redaction-pending',
  about: 'A redaction event names a body that is still there.',
  exit: 5,
  runs: [{ run: 'pending', events: 3, incomplete: 1 }],
  async build(shop) {
    const store = await shop.store()
    const run = await store.run('pending')
    await note(run, 'a secret')
    await authorise(run, 1)
    await run.close()
    shop.keep()
  },
}

/** A store as a later daglog would mark it. */
function marked(
  name: string,
  options: Pick<Golden, 'about' | 'exit' | 'opens'> & {
    readonly change: (manifest: Manifest) => void
  },
): Golden {
  const { change, ...rest } = options
  return {
    name,
    ...rest,
    runs: rest.opens === 'FORMAT_TOO_NEW' ? [] : [{ run: 'later', events: 2 }],
    async build(shop) {
      const store = await shop.store()
      const run = await store.run('later')
      await note(run, 'from the future')
      await run.close()
      await store.close()
      shop.keep()
      const path = shop.file('store.json')
      const manifest = JSON.parse(readFileSync(path, 'utf8')) as Manifest
      change(manifest)
      writeFileSync(path, `${JSON.stringify(manifest, null, 2)}\n`)
    },
  }
}

interface Manifest {
  format: { read: number; write: number }
  features: { mustUnderstand: string[]; readOk: string[] }
}

const newerWrite = marked('v1-newer-write', {
  about: 'A later write version and a feature that readers may ignore: opens to read only.',
  opens: 'read-only',
  exit: 0,
  change(manifest) {
    manifest.format.write = 2
    manifest.features.readOk.push('sealed-twice')
  },
})

const newerRead = marked('v1-newer-read', {
  about: 'A later read version: refused with words.',
  opens: 'FORMAT_TOO_NEW',
  exit: 1,
  change(manifest) {
    manifest.format = { read: 2, write: 2 }
  },
})

const unknownFeature = marked('v1-unknown-feature', {
  about: 'A feature that readers must understand: refused with words.',
  opens: 'FORMAT_TOO_NEW',
  exit: 1,
  change(manifest) {
    manifest.features.mustUnderstand.push('encrypted')
  },
})

const parentElsewhere: Golden = {
  name: 'v1-parent-elsewhere',
  about: 'A fork whose parent is not in this store.',
  exit: 5,
  runs: [{ run: 'child', events: 3, incomplete: 1 }],
  async build(shop) {
    const store = await shop.store()
    const parent = await store.run('parent')
    await note(parent, 'elsewhere')
    await parent.close()
    const child = await store.fork('parent', { id: 'child' })
    await note(child, 'here')
    await child.close()
    await store.deleteRun('parent', { force: true })
    await store.close()
    shop.keep()
  },
}

const storeLogTorn: Golden = {
  name: 'v1-store-log-torn',
  about:
    "The last head in the store's log is torn: what the run has after the one before is not covered.",
  exit: 5,
  storeLog: { incomplete: 1 },
  runs: [{ run: 'ahead', events: 3, coveredSeq: 0 }],
  async build(shop) {
    const store = await shop.store()
    const run = await store.run('ahead')
    await note(run, 'one')
    await note(run, 'two')
    await run.close()
    shop.keep()
    cut(shop.file('store.000000.jsonl'), 100)
  },
}

const noStoreLog: Golden = {
  name: 'v1-no-store-log',
  about: 'A run in a store whose own log never saw it: self-consistent, no more.',
  exit: 0,
  runs: [{ run: 'alone', events: 3, level: 'self-consistent', coveredSeq: -1 }],
  async build(shop) {
    const store = await shop.store()
    const run = await store.run('alone')
    await note(run, 'one')
    await note(run, 'two')
    await run.close()
    shop.keep()
    writeFileSync(shop.file('store.000000.jsonl'), '')
  },
}

const oddData: Golden = {
  name: 'v1-odd-data',
  about: 'Events of known types with data of a shape that nobody expects; users may append that.',
  exit: 0,
  runs: [{ run: 'odd', events: 6, level: 'self-consistent', coveredSeq: -1 }],
  async build(shop) {
    const store = await shop.store()
    const run = await store.run('odd')
    await run.append('turn/start', { turn: 1 })
    await run.append('assistant/message', { content: [{ type: 'tool_use', id: 'c1' } as never] })
    await run.append('tool/result', { id: 'c1', content: '' })
    await run.append('turn/end', { turn: 1, reason: 'completed' })
    await run.append('run-meta', { name: 'odd' })
    await run.close()
    shop.keep()
    const odd = ['null', '{"content":[null,7]}', '[]', '"text"', '7']
    for (const [n, data] of odd.entries())
      rewrite(shop.log('odd'), n + 1, (body) => body.replace(/"data":.*/, `"data":${data}}`))
    writeFileSync(shop.file('store.000000.jsonl'), '')
  },
}

/** An ended run whose log is long enough to be laid to rest, in two blocks. */
export async function rested(shop: Workshop, ...ids: string[]): Promise<void> {
  const store = await shop.store()
  for (const id of ids) {
    const run = await store.run(id)
    await run.append('assistant/chunk', { message: 0 as unknown as string, pieces: ['Let me ', 'look'], times: [0, 12] })
    await run.appendAll([
      { type: 'note', data: 'one' },
      { type: 'note', data: 'two' },
    ])
    for (let n = 4; n < 105; n++) await note(run, `${n} `.repeat(900))
    await run.end()
  }
}

const cold: Golden = {
  name: 'v1-cold',
  about: 'An ended run whose log was laid to rest, and one that goes on behind it.',
  exit: 0,
  runs: [
    { run: 'again', events: 107 },
    { run: 'ended', events: 106 },
  ],
  async build(shop) {
    await rested(shop, 'again', 'ended')
    const again = await (await shop.store()).openRun('again')
    await note(again, 'the next morning')
    await again.close()
    shop.keep()
  },
}

const state: Golden = {
  name: 'v1-state',
  about:
    'States: small, of many keys, with a long list and long texts; in a pack and in open objects.',
  exit: 0,
  runs: [
    { run: 'ended', events: 6, objects: 34 },
    { run: 'open', events: 6, objects: 30 },
  ],
  async build(shop) {
    const store = await shop.store()
    for (const id of ['open', 'ended']) {
      const run = await store.run(id)
      const keys = Object.fromEntries(
        Array.from({ length: 60 }, (_, n) => [`key ${n} of ${id}`, n]),
      )
      const list = Array.from({ length: 200 }, (_, n) => ({ n, text: `element ${n % 7}` }))
      await run.append('state/write', { value: { step: 1 } })
      await run.append('state/write', { value: { step: 2, keys, list } })
      await run.append('state/write', { value: { step: 3, keys: { ...keys, more: -1.5 }, list } })
      const odd = [undefined, -0, 2n ** 80n, new Date(0), new Uint8Array([7]), '\ud83d', null, true]
      await run.append('state/write', {
        value: { odd, page: page(id), ...(id === 'ended' && { long: page(id).repeat(20) }) },
      })
      if (id === 'ended') await run.end()
      else await note(run, 'not the end')
      await run.close()
    }
    shop.keep()
  },
}

export const whole: readonly Golden[] = [
  tiny,
  good,
  torn,
  tornAppend,
  recovered,
  takenOver,
  emptySegment,
  redacted,
  redactedStep,
  redactionPending,
  newerWrite,
  newerRead,
  unknownFeature,
  parentElsewhere,
  storeLogTorn,
  noStoreLog,
  longId,
  oddData,
  cold,
  state,
]
