import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Hash } from '../../src/core/hash.js'
import { memory, openStore, type Run } from '../../src/index.js'
import { Search, type SearchHit, type SearchOptions } from '../../src/store/search.js'
import { Pattern } from '../../src/store/search-pattern.js'
import { RopeSearch } from '../../src/store/search-rope.js'
import { Needle } from '../../src/value/needle.js'
import { writeRope } from '../../src/value/rope.js'
import { redacted } from '../core/frames.js'
import { linesOf, user } from '../fold/readers/claude-lines.js'
import { bytesOf, meta, said } from '../fold/readers/rollouts.js'
import { logPath, tamper, temporaryStore } from './temporary.js'

/** Every place of a plain text, overlapping ones left out. */
function placesIn(bytes: Buffer, text: string): number[] {
  const places: number[] = []
  const wanted = Buffer.from(text)
  for (let at = bytes.indexOf(wanted); at >= 0; at = bytes.indexOf(wanted, at + wanted.length))
    places.push(at)
  return places
}

function ropeOf(bytes: Buffer, objects: Map<string, Uint8Array>) {
  const { root, rootKind, size } = writeRope(bytes, (object) => {
    objects.set(object.hash, Buffer.from(object.bytes))
  })
  return { hash: root, kind: rootKind, size }
}

describe('a text in a rope', () => {
  it('is found wherever it stands, across objects too, and in every value that shares them', async () => {
    let seed = 7
    const random = (): number => {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
      return seed / 2 ** 32
    }
    const letters = (length: number): string =>
      Array.from({ length }, () => 'abcdef'[Math.floor(random() * 6)]).join('')
    const base = Array.from({ length: 3000 }, () => `${letters(40)}\n`).join('')
    // Long enough to be rare, short enough to be there; some span the ends of objects.
    const texts = Array.from({ length: 40 }, () => {
      const at = Math.floor(random() * (base.length - 40))
      return base.slice(at, at + 6 + Math.floor(random() * 30))
    })
    const objects = new Map<string, Uint8Array>()
    const values = [base, `${base}${letters(5000)}`, `${letters(900)}${base}`, base.repeat(2)]
    const ropes = values.map(
      (value) => [Buffer.from(value), ropeOf(Buffer.from(value), objects)] as const,
    )
    for (const text of [...texts, 'nowhere', 'a', 'ab']) {
      const search = new RopeSearch(new Needle(text))
      for (const [bytes, rope] of ropes) {
        const found: number[] = []
        for await (const { at } of search.find(rope, (hash) => objects.get(hash) as Uint8Array))
          found.push(at)
        // What overlaps itself across an end may be told from another start.
        if (text.length > 2) expect([text, found]).toEqual([text, placesIn(bytes, text)])
        else expect(found.length).toBeGreaterThan(1000)
      }
    }
  })

  it('is looked for once in an object that many values share', async () => {
    const objects = new Map<string, Uint8Array>()
    const value = Buffer.from(Array.from({ length: 20_000 }, (_, at) => `line ${at}\n`).join(''))
    const rope = ropeOf(value, objects)
    const search = new RopeSearch(new Needle('is not there'))
    const loaded: Hash[] = []
    for (let round = 0; round < 5; round += 1) {
      for await (const _ of search.find(rope, (hash) => {
        loaded.push(hash)
        return objects.get(hash) as Uint8Array
      }));
    }
    expect(loaded.length).toBe(new Set(loaded).size)
    expect(search.read.bytes).toBe(value.length)
    expect(search.read.skippedBytes).toBe(4 * value.length)
  })

  it('may be written in JSON, or in JSON inside JSON', () => {
    const text = 'say "é\n"'
    const json = JSON.stringify({ text })
    const ascii = json.replace('é', '\\u00e9')
    for (const form of [text, json, ascii, JSON.stringify({ json })])
      expect(new Needle(text).find(Buffer.from(`..${form}..`))).toHaveLength(1)
    expect(new Needle('plain').forms).toHaveLength(1)
  })
})

describe('a pattern', () => {
  const find = async (pattern: Pattern, chunks: readonly Buffer[]) => {
    const found: (readonly [number, number])[] = []
    const stream = (async function* () {
      yield* chunks
    })()
    for await (const { at, length } of pattern.find(stream)) found.push([at, length])
    return found
  }

  it('matches in whole lines, however the bytes arrive, at byte offsets', async () => {
    const line = `${'ü'.repeat(300)} error 42 ${'x'.repeat(300)}\n`
    const bytes = Buffer.from(line.repeat(3000))
    const lineBytes = Buffer.byteLength(line)
    const expected = Array.from({ length: 3000 }, (_, at) => [at * lineBytes + 601, 8])
    for (const size of [bytes.length, 100_003]) {
      const chunks: Buffer[] = []
      for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size))
      expect(await find(new Pattern('err[o]r \\d+'), chunks)).toEqual(expected)
    }
  })

  it('sees no text in bytes that are none, and its places do not shift', async () => {
    const bytes = Buffer.concat([Buffer.from([0xff, 0xfe, 0x80]), Buffer.from('needle')])
    expect(await find(new Pattern('ne+dle'), [bytes])).toEqual([[3, 6]])
  })

  it('that takes for ever is an error, not a hang', async () => {
    const bytes = Buffer.from(`${'a'.repeat(60)}b`)
    await expect(find(new Pattern('^(a+)+$', { limitMs: 200 }), [bytes])).rejects.toMatchObject({
      code: 'LIMIT_EXCEEDED',
    })
  })

  it('that is none is told', () => {
    expect(() => new Pattern('(')).toThrow(expect.objectContaining({ code: 'USAGE' }))
    expect(() => new Search({ text: '' })).toThrow(expect.objectContaining({ code: 'USAGE' }))
  })
})

async function searched(
  work: (run: Run) => Promise<unknown>,
  options: SearchOptions,
): Promise<{ hits: SearchHit[]; search: Search }> {
  const store = await openStore(memory())
  const run = await store.createRun({ id: 'r' })
  await work(run)
  await run.close()
  const search = new Search(options)
  const hits: SearchHit[] = []
  for await (const hit of search.run(await store.inspectRun('r'))) hits.push(hit)
  await store.close()
  return { hits, search }
}

describe('a search', () => {
  it('finds what a model that reads every event would find', async () => {
    const text = fc.string({
      unit: fc.constantFrom('a', 'b', 'é', '"', '\n', ' '),
      minLength: 1,
      maxLength: 3,
    })
    const value = fc.oneof(
      fc.string({ unit: fc.constantFrom('a', 'b', 'é', '"', '\n', ' '), maxLength: 30 }),
      fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 5000, maxLength: 6000 }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(value, { maxLength: 5 }), text, async (values, wanted) => {
        const { hits } = await searched(
          async (run) => {
            for (const value of values) await run.append('note', { value })
          },
          { text: wanted, types: ['note'] },
        )
        const expected = values.flatMap((value, at) => {
          const isThere = value.includes(wanted)
          return isThere ? [at + 1] : []
        })
        expect([...new Set(hits.map(({ seq }) => seq))]).toEqual(expect.arrayContaining(expected))
      }),
      { numRuns: 30 },
    )
  })

  it('says where: in the frame, or in a value by its pointer, and what stands around', async () => {
    const page = `${'x'.repeat(5000)}\nthe needle lies here\n${'y'.repeat(5000)}`
    const { hits } = await searched(
      async (run) => {
        await run.append('note', { small: 'a needle' })
        await run.append('page', { page })
        await run.append('page', { list: [{ page }] })
      },
      { text: 'needle' },
    )
    expect(hits).toEqual([
      { run: 'r', seq: 1, type: 'note', before: '{"small":"a ', match: 'needle', after: '"}' },
      {
        run: 'r',
        seq: 2,
        type: 'page',
        pointer: '/page',
        before: 'the ',
        match: 'needle',
        after: ' lies here',
      },
      expect.objectContaining({ seq: 3, match: 'needle' }),
    ])
  })

  it('looks into bytes that are small enough for the frame, and not at what a body has beside its data', async () => {
    const bytes = Buffer.from('needle in bytes')
    const work = (run: Run) => run.append('note', { bytes, page: 'p'.repeat(9000) })
    expect((await searched(work, { text: 'needle in' })).hits).toMatchObject([
      { seq: 1, pointer: '/bytes' },
    ])
    for (const text of ['salt', 'refs']) expect((await searched(work, { text })).hits).toEqual([])
  })

  it('names the line of a transcript, and finds derived events by their type', async () => {
    const lines = [
      meta(),
      said('user', 'where is the needle?'),
      said('assistant', 'no idea'),
      said('user', 'needle!'),
    ]
    const many = Array.from({ length: 200 }, () => said('assistant', 'hay '.repeat(20)))
    for (const all of [lines, [...many, ...lines]]) {
      const work = async (run: Run): Promise<void> => {
        await run.append('import/source', {
          format: 'codex',
          session: 's',
          path: '/s',
          reader: { key: 'codex', version: 1 },
          daglog: '0',
        })
        const bytes = bytesOf(all)
        await run.append('import/lines', { from: 0, lines: all.length, bytes })
      }
      const { hits } = await searched(work, { text: 'needle' })
      const first = all.length - 3
      expect(hits.map(({ line }) => line)).toEqual([first, first + 2])
      expect((await searched(work, { text: 'needle', types: ['user/message'] })).hits).toEqual([])
      const store = await openStore(memory())
      const run = await store.createRun({ id: 'r' })
      await work(run)
      const found: SearchHit[] = []
      const session = new Search({ text: 'the needle', types: ['user/message'] })
      for await (const hit of session.derived(run)) found.push(hit)
      expect(found.map(({ seq, line, type }) => [seq, line, type])[0]).toEqual([
        2,
        first,
        'user/message',
      ])
      await store.close()
    }
  })

  it('goes on past a value that is gone, and says so', async () => {
    const backend = memory()
    const store = await openStore(backend)
    const run = await store.createRun({ id: 'r' })
    await run.append('page', { page: 'g'.repeat(9000) })
    await run.append('note', { text: 'needle' })
    await run.close()
    const view = await store.inspectRun('r')
    const event = await view.events({ from: 1, to: 1, refs: true })[Symbol.asyncIterator]().next()
    const root = event.value.refs[0].root as string
    const none = { ...view.log.backend, getObjectNow: undefined }
    Object.setPrototypeOf(none, Object.getPrototypeOf(view.log.backend))
    const getObject = async (hash: Hash, by: string | undefined) =>
      hash === root ? undefined : view.log.backend.getObject(hash, by)
    Object.assign(view.log, { backend: Object.assign(none, { getObject }) })
    const search = new Search({ text: 'needle' })
    const hits: SearchHit[] = []
    for await (const hit of search.run(view)) hits.push(hit)
    expect(hits).toMatchObject([{ seq: 2 }])
    expect(search.skips.unread).toMatchObject([{ run: 'r', seq: 1 }])
    await store.close()
  })

  it('finds nothing in what was redacted, inline, in a value or in lines, and counts it', async () => {
    const { store, dir } = await temporaryStore()
    const run = await store.run('r')
    await run.append('import/source', { format: 'claude-code', session: 's' } as never)
    const lines = linesOf([user('a needle in the lines')])
    const gone = [
      (await run.append('note', { text: 'needle' })).seq,
      (await run.append('page', { page: `${'p'.repeat(9000)} needle` })).seq,
      (await run.append('import/lines', { from: 0, lines: 1, bytes: lines })).seq,
    ]
    const left = await run.append('note', { text: 'the needle that is left' })
    await run.close()
    tamper(logPath(dir, 'r'), (bytes) => {
      const frames = bytes.toString('latin1').split(/(?<=\n)/)
      for (const seq of gone)
        frames[seq] = redacted(Buffer.from(frames[seq] as string, 'latin1')).toString('latin1')
      return Buffer.from(frames.join(''), 'latin1')
    })
    const view = await (await temporaryStore(dir)).store.inspectRun('r')
    const find = async (options: Omit<SearchOptions, 'text'>) => {
      const search = new Search({ text: 'needle', ...options })
      const hits: SearchHit[] = []
      for await (const hit of search.run(view)) hits.push(hit)
      for await (const hit of search.derived(view)) hits.push(hit)
      return { seqs: hits.map(({ seq }) => seq), ...search.skips }
    }
    expect(await find({})).toEqual({ seqs: [left.seq], redacted: 3, unread: [] })
    expect(await find({ regex: true })).toEqual({ seqs: [left.seq], redacted: 3, unread: [] })
    expect(await find({ types: ['page'] })).toEqual({ seqs: [], redacted: 1, unread: [] })
    // What would be derived of the lines is gone with them.
    expect(await find({ types: ['user/message'] })).toEqual({ seqs: [], redacted: 0, unread: [] })
    await store.close()
  })
})
