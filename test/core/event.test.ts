import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DaglogError } from '../../src/core/errors.js'
import { checkType, checkUserEvent } from '../../src/core/event.js'
import type { EventType } from '../../src/core/event-map.js'
import { TYPE_BYTES_MAX } from '../../src/core/limits.js'
import { anyText, numRuns } from './values.js'

function codeOf(act: () => void): string | undefined {
  try {
    act()
  } catch (error) {
    return error instanceof DaglogError ? error.code : String(error)
  }
  return undefined
}

describe('an event type', () => {
  it('is words of a-z, 0-9 and - joined by slashes, at most 64 bytes', () => {
    for (const type of ['a', '0', '-', 'cart/add', 'a/b/c/d-e/9', 'x'.repeat(TYPE_BYTES_MAX)]) {
      expect(codeOf(() => checkType(type))).toBeUndefined()
    }
    const bad = ['', '/', 'a/', '/a', 'a//b', 'A', 'a b', 'a\n', 'é', 'a_b', 'a.b', 'a"b', '\0']
    for (const type of [...bad, 'x'.repeat(TYPE_BYTES_MAX + 1)]) {
      expect(codeOf(() => checkType(type))).toBe('TYPE_INVALID')
    }
  })

  it('that is accepted needs no escape in JSON', () => {
    fc.assert(
      fc.property(fc.oneof(anyText, fc.stringMatching(/^[a-z/-]{0,70}$/)), (type) => {
        if (codeOf(() => checkType(type)) === undefined) {
          expect(JSON.stringify(type)).toBe(`"${type}"`)
          expect(Buffer.byteLength(type)).toBeLessThanOrEqual(TYPE_BYTES_MAX)
        }
      }),
      { numRuns },
    )
  })

  it('that is no string is refused with words', () => {
    for (const type of [undefined, null, 5, {}, ['a'], Symbol('s')]) {
      expect(codeOf(() => checkType(type as never))).toBe('TYPE_INVALID')
    }
  })

  it('that no JSON can show is refused with words too', () => {
    const cycle: unknown[] = []
    cycle.push(cycle)
    for (const type of [1n, cycle]) {
      expect(codeOf(() => checkType(type as never))).toBe('TYPE_INVALID')
    }
  })

  it('of the store is refused from users', () => {
    const own: EventType[] = ['run/start', 'run/meta', 'run/end', 'writer/open', 'log/recovered']
    for (const type of [
      ...own,
      'log/gap',
      'redaction',
      'run/x',
      'log/x/y',
      'writer/z',
      'store/a',
    ]) {
      expect(codeOf(() => checkUserEvent(type, {}))).toBe('TYPE_RESERVED')
    }
    for (const type of ['run', 'log', 'runs/x', 'redactions', 'a/run/start', 'note', 'turn/end']) {
      expect(codeOf(() => checkUserEvent(type, {}))).toBeUndefined()
    }
  })

  it('turn/end has the reason "interrupted" only from recovery', () => {
    expect(codeOf(() => checkUserEvent('turn/end', { turn: 1, reason: 'interrupted' }))).toBe(
      'TYPE_RESERVED',
    )
    for (const data of [null, undefined, 'interrupted', { reason: 'aborted' }]) {
      expect(codeOf(() => checkUserEvent('turn/end', data))).toBeUndefined()
    }
  })
})
