/**
 * One exchange put into the store by hand, and its answer taken out again.
 */
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { temporaryDir } from '../store/temporary.js'
import { daglog, json, say } from './command.js'

const URL_ = 'https://api.example.com/v1/x'
const ASK = ['--method', 'POST', '--url', URL_]

function put(cwd: string, more: readonly string[], input: string | Uint8Array = 'answer') {
  return daglog(['trace-put', ...ASK, '--status', '200', '--response', '-', ...more], {
    cwd,
    input,
  })
}

describe('trace-put and trace-get', () => {
  it('keep an answer byte for byte, under a key that says what was asked', async () => {
    const cwd = temporaryDir()
    writeFileSync(join(cwd, 'ask.json'), '{"a":1,"b":[2]}')
    const answer = randomBytes(3000)
    const asJson = ['--header', 'content-type: application/json']
    const { code, out } = await put(cwd, ['--body', 'ask.json', ...asJson], answer)
    expect(code).toBe(0)
    expect(out).toMatch(/^[0-9a-f]{64}\n$/)
    const get = [...ASK, '--body', '-', ...asJson]
    const back = await daglog(['trace-get', ...get], { cwd, input: '{"b":[2], "a":1}' })
    expect(back.code, back.err).toBe(0)
    expect(back.bytes.equals(answer)).toBe(true)
    const { doc } = await json(['trace-get', ...ASK, '--body', 'ask.json', ...asJson], { cwd })
    expect(doc).toMatchObject({ ok: true, run: 'traces', status: 200, end: 'complete' })
    expect(doc.key).toBe(out.trim())
    expect(Buffer.from(String(doc.body), 'base64').equals(answer)).toBe(true)
    expect((await daglog(['verify'], { cwd })).code).toBe(0)
  })

  it('give the newest of all runs, or of one run', async () => {
    const cwd = temporaryDir()
    expect((await put(cwd, [], 'first')).code).toBe(0)
    const run = await say(['init', 'other'], { cwd })
    expect((await put(cwd, ['--run', run], 'second')).code).toBe(0)
    const get = async (...more: string[]) => say(['trace-get', ...ASK, ...more], { cwd })
    expect(await get()).toBe('second')
    expect((await put(cwd, [], 'third')).code).toBe(0)
    expect(await get()).toBe('third')
    expect(await get('--run', run)).toBe('second')
    const missing = await put(cwd, ['--run', 'nobody'])
    expect(missing.code).toBe(4)
    expect(await say(['search', 'third'], { cwd })).toContain('traces:')
  })

  it('33. of what is not there say what is near, and where it differs, with exit 6', async () => {
    const cwd = temporaryDir()
    writeFileSync(join(cwd, 'ask.json'), '{"messages":[{"content":"hi"}]}')
    await put(cwd, ['--body', 'ask.json', '--header', 'anthropic-version: 2023-06-01'])
    const ask = ['--body', '-', '--header', 'anthropic-version: 2023-06-01']
    const input = '{"messages":[{"content":"hello"}]}'
    const { code, out, err } = await daglog(['trace-get', ...ASK, ...ask], { cwd, input })
    expect([code, out]).toEqual([6, ''])
    expect(err).toContain(`missed: nothing is stored under POST ${URL_}  (body-differs)`)
    expect(err).toContain('nearest: traces:')
    expect(err).toMatch(/body \/messages\/0\/content: stored hi, asked hello/)
    const other = await daglog(['trace-get', ...ASK, '--body', 'ask.json'], { cwd })
    expect(other.code).toBe(6)
    expect(other.err).toContain('header anthropic-version: stored 2023-06-01, asked nothing')
    const { code: same, doc } = await json(['trace-get', ...ASK, ...ask.slice(2)], { cwd })
    expect(same).toBe(6)
    expect(doc).toMatchObject({ ok: false, miss: 'body-differs' })
  })

  it('show status and headers on request, and keep what a header names as it is', async () => {
    const cwd = temporaryDir()
    const packed = gzipSync('{"said":1}')
    const headers = ['content-encoding: gzip', 'X-Twice: 1', 'X-Twice: 2']
    const more = headers.flatMap((header) => ['--response-header', header])
    expect((await put(cwd, [...more, '--status', '201'], packed)).code).toBe(0)
    const { bytes } = await daglog(['trace-get', ...ASK, '--include'], { cwd })
    const head = `HTTP/1.1 201 Created\r\n${headers.join('\r\n')}\r\n\r\n`
    expect(bytes.equals(Buffer.concat([Buffer.from(head), packed]))).toBe(true)
    expect(await say(['cat', '--decoded', 'traces:3:/response/body'], { cwd })).toBe('{"said":1}')
  })

  it('16. let no secret in, and answer whoever asks with another one', async () => {
    const cwd = temporaryDir()
    const key = `sk-ant-${'a1B2'.repeat(8)}`
    const { code, err } = await put(cwd, ['--header', `x-api-key: ${key}`], `{"echo":"${key}"}`)
    expect(code).toBe(0)
    expect(err).toMatch(/secrets? scrubbed before it was stored/)
    const back = await daglog(['trace-get', ...ASK, '--header', 'x-api-key: another'], { cwd })
    expect(back.code).toBe(0)
    expect(back.out).toMatch(/^\{"echo":"daglog-scrubbed-[0-9a-f]{16}"\}$/)
    expect((await daglog(['export', 'traces', '--format', 'har'], { cwd })).code).toBe(0)
  })

  it('refuse what is no request or response, and repeat nothing of it', async () => {
    const cwd = temporaryDir()
    const wrong: readonly (readonly string[])[] = [
      ['trace-put', ...ASK, '--status', '200'],
      ['trace-put', ...ASK, '--status', '100', '--response', '-'],
      ['trace-put', '--method', 'GET', '--url', '/x', '--status', '200', '--response', '-'],
      ['trace-put', ...ASK, '--status', '200', '--response', '-', '--body', '-'],
      ['trace-put', ...ASK, '--status', '200', '--response', '-', '--header', 'sk-secret'],
      ['trace-get', '--url', URL_],
    ]
    for (const args of wrong) {
      const { code, err } = await daglog(args, { cwd })
      expect([args, code]).toEqual([args, 2])
      expect(err).not.toContain('sk-secret')
    }
    // Nothing that was refused made a store.
    expect((await daglog(['trace-get', ...ASK], { cwd })).code).toBe(4)
  })
})
