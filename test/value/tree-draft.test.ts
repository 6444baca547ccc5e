import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DaglogError } from '../../src/core/errors.js'
import { loadTree, type Tree, treeFrom } from '../../src/value/tree.js'
import {
  copyPlain,
  isContainer,
  isSame,
  keys,
  MemoryObjects,
  runs,
  scalars,
  values,
} from './tree-model.js'

// biome-ignore lint/suspicious/noExplicitAny: a draft and a plain value are used alike.
type Loose = any

/** One statement, written once and run on a draft and on a plain value. */
interface Act {
  readonly way: readonly number[]
  readonly other: readonly number[]
  readonly what: number
  readonly at: number
  readonly count: number
  readonly key: string
  readonly value: unknown
}

const act: fc.Arbitrary<Act> = fc.record({
  way: fc.array(fc.nat(100), { maxLength: 4 }),
  other: fc.array(fc.nat(100), { maxLength: 3 }),
  what: fc.nat(19),
  at: fc.nat(120),
  count: fc.nat(6),
  key: keys.filter((key) => key !== '__proto__'),
  value: fc.oneof(scalars, values),
})

function reached(root: Loose, way: readonly number[]): Loose {
  let at = root
  for (const step of way) {
    // A draft has its keys in another order.
    const names = Object.keys(at).sort()
    const next = names.length === 0 ? undefined : at[names[step % names.length]!]
    if (!isContainer(next)) break
    at = next
  }
  return at
}

/** Runs a statement; what it returns is compared as well. */
function run(root: Loose, { way, other, what, at, count, key, value }: Act): unknown {
  const place = reached(root, way)
  const part = reached(root, other)
  const fresh = copyPlain(value)
  if (!Array.isArray(place)) {
    const names = Object.keys(place).sort()
    const known = names[at % Math.max(names.length, 1)] ?? key
    if (what < 4) return delete place[known]
    if (what < 8) place[known] = fresh
    else if (what < 12) place[key] = fresh
    // A cycle would be refused: only what is not above may go below.
    else if (what < 14 && !holds(part, place)) place[key] = part
    else if (what < 16) Object.assign(place, { [key]: fresh })
    else if (what === 16) return [key in place, known in place, Object.hasOwn(place, key)]
    else return Object.entries(place).length
    return undefined
  }
  const index = at % (place.length + 1)
  switch (what) {
    case 0:
      return place.push(fresh, at)
    case 1:
      return place.pop()
    case 2:
      return place.shift()
    case 3:
      return place.unshift(at, fresh)
    case 4:
      return place.splice(index, count)
    case 5:
      return place.splice(index, count, fresh, at)
    case 6:
      return place.splice(-index, count, at)
    case 7:
      return place.splice(index)
    case 8:
      place[index] = fresh
      return place.length
    case 9:
      return place.reverse().length
    case 10:
      return place.sort((a, b) => orderOf(a) - orderOf(b)).length
    case 11:
      return place.fill(at, index, index + count).length
    case 12:
      return place.copyWithin(index, count).length
    case 13:
      place.length = index
      return place.length
    case 14:
      if (!holds(part, place)) place.push(part)
      return place.length
    case 15: {
      // Taken out, changed while it is nowhere, and put back.
      const taken = place.shift()
      if (isContainer(taken) && !Array.isArray(taken)) (taken as Loose)[key] = at
      place.splice(index, 0, taken)
      return place.length
    }
    case 16:
      return [place.indexOf(at), place.includes(at), place.map((item) => typeof item)]
    case 17:
      return [...place].length + place.slice(index).length + place.concat([1]).length
    case 18:
      return place.filter(isContainer).length
    default:
      return [place.at(-1), place.findLast((item) => typeof item === 'number')]
  }
}

function orderOf(value: unknown): number {
  return typeof value === 'number' && !Number.isNaN(value) ? value : 0
}

function holds(outer: Loose, inner: Loose): boolean {
  if (outer === inner) return true
  return Object.keys(outer).some((key) => isContainer(outer[key]) && holds(outer[key], inner))
}

/** A list of objects, a wide object, and what lies in them. */
function start(size: number): Loose {
  return {
    list: Array.from({ length: size }, (_, i) => ({ id: i, tags: [i] })),
    wide: Object.fromEntries(Array.from({ length: size }, (_, i) => [`k${i}`, { id: i }])),
    rows: [
      [1, 2, 3],
      [4, 5],
    ],
  }
}

describe('a draft', () => {
  it('does as a plain value does, and is the tree of what that becomes', () => {
    const acts = fc.array(act, { maxLength: 10 })
    fc.assert(
      fc.property(fc.nat(50), acts, fc.boolean(), (size, list, isLoaded) => {
        const plain = start(size)
        const objects = new MemoryObjects()
        const store = objects.store({ cacheBytesMax: 3000 })
        const made = treeFrom(plain)
        const before = isLoaded ? loadTree(made.commit(store), store) : made
        const root = before.hash()
        const after = before.update((draft) => {
          for (const one of list) {
            const expected = run(plain, one)
            const result = run(draft, one)
            expect(isSame(result, expected)).toBe(true)
          }
        })
        expect(isSame(after.toJSON(), plain)).toBe(true)
        expect(after.hash()).toBe(treeFrom(plain).hash())
        expect(before.hash()).toBe(root)
      }),
      { numRuns: runs(800) },
    )
  })

  it('that is only read gives the same tree back, loaded or not', () => {
    const objects = new MemoryObjects()
    const store = objects.store({ cacheBytesMax: 1000 })
    const made = treeFrom(start(60))
    const loaded = loadTree(made.commit(store), store)
    for (const tree of [made, loaded]) {
      const same = tree.update((draft) => {
        JSON.stringify(draft)
        for (const item of draft.list) item.tags.includes(3)
        for (const key in draft.wide) draft.wide[key].id += 0
        draft.rows[0][1] = 2
        const { rows } = draft
        draft.rows = rows
      })
      expect(same).toBe(tree)
    }
  })

  it('costs what it touches', () => {
    const objects = new MemoryObjects()
    const store = objects.store()
    const big = {
      list: Array.from({ length: 20_000 }, (_, i) => ({ id: i, text: 'x'.repeat(300) })),
    }
    const root = treeFrom(big).commit(store)
    const reader = objects.store()
    const tree = loadTree(root, reader)
    objects.loads = 0
    objects.puts = 0
    const after = tree.update((draft) => {
      draft.list.push({ id: -1 })
      draft.list[777].id = 'changed'
      draft.list.splice(10_000, 2)
      draft.list.shift()
    })
    after.commit(reader)
    expect(objects.loads).toBeLessThan(60)
    expect(objects.puts).toBeLessThan(60)
    expect(after.get(['list', 776])).toEqual({ id: 'changed', text: 'x'.repeat(300) })
  })

  it('is the same object each time it is reached, and wherever it is put', () => {
    const after = treeFrom({ a: { n: 1 }, list: [{ n: 2 }] }).update((draft) => {
      expect(draft.a).toBe(draft.a)
      expect(draft.list[0]).toBe(draft.list.at(0))
      draft.b = draft.a
      draft.list.push({ held: [draft.a] })
      draft.a.n = 10
      draft.list.unshift('first')
      const moved = draft.list.pop()
      draft.c = moved.held[0]
      draft.c.n += 1
    })
    expect(after.toJSON()).toEqual({
      a: { n: 11 },
      b: { n: 11 },
      c: { n: 11 },
      list: ['first', { n: 2 }],
    })
  })

  it('copies a plain value that is put in', () => {
    const plain = { n: 1 }
    const after = treeFrom({}).update((draft) => {
      draft.a = plain
      plain.n = 2
      draft.a.m = 3
    })
    expect(after.toJSON()).toEqual({ a: { n: 1, m: 3 } })
  })

  it('is an array, or an object, to all who ask', () => {
    treeFrom({ list: [1, 2], o: { a: 1 } }).update((draft) => {
      expect(Array.isArray(draft.list)).toBe(true)
      expect(Object.keys(draft.list)).toEqual(['0', '1'])
      expect(JSON.stringify(draft)).toBe('{"list":[1,2],"o":{"a":1}}')
      expect({ ...draft.o }).toEqual({ a: 1 })
      expect([...draft.list]).toEqual([1, 2])
      expect(Object.getOwnPropertyNames(draft.list)).toEqual(['0', '1', 'length'])
      expect(draft.o.toString()).toBe('[object Object]')
      expect('toString' in draft.o && 'push' in draft.list && 1 in draft.list).toBe(true)
      expect(2 in draft.list || 'x' in draft.o).toBe(false)
      expect(draft.list.push).toBeTypeOf('function')
      expect(draft.o instanceof Object).toBe(true)
      expect(draft.list[2]).toBeUndefined()
      expect(delete draft.list[7]).toBe(true)
      expect(structuredClone({ ...draft.o })).toEqual({ a: 1 })
    })
  })

  it('treats __proto__ as a key', () => {
    const after = treeFrom({ o: {} }).update((draft) => {
      // biome-ignore lint/suspicious/noProto: what it does is what is tested.
      draft.o.__proto__ = { polluted: true }
      expect(draft.o.polluted).toBeUndefined()
      Object.defineProperty(draft, '__proto__', {
        value: 1,
        enumerable: true,
        writable: true,
        configurable: true,
      })
    })
    expect(after.get(['o', '__proto__', 'polluted'])).toBe(true)
    expect(after.get(['__proto__'])).toBe(1)
    expect(({} as Loose).polluted).toBeUndefined()
  })
})

describe('what a draft can not do', () => {
  const tree = treeFrom({ list: [1, [2]], o: { a: {} } })
  const refused: [string, (draft: Loose) => unknown, string][] = [
    [
      'a hole',
      (d) => {
        d.list[5] = 1
      },
      '/list',
    ],
    [
      'a hole by length',
      (d) => {
        d.list.length = 5
      },
      '/list',
    ],
    [
      'a length that is none',
      (d) => {
        d.list.length = -1
      },
      '/list',
    ],
    ['a hole by delete', (d) => delete d.list[0], '/list'],
    [
      'a field of a list',
      (d) => {
        d.list[1].extra = 1
      },
      '/list/1',
    ],
    [
      'a symbol as a key',
      (d) => {
        d.o[Symbol('s')] = 1
      },
      '/o',
    ],
    ['a getter', (d) => Object.defineProperty(d.o.a, 'x', { get: () => 1 }), '/o/a'],
    ['a hidden field', (d) => Object.defineProperty(d, 'x', { value: 1, enumerable: false }), ''],
    ['freezing', (d) => Object.freeze(d.o), '/o'],
    ['a prototype', (d) => Object.setPrototypeOf(d.o, {}), '/o'],
    [
      'a function',
      (d) => {
        d.o.a.f = () => 1
      },
      '/o/a/f',
    ],
    [
      'a cycle',
      (d) => {
        d.o.a.top = d
      },
      '/o/a/top',
    ],
    [
      'a cycle in a new value',
      (d) => {
        d.o.a.x = { y: [d.o] }
      },
      '/o/a/x/y/0',
    ],
  ]

  it('is refused with its place, and changes nothing', () => {
    for (const [what, change, pointer] of refused) {
      const error = errorOf(() => tree.update(change as (draft: Loose) => void))
      expect([what, error.code, error.data.pointer]).toEqual([what, 'VALUE_UNSUPPORTED', pointer])
    }
    expect(tree.toJSON()).toEqual({ list: [1, [2]], o: { a: {} } })
  })

  it('includes being used after its update, and waiting', () => {
    let kept: Loose
    tree.update((draft) => {
      kept = draft.list
    })
    const uses = [
      () => kept.length,
      () => kept[0],
      () => kept.push(1),
      () => Object.keys(kept),
      () => 'a' in kept,
      () => JSON.stringify(kept),
      () => tree.set(['list'], kept),
    ]
    for (const use of uses) expect(errorOf(use).code).toBe('CLOSED')
    expect(errorOf(() => tree.update(async () => {})).code).toBe('USAGE')
  })

  it('ends with what its function throws', () => {
    const change = () => {
      throw new RangeError('mine')
    }
    expect(() => tree.update(change)).toThrow(RangeError)
  })
})

it('two drafts at once are apart: one in the other is a copy', () => {
  const left = treeFrom({ n: 1, in: {} })
  let right: Tree | undefined
  const after = left.update((outer) => {
    right = treeFrom({}).update((inner) => {
      inner.copy = outer
      outer.n = 2
      inner.copy.n += 10
    })
  })
  expect(after.toJSON()).toEqual({ n: 2, in: {} })
  expect(right?.toJSON()).toEqual({ copy: { n: 11, in: {} } })
})

function errorOf(run: () => unknown): DaglogError {
  try {
    run()
  } catch (error) {
    if (error instanceof DaglogError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}
