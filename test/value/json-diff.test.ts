import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { pointerKeys, pointerStep, valueAt } from '../../src/core/pointer.js'
import { diffJson, type JsonChange } from '../../src/value/json-diff.js'
import { isSameValue, ValueClasses } from '../../src/value/value-class.js'
import { anyValue, nested, objectOf } from './values.js'

const numRuns = process.env.DAGLOG_LONG ? 20_000 : 1_000

/** A copy to change: only containers can be. */
function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyOf)
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Date || value instanceof Uint8Array) return value
  return objectOf(Object.entries(value).map(([key, member]) => [key, copyOf(member)]))
}

/**
 * Make the left value the right one: remove by left places, then add and replace by right places.
 */
function patched(left: unknown, changes: readonly JsonChange[]): unknown {
  const root = { top: copyOf(left) }
  const at = (pointer: string) => {
    const keys = ['top', ...pointerKeys(pointer)]
    const key = keys.pop()!
    return { parent: valueAt(root, keys.map(pointerStep).join('')) as object, key }
  }
  const removals = changes.filter(({ op }) => op === 'remove')
  for (const { pointer } of removals.toReversed()) {
    const { parent, key } = at(pointer)
    if (Array.isArray(parent)) parent.splice(Number(key), 1)
    else delete (parent as Record<string, unknown>)[key]
  }
  for (const { op, pointer, right } of changes) {
    if (op === 'remove') continue
    const { parent, key } = at(pointer)
    if (Array.isArray(parent)) parent.splice(Number(key), op === 'add' ? 0 : 1, right)
    else Object.defineProperty(parent, key, descriptorOf(right))
  }
  return root.top
}

function descriptorOf(value: unknown): PropertyDescriptor {
  return { value, writable: true, enumerable: true, configurable: true }
}

describe('a difference of values', () => {
  it('is nothing for a value and a copy of it, whatever the order of keys', () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        expect(diffJson(value, reversed(value))).toEqual({ changes: [], more: 0, cut: false })
      }),
      { numRuns },
    )
  })

  it('makes the left value into the right one', () => {
    fc.assert(
      fc.property(anyValue, anyValue, (left, right) => {
        const { changes, more, cut } = diffJson(left, right)
        expect({ more, cut }).toEqual({ more: 0, cut: false })
        expect(isSameValue(patched(left, changes), right)).toBe(true)
        expect(changes.length === 0).toBe(isSameValue(left, right))
      }),
      { numRuns },
    )
  })

  it('holds what stands at its pointers on either side', () => {
    fc.assert(
      fc.property(anyValue, anyValue, (left, right) => {
        for (const change of diffJson(left, right).changes) {
          const { pointer, leftPointer = pointer, op } = change
          if (op !== 'add') expect(valueAt(left, leftPointer)).toBe(change.left)
          if (op !== 'remove') expect(valueAt(right, pointer)).toBe(change.right)
        }
      }),
      { numRuns },
    )
  })

  it('lists as many changes as asked for and counts the rest', () => {
    fc.assert(
      fc.property(anyValue, anyValue, fc.nat(3), (left, right, limit) => {
        const whole = diffJson(left, right)
        const some = diffJson(left, right, { limit })
        expect(some.changes).toEqual(whole.changes.slice(0, limit))
        expect(some.changes.length + some.more).toBe(whole.changes.length)
      }),
      { numRuns: numRuns / 2 },
    )
  })

  it('agrees with the numbers that equal values are given', () => {
    fc.assert(
      fc.property(fc.array(anyValue, { maxLength: 6 }), (values) => {
        const classes = new ValueClasses()
        for (const a of values) {
          for (const b of [...values.map(reversed), ...values])
            expect(classes.of(a) === classes.of(b)).toBe(isSameValue(a, b))
        }
      }),
      { numRuns: numRuns / 2 },
    )
  })
})

/** The same value with the keys of each object the other way round. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Date) return new Date(value)
  if (value instanceof Uint8Array) return new Uint8Array(value)
  return objectOf(
    Object.entries(value)
      .map(([key, member]) => [key, reversed(member)] as const)
      .reverse(),
  )
}

describe('elements of lists', () => {
  const message = (role: string, content: string) => ({ role, content })

  it('are aligned by what they are, so that one inserted is one change', () => {
    const left = Array.from({ length: 50 }, (_, i) => message('user', `text ${i}`))
    const right = left.toSpliced(20, 0, message('user', 'new'))
    expect(diffJson(left, right).changes).toEqual([
      { pointer: '/20', op: 'add', right: message('user', 'new') },
    ])
    expect(diffJson(right, left).changes).toEqual([
      { pointer: '/20', op: 'remove', left: message('user', 'new') },
    ])
  })

  it('that changed are compared inside, also where others were inserted before them', () => {
    const left = [message('system', 's'), message('user', 'a'), message('assistant', 'b')]
    const right = [
      message('system', 's'),
      message('tool', 'x'),
      message('user', 'A'),
      message('assistant', 'b'),
    ]
    expect(diffJson(left, right).changes).toEqual([
      { pointer: '/1', op: 'add', right: message('tool', 'x') },
      { pointer: '/2/content', op: 'replace', left: 'a', right: 'A', leftPointer: '/1/content' },
    ])
  })

  it('are told apart by what JSON cannot carry', () => {
    const left = [-0, Number.NaN, undefined, 1n, new Date(5), new Uint8Array([1])]
    const right = [0, null, null, 1, '1970-01-01T00:00:00.005Z', [1]]
    expect(diffJson(left, right).changes).toHaveLength(6)
    expect(diffJson({ a: undefined }, {}).changes).toEqual([
      { pointer: '/a', op: 'remove', left: undefined },
    ])
  })

  it('say so where they are too many and too different for the best alignment', () => {
    let state = 7
    const noise = () =>
      Array.from({ length: 20_000 }, () => {
        state = (state * 1103515245 + 12345) % 2147483648
        return state % 64
      })
    const left = noise()
    const right = noise()
    const { changes, more, cut } = diffJson(left, right, { limit: 10 })
    expect(cut).toBe(true)
    expect(changes).toHaveLength(10)
    expect(more).toBeGreaterThan(0)
    const whole = diffJson(left, right, { limit: 1e6 })
    expect(patched(left, whole.changes)).toEqual(right)
  })

  it('cost little where 100,000 of them are all replaced', () => {
    const left = Array.from({ length: 100_000 }, (_, i) => ({ n: i }))
    const right = Array.from({ length: 100_000 }, (_, i) => ({ n: -1 - i }))
    const { changes, more, cut } = diffJson(left, right, { limit: 1 })
    expect({ changes, more, cut }).toEqual({
      changes: [{ pointer: '/0/n', op: 'replace', left: 0, right: -1 }],
      more: 99_999,
      cut: false,
    })
  })
})

describe('depth', () => {
  it('is no limit: a leaf 5,000 levels down is one change', () => {
    const left = nested(5_000, 'a')
    const right = nested(5_000, 'b')
    const { changes } = diffJson(left, right)
    expect(changes).toHaveLength(1)
    expect(pointerKeys(changes[0]!.pointer)).toHaveLength(5_000)
    expect(diffJson(left, nested(5_000, 'a')).changes).toEqual([])
  })
})
