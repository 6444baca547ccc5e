import { describe, expect, it } from 'vitest'
import { EXIT_CODES } from '../../src/cli/exit-codes.js'
import { failureOf } from '../../src/cli/failure.js'
import { DaglogError, ERROR_KINDS, type ErrorCode } from '../../src/index.js'

function exitOf(code: ErrorCode): number {
  return failureOf(new DaglogError(code, 'x')).exit
}

describe('an error at the command line', () => {
  it('has an exit code of the contract, by what the person can do about it', () => {
    for (const code of Object.keys(ERROR_KINDS) as ErrorCode[]) {
      const exit = exitOf(code)
      expect(EXIT_CODES, code).toHaveProperty(String(exit))
      expect(exit, code).not.toBe(0)
      // Nobody holds anything where a person has not answered yet.
      if (ERROR_KINDS[code] === 'retry' && code !== 'ASK_TIMEOUT') expect(exit, code).toBe(7)
      if (ERROR_KINDS[code] === 'damage') expect(exit, code).toBe(3)
      if (code.endsWith('_NOT_FOUND')) expect(exit, code).toBe(4)
    }
    expect(exitOf('USAGE')).toBe(2)
    expect(exitOf('RUN_EXISTS')).toBe(1)
  })

  it('is taken apart into what happened, its cause, and what to try', () => {
    const message =
      'run r, seq 3, byte 9: the hash does not follow. Try: a backup, or `daglog salvage r`'
    expect(failureOf(new DaglogError('CHAIN_BROKEN', message))).toMatchObject({
      what: 'run r, seq 3, byte 9',
      cause: 'the hash does not follow',
      advice: 'a backup, or `daglog salvage r`',
    })
    const cause = new Error('ENOSPC: no space left on device, write')
    const full = new DaglogError(
      'WRITE_FAILED',
      '/store: ENOSPC; try: free some space',
      {},
      { cause },
    )
    expect(failureOf(full)).toMatchObject({
      what: '/store: ENOSPC',
      cause: cause.message,
      advice: 'free some space',
    })
  })

  it('always has all three, whatever it is', () => {
    for (const error of [
      new TypeError('x is undefined'),
      'text',
      undefined,
      new DaglogError('CLOSED', ''),
    ]) {
      const { cause, advice, exit } = failureOf(error)
      expect([cause, advice].every((line) => line.length > 0)).toBe(true)
      expect(exit).toBe(1)
    }
    expect(failureOf(new TypeError('x')).code).toBe('INVARIANT')
    const system = Object.assign(new Error('EMFILE: too many open files'), {
      code: 'EMFILE',
      errno: -24,
    })
    expect(failureOf(system).code).toBe('READ_FAILED')
  })
})
