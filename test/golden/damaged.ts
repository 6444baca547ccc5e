/**
 * Golden stores in which something is wrong, and what both verifiers must say of it.
 */
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Run } from '../../src/store/run.js'
import { cut, flip, flipByte, linesOf, redact, rewrite, writeLines } from './tamper.js'
import { authorise, note, page, rested } from './whole.js'
import type { Golden, Verdict, Workshop } from './workshop.js'

/** Runs of `events` frames each, closed, so that the store's log has their heads. */
async function closed(shop: Workshop, ids: readonly string[], events = 4): Promise<void> {
  const store = await shop.store()
  for (const id of ids) {
    const run = await store.run(id)
    for (let n = 1; n < events; n++) await note(run, `number ${n} of ${id}`)
    await run.close()
  }
  shop.keep()
}

/** Runs of four frames whose writer was killed: only frame 0 is under a head. */
async function killed(shop: Workshop, ids: readonly string[]): Promise<void> {
  const store = await shop.store()
  for (const id of ids) {
    const run = await store.run(id)
    for (let n = 1; n < 4; n++) await note(run, `number ${n} of ${id}`)
  }
  shop.keep()
}

const cutTail: Golden = {
  name: 'v1-cut-tail',
  about: 'The end of closed runs is missing: after a whole frame, inside a frame, all of it.',
  exit: 3,
  runs: [
    { run: 'all', events: 0, coveredSeq: 5, problems: [['head', 5]], incomplete: 1 },
    { run: 'frames', events: 4, coveredSeq: 5, problems: [['head', 5]] },
    {
      run: 'inside',
      events: 5,
      coveredSeq: 5,
      problems: [
        ['frame', 5],
        ['head', 5],
      ],
    },
  ],
  async build(shop) {
    await closed(shop, ['all', 'frames', 'inside'], 6)
    writeFileSync(shop.log('all'), '')
    writeLines(shop.log('frames'), linesOf(shop.log('frames')).slice(0, 4))
    cut(shop.log('inside'), 40)
  },
}

/** One run for each place where a bit can be flipped. Line 2 is in the middle, line 3 the last. */
const FLIPS: readonly (readonly [run: string, line: number, what: string | number])[] = [
  ['body', 2, 'number'],
  ['brace', 2, -2],
  ['commit', 2, 'commit":"'],
  ['genesis', 0, 'nonce'],
  ['hash', 2, '"hash":"'],
  ['head', 2, '"time":1'],
  ['last-body', 3, 'number'],
  ['last-brace', 3, -2],
  ['last-newline', 3, -1],
  ['newline', 2, -1],
  ['salt', 2, 'salt":"'],
]

function flipVerdict([run, line]: (typeof FLIPS)[number]): Verdict {
  const coveredSeq = 3
  if (line === 3)
    return {
      run,
      events: 3,
      coveredSeq,
      problems: [
        ['frame', 3],
        ['head', 3],
      ],
    }
  return { run, events: 3, head: 3, coveredSeq, problems: [['frame', line]] }
}

const flipped: Golden = {
  name: 'v1-flipped',
  about: 'One bit flipped in closed runs: each run is named after where.',
  exit: 3,
  runs: FLIPS.map(flipVerdict),
  async build(shop) {
    await closed(
      shop,
      FLIPS.map(([run]) => run),
    )
    for (const [run, line, what] of FLIPS) flip(shop.log(run), line, what)
  },
}

const flippedOpen: Golden = {
  name: 'v1-flipped-open',
  about:
    'One bit flipped in runs that were never closed: what a crash can do is torn, the rest is damage.',
  exit: 3,
  runs: [
    { run: 'before-last', events: 3, head: 3, coveredSeq: 0, problems: [['frame', 2]] },
    { run: 'last-body', events: 3, coveredSeq: 0, incomplete: 1 },
    { run: 'last-brace', events: 3, coveredSeq: 0, problems: [['frame', 3]] },
    { run: 'last-newline', events: 3, coveredSeq: 0, problems: [['frame', 3]] },
    { run: 'unsynced', events: 4, coveredSeq: 0, incomplete: 1 },
  ],
  async build(shop) {
    await killed(shop, ['before-last', 'last-body', 'last-brace', 'last-newline'])
    const store = await shop.store()
    const run = await store.run('unsynced')
    for (let n = 1; n < 4; n++) await note(run, `number ${n}`)
    for (let n = 4; n < 7; n++)
      await run.append('assistant/chunk', { message: 0 as unknown as string, pieces: [`${n}`], times: [n] })
    shop.keep()
    flip(shop.log('before-last'), 2, 'number')
    flip(shop.log('last-body'), 3, 'number')
    flip(shop.log('last-brace'), 3, -2)
    flip(shop.log('last-newline'), 3, -1)
    flip(shop.log('unsynced'), 4, 'pieces')
  },
}

const swappedFrames: Golden = {
  name: 'v1-swapped-frames',
  about: 'Two neighbouring frames have changed places.',
  exit: 3,
  runs: [
    {
      run: 'swapped',
      events: 7,
      head: 8,
      coveredSeq: 8,
      problems: [
        ['frame', 3],
        ['frame', 4],
      ],
    },
  ],
  async build(shop) {
    await closed(shop, ['swapped'], 9)
    const lines = linesOf(shop.log('swapped'))
    writeLines(shop.log('swapped'), [...lines.slice(0, 3), lines[4]!, lines[3]!, ...lines.slice(5)])
  },
}

const missingObject: Golden = {
  name: 'v1-missing-object',
  about: 'Values are gone: with the open objects, with a flipped bit in them, with the only pack.',
  exit: 3,
  runs: [
    { run: 'bit', events: 3, coveredSeq: 2, problems: [['object', 2]], objects: 1 },
    {
      run: 'file',
      events: 3,
      coveredSeq: 2,
      problems: [
        ['object', 1],
        ['object', 2],
      ],
    },
    { run: 'pack', events: 3, coveredSeq: 2, problems: [['object', 1]] },
    { run: 'state', events: 2, coveredSeq: 1, problems: [['object', 1]] },
  ],
  async build(shop) {
    const store = await shop.store()
    for (const id of ['bit', 'file']) {
      const run = await store.run(id)
      await note(run, page(`first of ${id}`))
      await note(run, page(`second of ${id}`))
      await run.close()
    }
    const state = await store.run('state')
    await state.append('state/write', { value: { step: 1 } })
    await state.close()
    const pack = await store.run('pack')
    await note(pack, page('packed'))
    await pack.end()
    shop.keep()
    rmSync(shop.file('runs', 'file', 'objects.open'))
    rmSync(shop.file('runs', 'state', 'objects.open'))
    const open = shop.file('runs', 'bit', 'objects.open')
    flipByte(open, readFileSync(open).indexOf('second'))
    rmSync(shop.file('packs'), { recursive: true })
  },
}

const damagedPack: Golden = {
  name: 'v1-damaged-pack',
  about: 'One bit flipped in the only block of a pack.',
  exit: 3,
  runs: [{ run: 'packed', events: 3, problems: [['object', 1]], coveredSeq: 2 }],
  async build(shop) {
    const store = await shop.store()
    const run = await store.run('packed')
    await note(run, page('packed'))
    await run.end()
    shop.keep()
    const name = readdirSync(shop.file('packs')).find((file) => file.endsWith('.pack')) as string
    flipByte(shop.file('packs', name), 60)
  },
}

const redactedSilently: Golden = {
  name: 'v1-redacted-silently',
  about: 'A body was taken away, and no redaction event says so.',
  exit: 3,
  runs: [{ run: 'erased', events: 4, problems: [['redaction', 1]], redacted: [1], coveredSeq: 3 }],
  async build(shop) {
    await closed(shop, ['erased'])
    redact(shop.log('erased'), 1)
  },
}

const redactedRedaction: Golden = {
  name: 'v1-redacted-redaction',
  about:
    'A redaction event was itself redacted, and another names it: nobody is told what is gone.',
  exit: 3,
  runs: [{ run: 'hidden', events: 3, problems: [['redaction', 1]], redacted: [1], coveredSeq: 2 }],
  async build(shop) {
    const store = await shop.store()
    const run = await store.run('hidden')
    await authorise(run, 7)
    await authorise(run, 1)
    await run.close()
    shop.keep()
    redact(shop.log('hidden'), 1)
  },
}

const storeLogDamaged: Golden = {
  name: 'v1-store-log-damaged',
  about: "One bit flipped in the store's own log: the heads behind it are not known.",
  exit: 3,
  storeLog: { ok: false },
  runs: [
    { run: 'after', events: 4, level: 'self-consistent', coveredSeq: -1 },
    { run: 'before', events: 4 },
  ],
  async build(shop) {
    await closed(shop, ['before'])
    const store = await shop.store()
    await (await store.run('between')).close()
    await store.deleteRun('between')
    await closed(shop, ['after'])
    flip(shop.file('store.000000.jsonl'), 5, 'summary')
  },
}

const headBeforeDamage: Golden = {
  name: 'v1-head-before-damage',
  about: "One bit flipped in the store's own log, right behind a head: that head still counts.",
  exit: 3,
  storeLog: { ok: false },
  runs: [{ run: 'run', events: 2, problems: [['head', 3]], coveredSeq: 3 }],
  async build(shop) {
    await closed(shop, ['run', 'next'])
    rmSync(shop.file('runs', 'next'), { recursive: true })
    flip(shop.file('store.000000.jsonl'), 3, 'summary')
    writeLines(shop.log('run'), linesOf(shop.log('run')).slice(0, 2))
  },
}

const copiedOver: Golden = {
  name: 'v1-copied-over',
  about: 'The directory of one run was copied over that of another.',
  exit: 3,
  runs: [
    { run: 'one', events: 4, problems: [['identity', 0]], coveredSeq: 3 },
    { run: 'other', events: 4 },
  ],
  async build(shop) {
    await closed(shop, ['one', 'other'])
    rmSync(shop.file('runs', 'one'), { recursive: true })
    cpSync(shop.file('runs', 'other'), shop.file('runs', 'one'), { recursive: true })
  },
}

const runGone: Golden = {
  name: 'v1-run-gone',
  about: "The directory of a run is gone, and no deletion is in the store's log.",
  exit: 3,
  runs: [
    { run: 'gone', events: 0, problems: [['head', 3]], incomplete: 1, coveredSeq: 3 },
    { run: 'here', events: 4 },
  ],
  async build(shop) {
    await closed(shop, ['gone', 'here'])
    rmSync(shop.file('runs', 'gone'), { recursive: true })
  },
}

const parentRewritten: Golden = {
  name: 'v1-parent-rewritten',
  about: 'A parent was rewritten, with right hashes, where a fork had begun.',
  exit: 3,
  runs: [
    { run: 'child', events: 3, problems: [['parent', 0]], coveredSeq: 2 },
    { run: 'parent', events: 4, problems: [['head', 3]], coveredSeq: 3 },
  ],
  async build(shop) {
    await closed(shop, ['parent'])
    const store = await shop.store()
    const child = await store.fork('parent', { at: 2, id: 'child' })
    await note(child, 'from here on otherwise')
    await child.close()
    shop.keep()
    rewrite(shop.log('parent'), 2, (body) => body.replace('number', 'humber'))
  },
}

/** A run in three segments: two writers were fenced. Nine frames: 0-2, 3-5, 6-8. */
async function threeSegments(shop: Workshop): Promise<void> {
  let run: Run | undefined
  for (const pid of [4242, 4343, 4444]) {
    const store = await shop.store(pid)
    run = pid === 4242 ? await store.run('run') : await store.openRun('run', { force: true })
    await note(run, `first of ${pid}`)
    await note(run, `second of ${pid}`)
  }
  await run?.close()
  shop.keep()
}

const segmentRewritten: Golden = {
  name: 'v1-segment-rewritten',
  about: 'The first segment was rewritten, with right hashes; the next one follows another head.',
  exit: 3,
  runs: [{ run: 'run', events: 9, problems: [['frame', 3]], coveredSeq: 8 }],
  async build(shop) {
    await threeSegments(shop)
    rewrite(shop.log('run'), 1, (body) => body.replace('first', 'worst'))
  },
}

const segmentLost: Golden = {
  name: 'v1-segment-lost',
  about: 'The first segment is gone.',
  exit: 3,
  runs: [{ run: 'run', events: 6, head: 8, problems: [['frame', 0]], coveredSeq: 8 }],
  async build(shop) {
    await threeSegments(shop)
    rmSync(shop.log('run'))
  },
}

const segmentCut: Golden = {
  name: 'v1-segment-cut',
  about: 'The first segment ends a frame before the length that the next one counts.',
  exit: 3,
  runs: [{ run: 'run', events: 8, head: 8, problems: [['frame', 2]], coveredSeq: 8 }],
  async build(shop) {
    await threeSegments(shop)
    writeLines(shop.log('run'), linesOf(shop.log('run')).slice(0, 2))
  },
}

const segmentStart: Golden = {
  name: 'v1-segment-start',
  about: 'One bit flipped in the frame that links the middle segment to the first.',
  exit: 3,
  runs: [
    {
      run: 'run',
      events: 8,
      head: 8,
      problems: [['frame', 3]],
      coveredSeq: 8,
    },
  ],
  async build(shop) {
    await threeSegments(shop)
    flip(shop.log('run', 1), 0, 'epoch')
  },
}

const segmentStartOpen: Golden = {
  name: 'v1-segment-start-open',
  about:
    'One bit flipped in the first frame of the last segment, which others show to have been durable.',
  exit: 3,
  runs: [
    {
      run: 'run',
      events: 5,
      head: 5,
      problems: [['frame', 3]],
      coveredSeq: 0,
    },
  ],
  async build(shop) {
    const dead = await shop.store()
    const first = await dead.run('run')
    await note(first, 'one')
    await note(first, 'two')
    const next = await shop.store(4343, 'dead')
    const run = await next.openRun('run')
    await note(run, 'three')
    await note(run, 'four')
    shop.keep()
    flip(shop.log('run', 1), 0, 'epoch')
  },
}

const lateHead: Golden = {
  name: 'v1-late-head',
  about: 'A lower head of the run was noted after a higher one, and the run was cut back to it.',
  exit: 3,
  runs: [{ run: 'run', events: 2, problems: [['head', 3]], coveredSeq: 3 }],
  async build(shop) {
    const store = await shop.store()
    const run = await store.run('run')
    await note(run, 'number 1')
    await run.release()
    await note(run, 'number 2')
    await note(run, 'number 3')
    await run.close()
    const heads = linesOf(join(shop.live, 'store.000000.jsonl'))
    const noted = JSON.parse(heads[2] as string).body.data
    await store.context.heads.note([{ type: 'run/head', data: noted }])
    shop.keep()
    writeLines(shop.log('run'), linesOf(shop.log('run')).slice(0, 2))
  },
}

const malformedBody: Golden = {
  name: 'v1-malformed-body',
  about: 'All hashes are right, but two bodies are not of this format: a writer that is not ours.',
  exit: 3,
  runs: [
    {
      run: 'run',
      events: 4,
      coveredSeq: -1,
      problems: [
        ['frame', 1],
        ['frame', 2],
      ],
    },
  ],
  async build(shop) {
    const store = await shop.store()
    const run = await store.run('run')
    await run.append('turn/start', { turn: 1 })
    await note(run, 'with refs')
    await note(run, 'all right')
    await run.close()
    shop.keep()
    rewrite(shop.log('run'), 1, (body) => body.replace(/"data":.*/, '"daten":{"turn":1}}'))
    rewrite(shop.log('run'), 2, (body) => body.replace('"data"', '"refs":[["/a"]],"data"'))
    writeFileSync(shop.file('store.000000.jsonl'), '')
  },
}

const coldDamaged: Golden = {
  name: 'v1-cold-damaged',
  about: 'One bit flipped in logs at rest: in the second block, in the footer.',
  exit: 3,
  runs: [
    {
      run: 'block',
      events: 93,
      coveredSeq: 105,
      problems: [
        ['frame', 93],
        ['head', 105],
      ],
    },
    { run: 'footer', events: 106, problems: [['medium', 106]], coveredSeq: 105 },
  ],
  async build(shop) {
    await rested(shop, 'block', 'footer')
    shop.keep()
    flipByte(shop.file('runs', 'block', 'log.000000.z'), -200)
    flipByte(shop.file('runs', 'footer', 'log.000000.z'), -30)
  },
}

const coldUncovered: Golden = {
  name: 'v1-cold-uncovered',
  about: 'One bit flipped in a log at rest that no head covers: it was durable, so it is not torn.',
  exit: 3,
  runs: [{ run: 'block', events: 93, coveredSeq: -1, problems: [['frame', 93]] }],
  async build(shop) {
    await rested(shop, 'block')
    shop.keep()
    flipByte(shop.file('runs', 'block', 'log.000000.z'), -200)
    writeFileSync(shop.file('store.000000.jsonl'), '')
  },
}

export const damaged: readonly Golden[] = [
  cutTail,
  flipped,
  flippedOpen,
  swappedFrames,
  missingObject,
  damagedPack,
  redactedSilently,
  redactedRedaction,
  storeLogDamaged,
  headBeforeDamage,
  copiedOver,
  runGone,
  parentRewritten,
  segmentRewritten,
  segmentLost,
  segmentCut,
  segmentStart,
  segmentStartOpen,
  lateHead,
  malformedBody,
  coldDamaged,
  coldUncovered,
]
