/**
 * Two generations of the openai package in a program of their own, under `daglog record --` and, with
 * the server gone, `daglog replay --`.
 */
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { daglog } from '../../cli/command.js'
import { temporaryDir } from '../../store/temporary.js'
import { realPackages } from '../real-packages.js'
import { openModelStub } from './model-stub.js'

const real = await realPackages('traffic')

describe.skipIf(real.skip !== undefined)('an agent of', () => {
  it.each([
    ['openai 6.49', 'openai'],
    ['openai 7.59', 'openai-7'],
  ])('%s: a 429, a tool call, a stream and an upload come back byte for byte', async (_, name) => {
    const stub = await openModelStub()
    const options = { cwd: temporaryDir(), env: { OPENAI_BASE_URL: `${stub.url}/v1` } }
    const program = [process.execPath, join(import.meta.dirname, 'openai-agent.mjs'), name]
    const recorded = await daglog(['record', '--', ...program], options)
    expect(recorded.err).toContain('recorded 5 calls')
    expect(recorded.code).toBe(0)
    expect(stub.asked).toHaveLength(5)
    expect(JSON.parse(recorded.out).at(-1)).toBe('file-1')
    await stub.stop()
    const replayed = await daglog(['replay', '@last', '--', ...program], options)
    expect(replayed.err).toContain('same: 5 of 5 calls')
    expect(replayed).toMatchObject({ code: 0, out: recorded.out })
    expect((await daglog(['verify', '--all'], options)).code).toBe(0)
  })
})
