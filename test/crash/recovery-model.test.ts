/**
 * The rule of recovery against the code that follows it: every small history of appends, and every
 * way a crash can leave the frames that had not reached the disk; and random long ones.
 * The rule is written again here, in a few lines, over frames that are whole or not.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Backend } from '../../src/backend/backend.js'
import { bodyText, type Ref } from '../../src/core/body.js'
import { sha256 } from '../../src/core/hash.js'
import { LogReader } from '../../src/store/log-reader.js'
import { shapeOf } from '../../src/store/log-shape.js'
import { readTail, type Tail } from '../../src/store/log-tail.js'
import { bodyOf, logOf, SALT, type TestLog } from '../core/frames.js'

/**
 * One atomic append, and whether a sync of all so far followed: one that the writer learned of, or
 * died in.
 */
interface ModelAppend {
  readonly size: number
  readonly sync: 'none' | 'done' | 'known'
  /** Its frames have a value each, whose objects are on the disk or not. */
  readonly objects?: 'there' | 'missing'
}

interface ModelFrame {
  readonly lag: number
  readonly left: number
  readonly objects?: 'there' | 'missing' | undefined
}

interface History {
  readonly frames: readonly ModelFrame[]
  /** How many frames had certainly reached the disk. */
  readonly durable: number
  /** How many frames were acknowledged. */
  readonly acknowledged: number
}

/** What a crash left of one frame. */
type Fate = 'whole' | 'zeros'

function historyOf(appends: readonly ModelAppend[]): History {
  const frames: ModelFrame[] = []
  let durable = 0
  let acknowledged = 0
  for (const { size, sync, objects } of appends) {
    for (let part = 1; part <= size; part += 1)
      frames.push({ lag: frames.length - acknowledged, left: size - part, objects })
    if (sync !== 'none') durable = frames.length
    if (sync === 'known') acknowledged = frames.length
  }
  return { frames, durable, acknowledged }
}

/** The rule. `covered`: how many frames a head in the store's log covers. */
function recover(
  frames: readonly (ModelFrame & { readonly fate: Fate })[],
  covered: number,
): 'damage' | { readonly keep: number } {
  const whole = frames.findIndex(({ fate }) => fate !== 'whole')
  const firstBad = whole < 0 ? frames.length : whole
  if (firstBad < covered) return 'damage'
  const isProven = frames.some(
    ({ fate, lag }, seq) => fate === 'whole' && seq > firstBad && seq - lag - 1 >= firstBad,
  )
  if (isProven) return 'damage'
  const known = frames.slice(0, firstBad).map(({ lag }, seq) => seq - lag)
  const settled = Math.max(covered, ...known)
  let keep = frames
    .slice(0, firstBad)
    .findIndex(({ objects }, seq) => objects === 'missing' && seq >= settled)
  if (keep < 0) keep = firstBad
  while (keep > 0 && (frames[keep - 1] as ModelFrame).left > 0) keep -= 1
  return { keep }
}

const HASH = sha256(Buffer.from('value'))
const MISSING = sha256(Buffer.from('missing'))

function bytesOf({ frames }: History): TestLog {
  return logOf(
    frames.map(({ lag, left, objects }) => {
      if (objects === undefined) return { head: { lag, left }, body: bodyOf(null) }
      const root = objects === 'there' ? HASH : MISSING
      const ref: Ref = { pointer: '', sha256: root, root, size: 5000, kind: 'text' }
      const body = bodyText({ salt: SALT, inline: 'null', refs: [ref], tags: [] })
      return { head: { lag, left }, body }
    }),
  )
}

/** The log as a crash left it: some frames, and the first `tornBytes` of the next one. */
function crashed(log: TestLog, fates: readonly Fate[], tornBytes: number): Buffer {
  const parts = fates.map((fate, seq) => {
    const line = log.lines[seq] as Buffer
    return fate === 'whole' ? line : Buffer.alloc(line.length)
  })
  const next = log.lines[fates.length]?.subarray(0, tornBytes) ?? Buffer.alloc(0)
  return Buffer.concat([...parts, next])
}

function tailOf(bytes: Buffer, covered: number): Promise<Tail> {
  const backend = {
    segments: async () => [{ number: 0, bytes: bytes.length, durable: 0 }],
    read: async (_log: unknown, _segment: number, from: number, length: number) =>
      bytes.subarray(from, from + length),
  } as unknown as Backend
  const reader = new LogReader(backend, { run: 'r' })
  return shapeOf(reader).then((shape) =>
    readTail(reader, {
      shape,
      coveredSeq: covered - 1,
      hasObject: async ({ root }) => root === HASH,
      onFrame: () => {},
    }),
  )
}

interface Crash {
  readonly history: History
  readonly log: TestLog
  readonly fates: readonly Fate[]
  readonly tornBytes: number
  readonly covered: number
}

/** Ask both, and require one answer. */
async function compare({ history, log, fates, tornBytes, covered }: Crash) {
  const found = [...fates, ...(tornBytes > 0 ? (['zeros'] as const) : [])]
  const frames = found.map((fate, seq) => ({ ...(history.frames[seq] as ModelFrame), fate }))
  const ruled = recover(frames, covered)
  const bytes = crashed(log, fates, tornBytes)
  const { head, torn, damage } = await tailOf(bytes, covered)
  if (ruled === 'damage') {
    expect({ damage, torn }).toMatchObject({ damage: expect.anything(), torn: undefined })
    return ruled
  }
  expect(damage).toBeUndefined()
  expect((head?.seq ?? -1) + 1).toBe(ruled.keep)
  const offset = log.ends[ruled.keep - 1] ?? 0
  const cut = torn === undefined ? 0 : bytes.length - torn.offset
  expect([torn?.offset ?? offset, torn?.bytes ?? 0]).toEqual([offset, cut])
  expect(cut).toBe(bytes.length - offset)
  return ruled
}

/** An honest crash: what was durable is whole. */
async function compareHonest(crash: Omit<Crash, 'covered'>): Promise<void> {
  const { history } = crash
  for (const covered of new Set([0, history.acknowledged])) {
    const ruled = await compare({ ...crash, covered })
    expect(ruled).not.toBe('damage')
    if (ruled !== 'damage') expect(ruled.keep).toBeGreaterThanOrEqual(history.acknowledged)
  }
}

function* histories(appendsMax: number): Generator<readonly ModelAppend[]> {
  function* after(list: readonly ModelAppend[]): Generator<readonly ModelAppend[]> {
    if (list.length > 0) yield list
    if (list.length === appendsMax) return
    for (const size of [1, 2, 3])
      for (const sync of ['none', 'done', 'known'] as const) yield* after([...list, { size, sync }])
  }
  yield* after([])
}

/** Every length and every subset of what was not durable. */
function* crashesOf({ frames, durable }: History): Generator<readonly Fate[]> {
  for (let length = durable; length <= frames.length; length += 1) {
    for (let mask = 0; mask < 2 ** (length - durable); mask += 1) {
      yield Array.from({ length }, (_, seq) =>
        seq < durable || (mask >> (seq - durable)) & 1 ? 'whole' : 'zeros',
      )
    }
  }
}

/** Lengths at which the write of a line may have stopped. */
function cutsOf(line: Buffer | undefined): number[] {
  return line === undefined ? [0] : [0, 1, line.length >> 1, line.length - 2, line.length - 1]
}

const lastLoss = (fates: readonly Fate[], seq: number): Fate[] =>
  fates.map((fate, index) => (index === seq ? 'zeros' : fate))

describe('recovery follows its rule', () => {
  it('in every history of up to three appends, in every crash of it', async () => {
    const counts = { histories: 0, states: 0, tampered: 0 }
    for (const appends of histories(3)) {
      const history = historyOf(appends)
      const log = bytesOf(history)
      counts.histories += 1
      for (const fates of crashesOf(history)) {
        for (const tornBytes of cutsOf(log.lines[fates.length])) {
          await compareHonest({ history, log, fates, tornBytes })
          counts.states += 1
        }
        // Not honest: a frame that was acknowledged is no longer what it was.
        for (let seq = 0; seq < history.acknowledged; seq += 1) {
          const tampered = { history, log, fates: lastLoss(fates, seq), tornBytes: 0 }
          await compare({ ...tampered, covered: 0 })
          const covered = await compare({ ...tampered, covered: history.acknowledged })
          expect(covered).toBe('damage')
          counts.tampered += 1
        }
      }
    }
    console.log(
      `${counts.histories} histories, ${counts.states} states, ${counts.tampered} tampered`,
    )
    expect(counts.histories).toBe(819)
  })

  it('wherever a write is cut', async () => {
    for (const appends of histories(1)) {
      const history = historyOf([{ size: 1, sync: 'known' }, ...appends])
      const log = bytesOf(history)
      for (let length = history.durable; length < history.frames.length; length += 1) {
        const fates = Array.from({ length }, (): Fate => 'whole')
        for (let tornBytes = 0; tornBytes < (log.lines[length] as Buffer).length; tornBytes += 1)
          await compareHonest({ history, log, fates, tornBytes })
      }
    }
  })

  const append = fc.record({
    size: fc.integer({ min: 1, max: 4 }),
    sync: fc.constantFrom('none' as const, 'done' as const, 'known' as const),
    objects: fc.constantFrom(undefined, undefined, 'there' as const, 'missing' as const),
  })

  it('in long histories, with values whose objects were lost', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(append, { minLength: 1, maxLength: 12 }),
        fc.array(fc.boolean(), { minLength: 48, maxLength: 48 }),
        fc.nat(),
        fc.nat(),
        async (drawn, losses, lengthSeed, tornSeed) => {
          // Objects are synced with the frames that name them: only of an unsynced append may they
          // be gone.
          const lastSync = drawn.findLastIndex(({ sync }) => sync !== 'none')
          const history = historyOf(
            drawn.map((each, index) => ({
              ...each,
              objects: index <= lastSync && each.objects === 'missing' ? 'there' : each.objects,
            })),
          )
          const { frames, durable } = history
          const length = durable + (lengthSeed % (frames.length - durable + 1))
          const fates = Array.from({ length }, (_, seq) =>
            seq >= durable && losses[seq] === true ? 'zeros' : 'whole',
          )
          const log = bytesOf(history)
          const tornBytes = tornSeed % (log.lines[length]?.length ?? 1)
          await compareHonest({ history, log, fates, tornBytes })
        },
      ),
      { numRuns: process.env.DAGLOG_LONG === undefined ? 1000 : 50_000 },
    )
  })

  it('also where anything may be gone: then both call it damage, or both keep as much', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(append, { minLength: 1, maxLength: 8 }),
        fc.array(fc.boolean(), { minLength: 32, maxLength: 32 }),
        fc.nat(),
        async (appends, losses, coveredSeed) => {
          const history = historyOf(appends)
          const covered = coveredSeed % (history.frames.length + 1)
          const fates = history.frames.map((_, seq) => (losses[seq] === true ? 'zeros' : 'whole'))
          await compare({ history, log: bytesOf(history), fates, tornBytes: 0, covered })
        },
      ),
      { numRuns: process.env.DAGLOG_LONG === undefined ? 1000 : 50_000 },
    )
  })
})
