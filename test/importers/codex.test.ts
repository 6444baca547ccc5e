import { createHash } from 'node:crypto'
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { usage } from '../../src/fold/usage.js'
import { importTranscripts } from '../../src/importers/import-transcripts.js'
import { rawBytes } from '../../src/importers/stored-lines.js'
import { unpacked } from '../../src/importers/zstd.js'
import { messages, type RunView, type Store } from '../../src/index.js'
import { usageOfRuns } from '../../src/store/usage-of-runs.js'
import { wholeHistory } from '../../src/store/whole-history.js'
import { bytesOf, call, count, line, meta, result, said } from '../fold/readers/rollouts.js'
import { temporaryDir, temporaryStore } from '../store/temporary.js'

const COMMON = [
  meta(),
  said('user', 'hi'),
  call('c'),
  result('c'),
  said('assistant', 'done'),
  count([9, 0, 1, 0], [9, 0, 1, 0]),
]

async function imported(store: Store, path: string): Promise<RunView[]> {
  const { files, leftOut } = await importTranscripts(store, [path], { program: 'test' })
  expect(leftOut).toEqual([])
  return Promise.all(files.map(({ run }) => store.inspectRun(run)))
}

async function raw(view: RunView): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const piece of rawBytes(view)) parts.push(piece)
  return Buffer.concat(parts)
}

/** A zstd frame whose blocks are not compressed: valid, and made without zstd. */
function zstdOf(bytes: Buffer, blockBytes = 100_000): Buffer {
  const parts: Buffer[] = [Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58])]
  for (let at = 0; at < bytes.length || at === 0; at += blockBytes) {
    const block = bytes.subarray(at, at + blockBytes)
    const last = at + blockBytes >= bytes.length ? 1 : 0
    const head = block.length * 8 + last
    parts.push(Buffer.from([head & 255, (head >> 8) & 255, head >> 16]), block)
  }
  return Buffer.concat(parts)
}

async function* chunksOf(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function joined(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const chunk of chunks) parts.push(Buffer.from(chunk))
  return Buffer.concat(parts)
}

describe('a packed rollout', () => {
  it('is read as what it unpacks to, and comes back as it was', async () => {
    const { store } = await temporaryStore()
    const dir = temporaryDir()
    const lines = bytesOf(COMMON)
    const path = join(dir, 'rollout-x.jsonl.zst')
    writeFileSync(path, zstdOf(lines))
    const [view] = await imported(store, dir)
    expect((await view?.project(messages))?.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
    ])
    expect(await raw(view as RunView)).toEqual(readFileSync(path))
    const stored = await view?.last('import/lines')
    expect(stored?.data.bytes).toEqual(new Uint8Array(lines))
    const { ok } = await store.verify(view?.id)
    expect(ok).toBe(true)
  })

  it('of several frames, in pieces of any size, is one stream; one that breaks off is an error', async () => {
    const [one, two] = [Buffer.from('a'.repeat(300_000)), Buffer.from('second frame')]
    const packed = Buffer.concat([zstdOf(one), zstdOf(two)])
    for (const size of [packed.length, 10_007])
      expect(await joined(unpacked(chunksOf(packed, size)))).toEqual(Buffer.concat([one, two]))
    for (const cut of [3, 20, 200_000, packed.length - 1])
      await expect(joined(unpacked(chunksOf(packed.subarray(0, cut), 4096)))).rejects.toMatchObject(
        { code: 'READ_FAILED' },
      )
  })

  it('is left alone where it lies beside the same file, unpacked', async () => {
    const { store } = await temporaryStore()
    const dir = temporaryDir()
    writeFileSync(join(dir, 'rollout-x.jsonl'), bytesOf(COMMON))
    writeFileSync(join(dir, 'rollout-x.jsonl.zst'), zstdOf(bytesOf(COMMON)))
    const [view, ...more] = await imported(store, dir)
    expect(more).toEqual([])
    expect(await raw(view as RunView)).toEqual(bytesOf(COMMON))
  })
})

/** Base64 of bytes that a seed decides; no two are the same. */
function image(number: number, bytes: number): string {
  const parts: Buffer[] = []
  for (let at = 0; at * 32 < bytes; at += 1)
    parts.push(createHash('sha256').update(`${number} ${at}`).digest())
  return `data:image/png;base64,${Buffer.concat(parts).subarray(0, bytes).toString('base64')}`
}

interface Seeded {
  readonly bytes: number
  /** Of all items each once, and of everything around them. */
  readonly unique: number
}

/**
 * A session that shows an image now and then and is compacted all the time: each time the whole
 * history again.
 */
function writeCompacted(
  path: string,
  compactions: number,
  images: number,
  imageBytes: number,
): Seeded {
  const file = openSync(path, 'w')
  const seen = new Set<string>()
  let [bytes, unique] = [0, 0]
  const put = (one: object, items: readonly object[]): void => {
    const text = `${JSON.stringify(one)}\n`
    writeSync(file, text)
    bytes += Buffer.byteLength(text)
    unique += Buffer.byteLength(text)
    for (const item of items) {
      const json = JSON.stringify(item)
      const key = createHash('sha256').update(json).digest('hex')
      if (seen.has(key)) unique -= json.length
      seen.add(key)
    }
  }
  const history: object[] = []
  put(meta(), [])
  for (let at = 0; at < compactions; at += 1) {
    if (history.length < images) {
      const content = [{ type: 'input_image', image_url: image(history.length, imageBytes) }]
      const shown = { type: 'message', role: 'user', content }
      history.push(shown)
      put(line('response_item', shown, at * 10), [shown])
    }
    put(said('assistant', `step ${at} is done`, at * 10 + 1), [])
    put(line('compacted', { message: '', replacement_history: history }, at * 10 + 2), history)
  }
  closeSync(file)
  return { bytes, unique }
}

const [COMPACTIONS, IMAGES, IMAGE_BYTES] =
  process.env.DAGLOG_LONG === undefined ? [120, 30, 12_000] : [588, 89, 12_000]

describe('T22, T23: a rollout that repeats its images with every compaction', () => {
  it(`is stored as what is new in it, reads right, and comes back (${COMPACTIONS} times ${IMAGES} images)`, async () => {
    const { store } = await temporaryStore()
    const dir = temporaryDir()
    const path = join(dir, 'rollout-long.jsonl')
    const { bytes, unique } = writeCompacted(path, COMPACTIONS, IMAGES, IMAGE_BYTES)
    const [view] = (await imported(store, path)) as [RunView]
    const { totals } = await store.du()
    expect(bytes / unique).toBeGreaterThan(10)
    expect(totals.stored / unique).toBeLessThan(1.05)

    const state = await view.project(messages)
    expect(state.map(({ role }) => role)).toEqual(Array.from({ length: IMAGES }, () => 'user'))
    const shown = state.at(-1)?.content as unknown as { data: Uint8Array }[]
    expect(shown[0]?.data.length).toBe(IMAGE_BYTES)
    let compactions = 0
    for await (const { data } of view.session({ types: ['compaction'] })) {
      compactions += 1
      // The compaction before it, an answer, and at first an image.
      expect((data as { replaces: unknown[] }).replaces.length).toBeLessThanOrEqual(3)
    }
    expect(compactions).toBe(COMPACTIONS)
    const hashed = createHash('sha256')
    for await (const piece of rawBytes(view)) hashed.update(piece)
    expect(hashed.digest('hex')).toBe(createHash('sha256').update(readFileSync(path)).digest('hex'))
  }, 600_000)
})

describe('T41: usage of a store', () => {
  it('counts what a fork copied once, wherever the files lie and in whatever order they come', async () => {
    const { store } = await temporaryStore()
    const dir = temporaryDir()
    mkdirSync(join(dir, 'archived_sessions'))
    const forked = meta({ id: 'fork', forked_from_id: 'own' }, 500)
    const own = count([29, 0, 2, 0], [20, 0, 1, 0], 600)
    writeFileSync(join(dir, 'a-fork.jsonl'), bytesOf([forked, ...COMMON, own]))
    writeFileSync(join(dir, 'archived_sessions', 'parent.jsonl'), bytesOf(COMMON))
    await imported(store, dir)
    const { calls, counted, missing } = await usageOfRuns(store)
    expect(await usageOfRuns(store)).toEqual(await usageOfRuns(store))
    expect(calls.map(({ usage }) => usage.inputTokens).sort()).toEqual([20, 9])
    expect([counted, missing]).toEqual([1, []])
    const alone = await usageOfRuns(store, ({ id }) => id.includes('fork'))
    expect(alone.missing).toEqual([{ session: 'own', calls: 1 }])
    const [fork] = (await store.runs()).filter(({ id }) => id.includes('fork'))
    expect((await (await store.inspectRun(fork?.id as string)).project(usage)).calls).toHaveLength(
      2,
    )
  })
})

describe('a fork by reference', () => {
  const numbered = (lines: readonly object[]): object[] =>
    lines.map((line, ordinal) => ({ ...line, ordinal }))
  const PARENT = numbered([
    meta({ id: 'own', history_mode: 'paginated' }),
    said('user', 'first', 1),
    said('assistant', 'one', 2),
    said('user', 'left in the parent', 3),
  ])
  const forkOf = (history_base: object, more: readonly object[] = []): Buffer =>
    bytesOf([
      meta({ id: 'fork', history_base, history_mode: 'paginated' }, 500),
      ...more,
      said('user', 'gone on', 501),
    ] as never)
  const texts = async (store: Store, id: string) => {
    const { messages, begins } = await wholeHistory(await store.inspectRun(id))
    return {
      texts: messages.map(({ content }) => (content as readonly { text: string }[])[0]?.text),
      begins,
    }
  }

  it('begins with the messages of its parent up to there, by ordinal or by bytes', async () => {
    const parent = bytesOf(PARENT as never)
    const bytes = bytesOf(PARENT.slice(0, 3) as never).length
    for (const end of [{ end_ordinal_exclusive: 3 }, { end_byte_offset: bytes }]) {
      const { store } = await temporaryStore()
      const dir = temporaryDir()
      const path = join(dir, 'fork.jsonl')
      writeFileSync(path, forkOf({ thread_id: 'own', ...end }))
      await imported(store, path)
      const [fork] = await store.runs()
      const id = fork?.id as string
      // Not here yet: said, not guessed.
      expect(await texts(store, id)).toEqual({
        texts: ['gone on'],
        begins: [{ session: 'own', run: undefined }],
      })
      writeFileSync(join(dir, 'parent.jsonl'), parent)
      await imported(store, join(dir, 'parent.jsonl'))
      const run = (await store.runs()).find((one) => one.id !== id)?.id
      expect(await texts(store, id)).toEqual({
        texts: ['first', 'one', 'gone on'],
        begins: [{ session: 'own', run }],
      })
      // A fork of the fork begins in both, and one that refers to itself is an end.
      const further = meta(
        { id: 'third', history_base: { thread_id: 'fork', end_ordinal_exclusive: 9 } },
        900,
      )
      const circle = meta(
        { id: 'circle', history_base: { thread_id: 'circle', end_byte_offset: 9 } },
        950,
      )
      writeFileSync(join(dir, 'third.jsonl'), bytesOf([further, said('user', 'further', 901)]))
      writeFileSync(join(dir, 'circle.jsonl'), bytesOf([circle, said('user', 'alone', 951)]))
      await imported(store, dir)
      const named = (part: string) =>
        store.runs().then((all) => all.find((one) => one.id.includes(part))?.id as string)
      expect((await texts(store, await named('third'))).texts).toEqual([
        'first',
        'one',
        'gone on',
        'further',
      ])
      expect(await texts(store, await named('circle'))).toMatchObject({
        texts: ['alone'],
        begins: [{ run: undefined }],
      })
    }
  })

  it('that was compacted since shows nothing of its parent any more', async () => {
    const { store } = await temporaryStore()
    const dir = temporaryDir()
    const compacted = line(
      'compacted',
      {
        message: 'sum',
        replacement_history: [
          { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'sum' }] },
        ],
      },
      500,
    )
    writeFileSync(join(dir, 'parent.jsonl'), bytesOf(PARENT as never))
    writeFileSync(
      join(dir, 'fork.jsonl'),
      forkOf({ thread_id: 'own', end_ordinal_exclusive: 3 }, [compacted]),
    )
    await imported(store, dir)
    const fork = (await store.runs()).find(({ id }) => id.includes('fork'))?.id as string
    expect(await texts(store, fork)).toEqual({ texts: ['sum', 'gone on'], begins: [] })
  })
})
