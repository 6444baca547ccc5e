import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { exchangeData } from '../http/exchanges.js'
import { temporaryDir } from '../store/temporary.js'
import { daglog, json, say, workplace } from './command.js'

const answer = {
  status: 200,
  headers: [],
  content: { size: 2, text: 'ok', mimeType: 'text/plain' },
}
const get = { method: 'GET', url: 'https://x.test/a', headers: [] }

function har(entries: readonly unknown[]): string {
  return JSON.stringify({ log: { version: '1.2', creator: { name: 'a', version: '1' }, entries } })
}

describe('daglog import of a HAR', () => {
  it('gives back what export wrote: the same file again, and a run that verifies', async () => {
    const { cwd } = await workplace(async (store) => {
      const run = await store.createRun({ id: 'r' })
      for (const ordinal of [1, 2]) {
        const said = `${'x'.repeat(3000)}${ordinal}`
        await run.append('http/exchange', exchangeData({ ordinal, said, pieces: [[1500, 9]] }))
      }
    })
    await say(['export', 'r', '--format', 'har', '-o', 'run.har'], { cwd })
    const there = temporaryDir()
    const imported = await daglog(['import', join(cwd, 'run.har')], { cwd: there })
    expect([imported.code, imported.err]).toEqual([0, ''])
    const [id] = imported.out.split(' ') as [string]
    expect(imported.out).toContain('new  2 exchanges')
    await say(['export', id, '--format', 'har', '-o', 'again.har'], { cwd: there })
    const read = (dir: string, name: string): string => readFileSync(join(dir, name), 'utf8')
    expect(read(there, 'again.har').replace(`run ${id}`, 'run r')).toBe(read(cwd, 'run.har'))
    expect((await daglog(['verify', '--all'], { cwd: there })).code).toBe(0)
    const again = await json(['import', join(cwd, 'run.har')], { cwd: there })
    expect(again.doc).toMatchObject({ ok: true, runs: [{ run: id, outcome: 'same' }] })
    expect(await say(['show', id], { cwd: there })).toContain('2 exchanges')
  })

  it('names what was left out and what such a file cannot carry, and exits with 5', async () => {
    const cwd = temporaryDir()
    const entries = [
      { request: get, response: answer, _priority: 'High' },
      { request: get, response: { ...answer, content: { size: 7 } } },
    ]
    writeFileSync(join(cwd, 'x.har'), `\uFEFF ${har(entries)}`)
    const { code, out, err } = await daglog(['import', 'x.har', '--id', 'mine'], { cwd })
    expect(code).toBe(5)
    expect(out).toBe('mine  new  1 exchange\n')
    expect(err).toContain('left out: entry 1 does not hold the body of its response, 7 bytes')
    expect(err).toContain('not taken over: what _priority says (1)')
    expect(err).toContain('not in such a file: trailers')
    const { doc } = await json(['events', 'mine', '--type', 'http/import'], { cwd })
    expect(JSON.stringify(doc)).toContain('"refused":[{"entry":1')
    const answered = await daglog(['trace-get', '--method', 'GET', '--url', get.url], { cwd })
    expect([answered.code, answered.out]).toEqual([0, 'ok'])
  })

  it('takes a cassette of vcrpy for what it is', async () => {
    const cwd = temporaryDir()
    const cassette = `interactions:
- request: {body: null, headers: {}, method: GET, uri: ${get.url}}
  response:
    body: {string: hello}
    headers: {content-type: [text/plain]}
    status: {code: 200, message: OK}
version: 1
`
    writeFileSync(join(cwd, 'x.yaml'), cassette)
    const { code, out, err } = await daglog(['import', 'x.yaml'], { cwd })
    expect([code, err]).toEqual([0, expect.stringContaining('not in such a file: when anything')])
    expect(out).toMatch(/-vcr-[0-9a-f]{8} {2}new {2}1 exchange\n$/)
    const answered = await say(['trace-get', '--method', 'GET', '--url', get.url], { cwd })
    expect(answered).toBe('hello')
    expect((await daglog(['import', 'x.yaml', '--from', 'har'], { cwd })).code).toBe(3)
  })

  it('of a file that is none, or of two kinds at once, says so', async () => {
    const cwd = temporaryDir()
    writeFileSync(join(cwd, 'cut.har'), har([{ request: get, response: answer }]).slice(0, -20))
    expect((await daglog(['import', 'cut.har'], { cwd })).code).toBe(3)
    writeFileSync(join(cwd, 'some.jsonl'), '{"type":"user"}\n')
    const both = await daglog(['import', 'cut.har', 'some.jsonl'], { cwd })
    expect(both.code).toBe(2)
    expect(both.err).toContain('one kind at a time')
    expect((await daglog(['import', 'nowhere.har', '--from', 'har'], { cwd })).code).toBe(2)
  })
})
