import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type ExaminedFile, examineFiles } from '../../src/importers/examine-files.js'
import { secretsIn } from '../../src/importers/secrets.js'
import { assistant, linesOf, result, toolUse, user } from '../fold/readers/claude-lines.js'
import { temporaryDir } from '../store/temporary.js'

async function examine(bytes: Uint8Array): Promise<ExaminedFile> {
  const path = join(temporaryDir(), 'session.jsonl')
  writeFileSync(path, bytes)
  const [file] = (await examineFiles([path])).files
  return file as ExaminedFile
}

it('names every bad place by line and bytes, and shows none of what is there', async () => {
  const good = linesOf([user('hi', { uuid: 'a' })])
  const torn = '{"type":"user","uuid":"b","message":{"content":"sec'
  const bytes = Buffer.concat([
    good,
    Buffer.from(`${torn}\n`),
    Buffer.from('\0\0\0\0\n'),
    Buffer.from('nonsense\n'),
    Buffer.from([0x22, 0xff, 0x22, 0x0a]),
    linesOf([user('x')]).subarray(0, -1),
    linesOf([user('y')]),
    Buffer.from('{"type":"user'),
  ])
  const { findings, counts, lines } = await examine(bytes)
  const at = good.length
  expect(findings.slice(0, 4)).toEqual([
    { kind: 'torn', line: 2, from: at, to: at + torn.length },
    { kind: 'zeros', line: 3, from: at + torn.length + 1, to: at + torn.length + 5 },
    { kind: 'not-json', line: 4, from: at + torn.length + 6, to: at + torn.length + 14 },
    { kind: 'not-utf8', line: 5, from: at + torn.length + 15, to: at + torn.length + 18 },
  ])
  expect(counts).toEqual({ torn: 2, zeros: 1, 'not-json': 1, 'not-utf8': 1, fused: 1 })
  expect(lines).toBe(7)
})

it('T13, T14: counts calls without a result, and results without a call', async () => {
  const { counts, findings } = await examine(
    linesOf([
      user('go'),
      assistant('m', [toolUse('answered'), toolUse('orphan')]),
      result('answered'),
      result('never-asked'),
      assistant('m2', [toolUse('late')]),
      result('late'),
    ]),
  )
  expect(counts).toEqual({ 'orphan-call': 1, 'orphan-result': 1 })
  expect(findings.map(({ kind, line }) => [kind, line])).toEqual([
    ['orphan-call', 2],
    ['orphan-result', 4],
  ])
})

it('T33: counts parents that were never written', async () => {
  const { counts } = await examine(
    linesOf([
      user('a', { uuid: 'a' }),
      user('b', { uuid: 'b', parentUuid: 'a' }),
      user('c', { uuid: 'c', parentUuid: 'gone' }),
    ]),
  )
  expect(counts).toEqual({ 'dangling-parent': 1 })
})

it('T44: finds secrets by kind and place only', async () => {
  const key = `sk-ant-${'a1B2'.repeat(8)}`
  const lines = linesOf([user('hi'), user(`export KEY=${key}`)])
  const { findings } = await examine(lines)
  const from = lines.indexOf(key)
  expect(findings).toEqual([{ kind: 'secret', what: 'Anthropic key', from, line: 2 }])
  expect(JSON.stringify(findings)).not.toContain(key.slice(7))
})

it('knows secrets by their form, and takes no part of a longer word for one', () => {
  const kinds = (text: string) => [...secretsIn(Buffer.from(text))].map(({ kind }) => kind)
  expect(kinds(`AKIA${'ABCDEFGH'.repeat(2)}`)).toEqual(['AWS access key'])
  expect(kinds(`ghp_${'a'.repeat(36)}`)).toEqual(['GitHub token'])
  expect(kinds('-----BEGIN OPENSSH PRIVATE KEY-----')).toEqual(['private key'])
  expect(kinds('postgres://user:hunter2@db/x')).toEqual(['password in a URL'])
  expect(kinds('https://example.com/a:b')).toEqual([])
  expect(kinds(`AAAA${`AKIA${'ABCDEFGH'.repeat(2)}`}`)).toEqual([])
  expect(kinds('risk-assessment-of-a-very-long-name-indeed')).toEqual([])
})

it('says what a store would take, and writes nothing', async () => {
  const dir = temporaryDir()
  mkdirSync(join(dir, 'p'))
  const line = result('t', 'a page of text that is long enough '.repeat(400))
  writeFileSync(join(dir, 'p/a.jsonl'), linesOf(Array.from({ length: 100 }, () => line)))
  writeFileSync(join(dir, 'p/notes.jsonl'), '{"no":"transcript"}\n')
  const health = await examineFiles([dir])
  expect(health.passedOver).toEqual([join(dir, 'p/notes.jsonl')])
  expect(health.duplicateBytes).toBeGreaterThan(health.bytes * 0.9)
  expect(health.storedBytes).toBeLessThan(health.bytes / 20)
})
