/**
 * How real packages come to tests, with packages of our own making and no network.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { temporaryDir } from '../store/temporary.js'
import { install } from './install.mjs'

const manifest = (name: string, more: object = {}): string =>
  JSON.stringify({ name, version: '1.0.0', ...more })

/** A topic with one package, which lies in a file. */
function topicWithPackage(): string {
  const dir = join(temporaryDir(), 'topic')
  const thing = join(dir, 'thing')
  mkdirSync(thing, { recursive: true })
  const exports = { '.': { import: './as-module.mjs', require: './as-script.cjs' } }
  writeFileSync(join(thing, 'package.json'), manifest('thing', { exports }))
  writeFileSync(join(thing, 'as-module.mjs'), 'export const kind = "module"\n')
  writeFileSync(join(thing, 'as-script.cjs'), 'exports.kind = "script"\n')
  const packed = execFileSync('npm', ['pack', '--silent', thing], { cwd: dir, encoding: 'utf8' })
  // Absolute: the install happens in another place.
  const file = `file:${join(dir, packed.trim())}`
  writeFileSync(join(dir, 'package.json'), manifest('topic', { dependencies: { thing: file } }))
  const lock = ['install', '--package-lock-only', '--ignore-scripts', '--offline', '--silent']
  execFileSync('npm', lock, { cwd: dir })
  return dir
}

/** A topic with a package that lies on a server that is not there. */
function topicOutOfReach(): string {
  const dir = join(temporaryDir(), 'topic')
  mkdirSync(dir, { recursive: true })
  const root = { name: 'topic', version: '1.0.0', dependencies: { 'not-there': '1.0.0' } }
  const resolved = 'http://127.0.0.1:9/not-there-1.0.0.tgz'
  const packages = { '': root, 'node_modules/not-there': { version: '1.0.0', resolved } }
  writeFileSync(join(dir, 'package.json'), JSON.stringify(root))
  const lock = { name: 'topic', version: '1.0.0', lockfileVersion: 3, requires: true, packages }
  writeFileSync(join(dir, 'package-lock.json'), JSON.stringify(lock))
  return dir
}

describe('real packages', () => {
  it('are installed once, found as a module would find them, and used offline from then on', async () => {
    const dir = topicWithPackage()
    const { loader } = await install('topic', { dir })
    const { load } = await import(/* @vite-ignore */ pathToFileURL(loader as string).href)
    expect((await load('thing')).kind).toBe('module')
    rmSync(join(dir, 'thing-1.0.0.tgz'))
    expect(await install('topic', { dir, env: { ...process.env, PATH: '' } })).toEqual({ loader })
    expect(readdirSync(join(dir, '..', 'node_modules'))).toEqual([])
  })

  it('are installed again once their lockfile changes', async () => {
    const dir = topicWithPackage()
    const { loader } = await install('topic', { dir })
    writeFileSync(join(dir, '.npmrc'), 'ignore-scripts=true\n')
    rmSync(loader as string)
    expect(await install('topic', { dir })).toEqual({ loader })
    expect(existsSync(loader as string)).toBe(true)
  })

  it('skip with a reason where nobody answers, and fail where they are required', async () => {
    const dir = topicOutOfReach()
    const { skip } = await install('topic', { dir })
    expect(skip).toMatch(
      /^the packages of test\/real\/topic are not here: the registry does not answer \(\w+\)$/,
    )
    expect(existsSync(join(dir, 'node_modules'))).toBe(false)
    const env = { ...process.env, DAGLOG_REAL: 'require' }
    await expect(install('topic', { dir, env })).rejects.toThrow('the registry does not answer')
  })

  it('skip without asking anybody where that is wanted', async () => {
    const env = { DAGLOG_REAL: 'skip', PATH: '' }
    const { skip } = await install('topic', { dir: topicOutOfReach(), env })
    expect(skip).toBe(
      'the packages of test/real/topic are not here: not installed, and DAGLOG_REAL=skip',
    )
  })

  it('fail where the lockfile is wrong: that is no reason to skip', async () => {
    const dir = topicOutOfReach()
    writeFileSync(
      join(dir, 'package.json'),
      manifest('topic', { dependencies: { 'not-there': '2.0.0' } }),
    )
    await expect(install('topic', { dir })).rejects.toThrow('npm ci failed')
  })
})
