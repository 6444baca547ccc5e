/**
 * What leaves the store is looked through for secrets first: the last door before a file is sent away.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { secretsIn } from '../../src/importers/secrets.js'
import { daglog, json, workplace } from './command.js'

const KEY = `sk-ant-${'a1B2'.repeat(8)}`
const OTHER = `ghp_${'c3D4'.repeat(9)}`
const FORMATS = ['jsonl', 'edn', 'bundle']

function exchange(body: Uint8Array, headers: readonly (readonly [string, string])[]) {
  const request = { method: 'POST', url: 'https://x.test/', headers, body, form: 'wire' }
  return { request, response: { status: 200, headers: [], body, form: 'wire' }, end: 'complete' }
}

describe('daglog export of a run with secrets in it', () => {
  it('16. vcr#704: is refused in each form, by kind and place, and nothing is written', async () => {
    const { cwd } = await workplace(async (store) => {
      const run = await store.createRun({ id: 'leaky' })
      await run.append('note', { text: `key ${KEY}` })
      await run.append('note', { page: `${'x '.repeat(5000)}${OTHER}${' y'.repeat(5000)}` })
    })
    for (const format of FORMATS) {
      const file = join(cwd, `out.${format}`)
      const { code, out, err } = await daglog(['export', 'leaky', '--format', format, '-o', file], {
        cwd,
      })
      expect(code, err).toBe(1)
      expect(err).toContain('2 secrets would leave the store with run leaky')
      expect(err).toContain('Anthropic key at leaky:1:')
      expect(err).toContain('GitHub token at leaky:2:/page')
      expect(err).toMatch(/^try: --allow-secrets/m)
      expect(out + err).not.toContain(KEY.slice(7))
      expect(out + err).not.toContain(OTHER.slice(4))
      expect(existsSync(file)).toBe(false)
    }
    const piped = await daglog(['export', 'leaky'], { cwd })
    expect([piped.code, piped.out]).toEqual([1, ''])
  })

  it('is said to programs as data, and goes through with --allow-secrets', async () => {
    const { cwd } = await workplace(async (store) => {
      const run = await store.createRun({ id: 'leaky' })
      await run.append('note', { text: KEY })
    })
    const { code, doc } = await json(['export', 'leaky', '-o', join(cwd, 'a')], { cwd })
    expect(code).toBe(1)
    expect(doc).toMatchObject({
      error: {
        code: 'SECRETS_FOUND',
        data: {
          run: 'leaky',
          count: 1,
          secrets: [{ kind: 'Anthropic key', seq: 1, type: 'note' }],
        },
      },
    })
    const file = join(cwd, 'b')
    const allowed = await daglog(['export', 'leaky', '-o', file, '--allow-secrets'], { cwd })
    expect(allowed.code).toBe(0)
    expect(readFileSync(file, 'utf8')).toContain(KEY)
  })

  it('18. ldp PR#448: bodies that were sent packed are looked into, responses too', async () => {
    const { cwd } = await workplace(async (store) => {
      const run = await store.createRun({ id: 'packed' })
      const body = gzipSync(`{"token":"${OTHER}"}`)
      await run.append('http/exchange', exchange(body, [['Content-Encoding', 'gzip']]))
      const long = [['Content-Encoding', 'gzip'] as const, ['x-long', 'y'.repeat(5000)] as const]
      await run.append('http/exchange', exchange(body, long))
    })
    const { code, err } = await daglog(['export', 'packed'], { cwd })
    expect(code).toBe(1)
    expect(err).toContain('GitHub token at packed:1:/request/body')
    expect(err).toContain('GitHub token at packed:2:/request/body')
  })

  it('does not stop what only looks like one', async () => {
    const { cwd } = await workplace(async (store) => {
      const run = await store.createRun({ id: 'clean' })
      await run.append('note', { text: 'https://example.com/a:b risk-assessment-of-a-long-name' })
    })
    for (const format of FORMATS)
      expect((await daglog(['export', 'clean', '--format', format], { cwd })).code).toBe(0)
  })
})

describe('secrets in bytes', () => {
  it('are found wherever they begin, and one inside another once', () => {
    const places = (text: string) => [...secretsIn(Buffer.from(text))]
    for (const before of [0, 1, 63, 64, 65, 700]) {
      const text = `${'.'.repeat(before)} ${KEY} ${OTHER} ${'.'.repeat(before)}`
      expect(places(text)).toEqual([
        { kind: 'Anthropic key', at: before + 1, length: KEY.length },
        { kind: 'GitHub token', at: before + KEY.length + 2, length: OTHER.length },
      ])
    }
    const token = `eyJ${'a'.repeat(20)}.eyJ${'b'.repeat(20)}.${'c'.repeat(20)}`
    expect(places(`Bearer ${token}`).map(({ kind }) => kind)).toEqual(['bearer header'])
    expect(places(token).map(({ kind }) => kind)).toEqual(['JSON web token'])
    expect(places('x://sk-:hunter2@h').map(({ kind }) => kind)).toEqual([])
    expect(places('redis://a:hunter2@h sk-').map(({ kind }) => kind)).toEqual(['password in a URL'])
  })
})
