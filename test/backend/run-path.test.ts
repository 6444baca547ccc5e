import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FsLayout } from '../../src/backend/fs-layout.js'
import { checkRunId, nameOfRunId, runIdOfName } from '../../src/backend/run-path.js'
import { DaglogError } from '../../src/core/errors.js'
import { RUN_ID_BYTES_MAX } from '../../src/core/limits.js'

const numRuns = process.env.DAGLOG_LONG ? 20_000 : 1000

const DEVICES = ['con', 'prn', 'aux', 'nul', 'com1', 'lpt9', 'conin$', 'conout$']
const HASH = '0'.repeat(64)
const ODD = [
  ...DEVICES,
  ...DEVICES.map((name) => `${name}.txt`),
  ...DEVICES.map((name) => name.toUpperCase()),
  'com\u00b9',
  '.',
  '..',
  '...',
  '../x',
  '..\\x',
  '/',
  '/etc/passwd',
  'C:\\x',
  'a:b',
  'a/b',
  'a-b',
  'a..b',
  'a.b',
  '.a',
  'a.',
  'a ',
  ' a',
  'a',
  'A',
  '~',
  '~store',
  '%',
  '%41',
  '%2e',
  'a%2eb',
  '%~',
  `../x%~${HASH}`,
  `A/b%~${HASH}`,
  `.%~${HASH}`,
  `con.%~${HASH}`,
  `%~${HASH}`,
  `${'../x'.repeat(20)}%~${HASH}`,
  '\0',
  'a\0b',
  '\n',
  '-',
  '-rf',
  '😀',
  'é',
  'e\u0301',
  'İ',
  'ı',
  'ß',
  'ſ',
  'K',
  'x'.repeat(180),
  'x'.repeat(181),
  'X'.repeat(60),
  'X'.repeat(61),
  'x'.repeat(RUN_ID_BYTES_MAX),
  `${'x'.repeat(RUN_ID_BYTES_MAX - 1)}y`,
  '😀'.repeat(RUN_ID_BYTES_MAX / 4),
]

const fits = (id: string): boolean => {
  const bytes = Buffer.byteLength(id)
  return bytes > 0 && bytes <= RUN_ID_BYTES_MAX && id.isWellFormed()
}

const anyId = fc
  .oneof(
    fc.string({ minLength: 1 }),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 300 }),
    fc.string({
      unit: fc.constantFrom('.', 'a', 'A', '/', '%', '2', 'e', '-', '~', ' '),
      minLength: 1,
    }),
    fc
      .tuple(fc.constantFrom(...ODD), fc.constantFrom('', '.', '.x', ' ', '/..'))
      .map(([a, b]) => a + b),
    fc.constantFrom(...ODD),
  )
  .filter(fits)

function codeOf(id: unknown): string | undefined {
  try {
    checkRunId(id as string)
  } catch (error) {
    return error instanceof DaglogError ? error.code : String(error)
  }
  return undefined
}

describe('the file name of a run id', () => {
  it('is different for different ids, also on a disk that folds case or drops trailing dots', () => {
    const folded = (id: string): string => nameOfRunId(id).toLowerCase().normalize('NFC')
    expect(new Set(ODD.map(folded)).size).toBe(new Set(ODD).size)
    fc.assert(
      fc.property(anyId, anyId, (left, right) => {
        expect(folded(left) === folded(right)).toBe(left === right)
      }),
      { numRuns },
    )
  })

  it('says the id again, or honestly does not', () => {
    fc.assert(
      fc.property(anyId, (id) => {
        const back = runIdOfName(nameOfRunId(id))
        if (back === undefined) expect(nameOfRunId(id)).toContain('%~')
        else expect(back).toBe(id)
      }),
      { numRuns },
    )
    for (const id of ['2026-08-26-score-3f2a', 'a.b', 'con', '..', '😀', 'x'.repeat(180)]) {
      expect(runIdOfName(nameOfRunId(id))).toBe(id)
    }
  })

  it('is one that every file system takes, with room for a lock and its number', () => {
    fc.assert(
      fc.property(anyId, (id) => {
        const name = nameOfRunId(id)
        expect(name).toMatch(/^[a-z0-9_%-][a-z0-9_.%~-]*$/)
        expect(name).not.toMatch(/\.$|\.\./)
        expect(name).not.toMatch(/^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/)
        expect(`${name}.999999.lock`.length).toBeLessThanOrEqual(255)
      }),
      { numRuns },
    )
  })

  it('stays readable for the ids that we make', () => {
    expect(nameOfRunId('2026-08-26-score-3f2a')).toBe('2026-08-26-score-3f2a')
    expect(nameOfRunId('a_b-c.d')).toBe('a_b-c.d')
    expect(nameOfRunId('a/b')).toBe('a%2fb')
    expect(nameOfRunId('../x')).toBe('%2e%2e%2fx')
    expect(nameOfRunId('con')).toBe('%63on')
    expect(nameOfRunId('Ab')).toBe('%41b')
  })

  it('that is none of ours names no id', () => {
    const foreign = [
      '.DS_Store',
      'Thumbs.db',
      '',
      '%',
      '%4',
      '%zz',
      'A',
      'a.',
      '..',
      '%61',
      'con',
      'é',
    ]
    for (const name of foreign) expect(runIdOfName(name)).toBeUndefined()
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (name) => {
        const id = runIdOfName(name)
        if (id !== undefined) expect(nameOfRunId(id)).toBe(name)
      }),
      { numRuns },
    )
  })

  // `RunPlace.place` can be passed wherever an id is asked for.
  it('is taken for the run it names when it is given as an id', () => {
    const place = nameOfRunId('x'.repeat(300))
    expect(runIdOfName(place)).toBeUndefined()
    expect(nameOfRunId(place)).toBe(place)
    for (const odd of [`../../x%~${HASH}`, `x/y%~${HASH}`, `${'A'.repeat(80)}%~${HASH}`]) {
      expect(nameOfRunId(odd)).not.toContain('/')
      expect(nameOfRunId(odd)).not.toBe(odd)
    }
  })
})

describe('a run id', () => {
  it('is 1 to 1,024 bytes of well-formed text', () => {
    for (const id of ODD) expect(codeOf(id)).toBeUndefined()
    const bad = ['', 'x'.repeat(RUN_ID_BYTES_MAX + 1), '😀'.repeat(257), '\ud800', 'a\udc00']
    for (const id of [...bad, undefined, null, 5, {}, ['a'], 1n, Symbol('s')]) {
      expect(codeOf(id)).toBe('RUN_ID_INVALID')
    }
  })

  it('that is far too long is refused with words, not with all of itself', () => {
    const id = 'x'.repeat(10_240)
    expect(() => nameOfRunId(id)).toThrow(/^RUN_ID_INVALID.*10240 bytes.*try: 1 to 1024 bytes/)
    try {
      nameOfRunId(id)
    } catch (error) {
      expect((error as Error).message.length).toBeLessThan(300)
    }
  })
})

describe('the layout of a store', () => {
  const layout = new FsLayout('/store')

  it('gives each run paths of its own, inside the store', () => {
    fc.assert(
      fc.property(anyId, anyId, (left, right) => {
        const paths = (id: string): string[] => [
          layout.run(id),
          layout.openObjects(id),
          layout.segment({ run: id }, 0),
          layout.lock({ run: id }, 0),
          layout.torn({ run: id }, '0.5'),
        ]
        for (const path of paths(left)) expect(path).toMatch(/^\/store\/(runs|locks)\/[^/]+/)
        const shared = paths(left).filter((path) => paths(right).includes(path))
        expect(shared).toEqual(left === right ? paths(left) : [])
      }),
      { numRuns: numRuns / 2 },
    )
  })

  const logs = [
    'store',
    ...ODD.map((run) => ({ run })),
    { run: 'a.1' },
    { run: 'a.0.lock' },
  ] as const
  const nameOf = (path: string): string => path.split('/').at(-1) as string

  it('reads numbers of locks from the names it gives them, and from no others', () => {
    for (const log of logs) {
      for (const number of [0, 1, 10, 999_999, 1_000_000]) {
        const lock = nameOf(layout.lock(log, number))
        for (const other of logs) {
          expect(layout.lockNumber(other, lock)).toBe(other === log ? number : undefined)
        }
      }
    }
  })

  it('reads pieces of segments from the names it gives them, and from no others', () => {
    for (const log of ['store', { run: 'r' }] as const) {
      for (const segment of [0, 1, 10, 999_999, 1_000_000]) {
        for (const base of [0, 1, 8192, 2 ** 40]) {
          for (const form of ['jsonl', 'z'] as const) {
            const piece = { segment, base, form }
            expect(layout.pieceOf(log, nameOf(layout.piece(log, piece)))).toEqual(piece)
          }
        }
        expect(layout.pieceOf(log, nameOf(layout.segment(log, segment)))).toEqual({
          segment,
          base: 0,
          form: 'jsonl',
        })
      }
    }
    const foreign = [
      'log.1.jsonl',
      'log.000001.jsonl.bak',
      'xlog.000001.jsonl',
      'store.000000.jsonl',
    ]
    for (const name of [...foreign, 'log.000001.x.jsonl', 'log.000001.5', 'log.000001.5.6.z']) {
      expect(layout.pieceOf({ run: 'r' }, name)).toBeUndefined()
    }
    expect(layout.pieceOf('store', 'log.000000.jsonl')).toBeUndefined()
  })
})
