import { createContext, runInContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { DaglogError } from '../../src/core/errors.js'
import { diffTrees, loadTree, type Tree, treeFrom } from '../../src/value/tree.js'
import { copyPlain, isSame, MemoryObjects, runs, values } from './tree-model.js'

const DEEP = 5_000

class Point {
  x = 1
}

const cyclic: { list: unknown[] } = { list: [] }
cyclic.list.push({ back: cyclic })

/** What can not be kept, and where in the value it is. */
const REFUSED: [string, () => unknown, string][] = [
  ['a function', () => ({ a: [() => 1] }), '/a/0'],
  ['a symbol', () => ({ a: Symbol('s') }), '/a'],
  ['a symbol as a key', () => ({ a: { [Symbol('s')]: 1 } }), '/a/Symbol(s)'],
  ['a cycle', () => cyclic, '/list/0/back'],
  ['a hole', () => ({ a: Object.assign([1], { 2: 3 }) }), '/a/1'],
  ['a hole at the end', () => new Array(3), '/0'],
  ['a field of an array', () => ({ a: Object.assign([1], { extra: 2 }) }), '/a/extra'],
  [
    'a getter',
    () => ({
      a: {
        get b() {
          return 1
        },
      },
    }),
    '/a/b',
  ],
  [
    'a getter in an array',
    () => Object.defineProperty([1], 0, { get: () => 1, enumerable: true }),
    '/0',
  ],
  ['a hidden field', () => Object.defineProperty({}, 'a', { value: 1, enumerable: false }), '/a'],
  ['an instance', () => [[new Point()]], '/0/0'],
  ['a Map', () => ({ 'x/y~z': new Map() }), '/x~1y~0z'],
  ['a Set', () => new Set(), ''],
  ['a RegExp', () => [/x/], '/0'],
  ['an Error', () => [new Error('x')], '/0'],
  ['a boxed string', () => [new String('x')], '/0'],
  ['an array of another class', () => [new (class Rows extends Array {})()], '/0'],
  ['a date of another class', () => [new (class Day extends Date {})()], '/0'],
  ['a date with a field', () => [Object.assign(new Date(0), { zone: 'x' })], '/0'],
  ['numbers of another array type', () => [new Float64Array(2)], '/0'],
  ['a buffer', () => [new ArrayBuffer(2)], '/0'],
  ['a promise', () => [Promise.resolve()], '/0'],
  ['an object with a prototype of its own', () => [Object.create({ inherited: 1 })], '/0'],
]

describe('a value that can not be kept', () => {
  it('is refused with its place', () => {
    for (const [what, make, pointer] of REFUSED) {
      const error = errorOf(() => treeFrom(make()))
      expect([what, error.code, error.data.pointer]).toEqual([what, 'VALUE_UNSUPPORTED', pointer])
    }
  })

  it('is refused with its place in the tree wherever it is put', () => {
    const tree = treeFrom({ a: { list: [1, 2] }, m: Object.fromEntries(manyEntries()) })
    const bad = { x: [() => 1] }
    const puts: [() => unknown, string][] = [
      [() => tree.set(['a', 'b'], bad), '/a/b/x/0'],
      [() => tree.set(['a', 'list', 1], bad), '/a/list/1/x/0'],
      [() => tree.push(['a', 'list'], 0, bad), '/a/list/3/x/0'],
      [() => tree.splice(['a', 'list'], 1, 1, bad), '/a/list/1/x/0'],
      [() => tree.set([], bad), '/x/0'],
      [
        () =>
          tree.update((draft) => {
            draft.a.list.push(bad)
          }),
        '/a/list/2/x/0',
      ],
      [
        () =>
          tree.update((draft) => {
            draft.m.k7 = bad
          }),
        '/m/k7/x/0',
      ],
      [
        () =>
          tree.update((draft) => {
            draft.a.list[0] = [bad]
          }),
        '/a/list/0/0/x/0',
      ],
    ]
    for (const [put, pointer] of puts) {
      expect(errorOf(put)).toMatchObject({ code: 'VALUE_UNSUPPORTED', data: { pointer } })
    }
  })
})

describe('a value', () => {
  it('is copied on the way in and on the way out', () => {
    const bytes = new Uint8Array([1, 2])
    const date = new Date(5)
    const plain = { bytes, date, list: [{ a: 1 }] }
    const tree = treeFrom(plain)
    bytes[0] = 9
    date.setTime(9)
    plain.list[0]!.a = 9
    const out = tree.toJSON() as typeof plain
    expect(out).toEqual({ bytes: new Uint8Array([1, 2]), date: new Date(5), list: [{ a: 1 }] })
    out.bytes[0] = 8
    out.date.setTime(8)
    out.list[0]!.a = 8
    ;(tree.get(['bytes']) as Uint8Array)[0] = 7
    ;(tree.get(['date']) as Date).setTime(7)
    expect(tree.get(['bytes'])).toEqual(new Uint8Array([1, 2]))
    expect(tree.get(['date'])).toEqual(new Date(5))
  })

  it('may hold Buffers, objects without a prototype, and objects of another realm', () => {
    const foreign = runInContext('({ list: [1, { when: new Date(3) }] })', createContext())
    const bare = Object.assign(Object.create(null), { buffer: Buffer.from('x'), foreign })
    expect(treeFrom(bare).toJSON()).toEqual({
      buffer: new Uint8Array([120]),
      foreign: { list: [1, { when: new Date(3) }] },
    })
  })

  it('may hold one object in many places, even where there are 2^60 of them', () => {
    let shared: unknown = { leaf: 1 }
    for (let i = 0; i < 60; i++) shared = [shared, shared]
    const tree = treeFrom(shared)
    expect(tree.hash()).toBe(treeFrom(tree.view()).hash())
    expect(tree.get(Array.from({ length: 60 }, () => 1))).toEqual({ leaf: 1 })
  })

  it('of the same content has the same root whether it came in once or in parts', () => {
    fc.assert(
      fc.property(values, values, (left, right) => {
        const whole = treeFrom({ left, right })
        const parts = treeFrom({ right: null }).set(['left'], left).set(['right'], copyPlain(right))
        expect(parts.hash()).toBe(whole.hash())
        expect(whole.set([], { left, right })).toBe(whole)
        expect(isSame(whole.set([], right).toJSON(), right)).toBe(true)
        expect(whole.set([], right).hash()).toBe(treeFrom(right).hash())
      }),
      { numRuns: runs(300) },
    )
  })
})

describe(`a value ${DEEP} deep`, () => {
  const shapes: Record<string, (inner: unknown, i: number) => unknown> = {
    records: (inner) => ({ a: inner, b: 1 }),
    lists: (inner) => [inner, 'x'],
    both: (inner, i) => (i % 2 === 0 ? [inner] : { a: inner }),
    maps: (inner) => ({ ...Object.fromEntries(manyEntries()), a: inner }),
  }
  for (const [name, wrap] of Object.entries(shapes)) {
    it(`of ${name} goes in and out, is stored, read, changed, viewed and compared`, () => {
      const depth = name === 'maps' ? 500 : DEEP
      let value: unknown = 'bottom'
      for (let i = 0; i < depth; i++) value = wrap(value, i)
      const tree = treeFrom(value)
      const objects = new MemoryObjects()
      const root = tree.commit(objects.store())
      const loaded = loadTree(root, objects.store())
      expect(loaded.hash()).toBe(root)
      const path = pathDown(value, depth)
      expect(loaded.get(path)).toBe('bottom')
      expect(pathDown(tree.view(), depth)).toEqual(path)
      expect(pathDown(tree.toJSON(), depth)).toEqual(path)
      expect(treeFrom(tree.toJSON()).hash()).toBe(root)
      const changed = loaded.set(path, 'changed')
      const drafted = tree.update((draft) => {
        let at = draft
        for (const step of path.slice(0, -1)) at = at[step]
        at[path.at(-1)!] = 'changed'
      })
      expect(drafted.hash()).toBe(changed.hash())
      expect([...diffTrees(tree, changed)]).toMatchObject([{ op: 'replace', right: 'changed' }])
      expect(objects.reachable(root).size).toBe(objects.objects.size)
    })
  }
})

test('a cycle far down is refused, not followed', () => {
  const top: Record<string, unknown> = {}
  let at = top
  for (let i = 0; i < DEEP; i++) {
    const next = {}
    at.a = next
    at = next
  }
  at.a = top
  expect(errorOf(() => treeFrom(top)).data.pointer).toBe('/a'.repeat(DEEP + 1))
})

function pathDown(value: unknown, depth: number): (string | number)[] {
  const path: (string | number)[] = []
  let at = value
  for (let i = 0; i < depth; i++) {
    const step = Array.isArray(at) ? 0 : 'a'
    path.push(step)
    at = (at as Record<string | number, unknown>)[step]
  }
  return path
}

function manyEntries(): [string, number][] {
  return Array.from({ length: 40 }, (_, i) => [`k${i}`, i])
}

function errorOf(run: () => Tree | unknown): DaglogError {
  try {
    run()
  } catch (error) {
    if (error instanceof DaglogError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}
