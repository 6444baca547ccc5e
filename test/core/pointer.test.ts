import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { pointerKeys, pointerStep, replaceAt, valueAt } from '../../src/core/pointer.js'
import { anyKey, anyValue, difference, numRuns, objectOf } from './values.js'

describe('a JSON pointer', () => {
  it('names any keys, and gives them back', () => {
    fc.assert(
      fc.property(fc.array(anyKey), (keys) => {
        expect(pointerKeys(keys.map(pointerStep).join(''))).toEqual(keys)
      }),
      { numRuns },
    )
    expect(pointerStep('a/b~')).toBe('/a~1b~0')
    expect(pointerStep(3)).toBe('/3')
    expect(pointerKeys('/~01')).toEqual(['~1'])
    expect(pointerKeys('/')).toEqual([''])
    expect(pointerKeys('')).toEqual([])
  })

  it('is different for different keys', () => {
    fc.assert(
      fc.property(fc.array(anyKey), fc.array(anyKey), (left, right) => {
        const same = left.length === right.length && left.every((key, at) => key === right[at])
        expect(left.map(pointerStep).join('') === right.map(pointerStep).join('')).toBe(same)
      }),
      { numRuns },
    )
  })

  it('that does not begin with a slash is refused, with the one that was meant', () => {
    expect(() => pointerKeys('a/b')).toThrow(/POINTER_NOT_FOUND.*try: \/a\/b/)
  })

  it('finds what stands there, and what was put there', () => {
    fc.assert(
      fc.property(fc.array(anyKey, { minLength: 1, maxLength: 5 }), anyValue, (keys, value) => {
        const pointer = keys.map(pointerStep).join('')
        let root: unknown = null
        for (const key of keys.toReversed())
          root = objectOf([
            ['other', 1],
            [key, root],
          ])
        expect(valueAt(root, pointer)).toBeNull()
        expect(replaceAt(root, pointer, value)).toBe(root)
        expect(difference(valueAt(root, pointer), value)).toBeUndefined()
      }),
      { numRuns },
    )
    expect(valueAt([['a', 'b']], '/0/1')).toBe('b')
    expect(valueAt('root', '')).toBe('root')
    expect(replaceAt('root', '', 'new')).toBe('new')
  })

  it('finds nothing that is inherited', () => {
    for (const pointer of ['/__proto__', '/constructor', '/toString', '/a/__proto__/x']) {
      expect(() => valueAt({ a: {} }, pointer)).toThrow(/^POINTER_NOT_FOUND/)
      expect(() => replaceAt({ a: {} }, pointer, 1)).toThrow(/^POINTER_NOT_FOUND/)
    }
    expect(({} as Record<string, unknown>).x).toBeUndefined()
  })

  it('names the first step that is not there', () => {
    expect(() => valueAt({ a: { b: 1 } }, '/a/c/d')).toThrow(/nothing at \/a\/c$/)
    expect(() => valueAt({ a: 'text' }, '/a/0')).toThrow(/nothing at \/a\/0$/)
    expect(() => valueAt([1], '/-')).toThrow(/^POINTER_NOT_FOUND/)
    expect(() => valueAt([1, 2], '/00')).toThrow(/^POINTER_NOT_FOUND/)
  })

  // `length` is an own property; RFC 6901 knows only indexes in an array.
  it('finds in an array only what is in it', () => {
    expect(() => valueAt([1, 2], '/length')).toThrow(/^POINTER_NOT_FOUND/)
  })
})
