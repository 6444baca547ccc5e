/**
 * What leaves the store is looked through for secrets first: the last door before a file is sent
 * away.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { SECRET_FORMS } from '../../src/core/secret-forms.js'
import { secretsIn } from '../../src/importers/secrets.js'
import { exchangeData } from '../http/exchanges.js'
import { daglog, json, workplace } from './command.js'

const KEY = `sk-ant-${'a1B2'.repeat(8)}`
const OTHER = `ghp_${'c3D4'.repeat(9)}`
const FORMATS = ['jsonl', 'edn', 'bundle']

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
      const short = [['Content-Encoding', 'gzip']] as const
      const long = [...short, ['x-long', 'y'.repeat(5000)]] as const
      for (const headers of [short, long])
        await run.append('http/exchange', exchangeData({ asked: body, askedWith: headers }))
    })
    const { code, err } = await daglog(['export', 'packed'], { cwd })
    expect(code).toBe(1)
    expect(err).toContain('GitHub token at packed:1:/request/body')
    expect(err).toContain('GitHub token at packed:2:/request/body')
  })

  it('names what is secret by its name, too, in heads of exchanges that no recorder wrote', async () => {
    const { cwd } = await workplace(async (store) => {
      const run = await store.createRun({ id: 'named' })
      const askedWith = [['X-Api-Key', 'hunter2-hunter2']] as const
      const saidWith = [['set-cookie', 'sid=some-session']] as const
      const url = 'https://x.test/?key=hunter3-hunter3'
      await run.append('http/exchange', exchangeData({ askedWith, saidWith, url }))
    })
    const { code, err } = await daglog(['export', 'named'], { cwd })
    expect(code).toBe(1)
    expect(err).toContain('3 secrets')
    expect(err).toContain('request header x-api-key at named:1:/request')
    expect(err).toContain('request query key at named:1:/request')
    expect(err).toContain('response cookie sid at named:1:/response')
    expect(err).not.toMatch(/hunter|some-session/)
  })

  it('does not stop what only looks like one', async () => {
    const { cwd } = await workplace(async (store) => {
      const run = await store.createRun({ id: 'clean' })
      await run.append('note', { text: `Bearer daglog-scrubbed-${'0'.repeat(16)}` })
      await run.append('note', { text: 'https://example.com/a:b risk-assessment-of-a-long-name' })
    })
    for (const format of FORMATS)
      expect((await daglog(['export', 'clean', '--format', format], { cwd })).code).toBe(0)
  })
})

describe('secrets in bytes', () => {
  it('have a hint for each form, so that none is passed over', () => {
    const samples: Record<string, string> = {
      'Anthropic key': KEY,
      'OpenAI key': `sk-proj-${'a'.repeat(32)}`,
      'GitHub token': `github_pat_${'a'.repeat(40)}`,
      'GitLab token': `glpat-${'a'.repeat(20)}`,
      'AWS access key': `ASIA${'A'.repeat(16)}`,
      'Google key': `AIza${'a'.repeat(35)}`,
      'Slack token': `xoxb-${'1'.repeat(20)}`,
      'npm token': `npm_${'a'.repeat(36)}`,
      'Hugging Face token': `hf_${'a'.repeat(30)}`,
      'Stripe key': `rk_live_${'a'.repeat(20)}`,
      'private key': '-----BEGIN RSA PRIVATE KEY-----',
      'JSON web token': `eyJ${'a'.repeat(20)}.eyJ${'b'.repeat(20)}.${'c'.repeat(20)}`,
      'password in a URL': 'postgres://user:hunter2@db/x',
      'bearer header': `Bearer ${'a'.repeat(30)}`,
    }
    expect(Object.keys(samples)).toEqual(SECRET_FORMS.map(([kind]) => kind))
    for (const [kind, sample] of Object.entries(samples))
      expect([...secretsIn(Buffer.from(`x ${sample} y`))].map((found) => found.kind)).toEqual([
        kind,
      ])
  })

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
