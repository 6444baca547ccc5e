import { expect, it } from 'vitest'
import { reviveError } from '../../src/core/error-revive.js'

it('an error is an error again, whatever it says that its name is', () => {
  for (const name of ['constructor', 'toString', '__proto__', 'hasOwnProperty', 'MyError']) {
    const revived = reviveError({ name, message: 'it broke' }) as Error
    expect(revived).toBeInstanceOf(Error)
    expect([revived.name, revived.message]).toEqual([name, 'it broke'])
  }
  expect(reviveError({ name: 'TypeError', message: 'x' })).toBeInstanceOf(TypeError)
})
