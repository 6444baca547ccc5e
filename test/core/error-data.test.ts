import vm from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodeData } from '../../src/core/body.js'
import { errorData } from '../../src/core/error-data.js'
import { assert, DaglogError, ERROR_KINDS, systemCode } from '../../src/core/errors.js'
import { anyValue, numRuns } from './values.js'

describe('an error as data', () => {
  it('keeps name, message, code, causes and one stack', () => {
    const cause = Object.assign(new TypeError('inner'), { code: 'E_INNER' })
    const error = Object.assign(new RangeError('outer', { cause }), { code: 7 })
    const data = errorData(error)
    expect(data).toEqual({
      name: 'RangeError',
      message: 'outer',
      code: '7',
      cause: { name: 'TypeError', message: 'inner', code: 'E_INNER' },
      stack: error.stack,
    })
  })

  it('keeps an error of ours with its code', () => {
    expect(errorData(new DaglogError('USAGE', 'no'))).toMatchObject({
      name: 'DaglogError',
      message: 'USAGE: no',
      code: 'USAGE',
    })
  })

  it('ends where causes go round', () => {
    const error = new Error('round')
    error.cause = error
    let depth = 0
    for (let data = errorData(error).cause; data !== undefined; data = data.cause) depth += 1
    expect(depth).toBe(8)
  })

  it('is made of anything that can be thrown as text', () => {
    expect(errorData('text')).toEqual({ name: 'Error', message: 'text', thrown: 'text' })
    expect(errorData(undefined)).toEqual({ name: 'Error', message: 'undefined' })
    expect(errorData(Symbol('s'))).toEqual({ name: 'Error', message: 'Symbol(s)' })
  })

  // `String(error)` throws for these; in a step that would hide the error itself and leave the step open.
  it('is made of anything at all, also of what has no text', () => {
    const bad = {
      toString() {
        throw new Error('no text')
      },
    }
    for (const thrown of [Object.create(null), bad]) {
      expect(errorData(thrown).name).toBe('Error')
    }
  })

  it('can always be encoded, whatever the error says of itself', () => {
    fc.assert(
      fc.property(
        fc.record(
          {
            name: fc.oneof(anyValue, fc.constant(Symbol('s'))),
            message: fc.oneof(
              anyValue,
              fc.constant(() => 1),
            ),
            stack: fc.oneof(anyValue, fc.constant([{ getFileName: () => 'x' }])),
            code: anyValue,
            cause: anyValue,
          },
          { requiredKeys: [] },
        ),
        (fields) => {
          const error = new Error('e')
          void error.stack // V8 makes the text now, while the name still has one.
          for (const [key, value] of Object.entries(fields))
            Object.defineProperty(error, key, { value })
          const data = errorData(error)
          expect(typeof data.name).toBe('string')
          expect(typeof data.message).toBe('string')
          encodeData({ error: data })
        },
      ),
      { numRuns },
    )
  })

  it('keeps what an error of another realm says', () => {
    const error = vm.runInNewContext('Object.assign(new TypeError("there"), { code: "E_X" })')
    expect(errorData(error)).toMatchObject({ name: 'TypeError', message: 'there', code: 'E_X' })
  })

  it('keeps what a plain object says that was thrown', () => {
    expect(errorData({ message: 'rate limited', code: 'E_RATE' })).toMatchObject({
      message: 'rate limited',
      code: 'E_RATE',
    })
  })
})

describe('an error of ours', () => {
  it('begins with its code, knows its kind, and keeps its cause and facts', () => {
    const cause = new Error('disk')
    const error = new DaglogError('WRITE_FAILED', 'no room; try: less', { place: 'p' }, { cause })
    expect(error).toMatchObject({ name: 'DaglogError', code: 'WRITE_FAILED', kind: 'environment' })
    expect(error.message).toBe('WRITE_FAILED: no room; try: less')
    expect(error.data).toEqual({ place: 'p' })
    expect(error.cause).toBe(cause)
    for (const [code, kind] of Object.entries(ERROR_KINDS)) {
      expect(new DaglogError(code as 'USAGE', '').kind).toBe(kind)
    }
  })

  it('is what a broken claim throws', () => {
    expect(() => assert(false, 'two and two is four')).toThrow('INVARIANT: two and two is four')
    expect(() => assert(1, 'fine')).not.toThrow()
  })

  it('is told from errors of the system', () => {
    expect(systemCode(Object.assign(new Error(), { code: 'ENOSPC' }))).toBe('ENOSPC')
    for (const thrown of [null, undefined, 'x', new Error('x'), { code: 5 }]) {
      expect(systemCode(thrown)).toBeUndefined()
    }
  })
})
