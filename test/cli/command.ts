/**
 * The built command line, run as people run it: a process with a working directory.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { openStore, type Store } from '../../src/index.js'
import { temporaryDir, temporaryStore } from '../store/temporary.js'

export const MAIN = join(import.meta.dirname, '../../dist/cli/main.js')

export interface Finished {
  /** Null where a signal ended it. */
  readonly code: number | null
  readonly out: string
  readonly err: string
  readonly bytes: Buffer
}

export interface CommandOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string | Uint8Array
}

/** Start `daglog ARGS`. Of our own environment only the path is passed on. */
export function start(args: readonly string[], options: CommandOptions = {}): ChildProcess {
  return spawn(process.execPath, [MAIN, ...args], {
    cwd: options.cwd,
    env: { PATH: process.env.PATH, ...options.env },
    stdio: 'pipe',
  })
}

/** Wait for a process that was started. */
export async function finished(child: ChildProcess): Promise<Finished> {
  const [out, err]: [Buffer[], Buffer[]] = [[], []]
  child.stdout?.on('data', (piece: Buffer) => out.push(piece))
  child.stderr?.on('data', (piece: Buffer) => err.push(piece))
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', resolve)
  })
  const bytes = Buffer.concat(out)
  return { code, out: bytes.toString(), err: Buffer.concat(err).toString(), bytes }
}

/** Resolves once the process has printed `text`, whenever that was asked. */
export function printed(child: ChildProcess): (text: string) => Promise<void> {
  let out = ''
  const waiting = new Set<() => void>()
  child.stdout?.on('data', (piece: Buffer) => {
    out += piece.toString()
    for (const check of waiting) check()
  })
  return (text) =>
    new Promise((resolve) => {
      const check = (): void => {
        if (!out.includes(text)) return
        waiting.delete(check)
        resolve()
      }
      waiting.add(check)
      check()
    })
}

export async function daglog(
  args: readonly string[],
  options: CommandOptions = {},
): Promise<Finished> {
  const child = start(args, options)
  child.stdin?.on('error', () => {}) // It may end before it has read all.
  child.stdin?.end(options.input ?? '')
  return finished(child)
}

/** Run it, expect success, and give back what it printed, without the last newline. */
export async function say(args: readonly string[], options: CommandOptions = {}): Promise<string> {
  const { code, out, err } = await daglog(args, options)
  if (code !== 0) throw new Error(`daglog ${args.join(' ')} ended with ${code}: ${err}${out}`)
  return out.replace(/\n$/, '')
}

/** A working directory with a store in it, made by the library. */
export async function workplace(
  fill: (store: Store) => Promise<unknown> = async () => {},
): Promise<{ readonly cwd: string; readonly dir: string }> {
  const cwd = temporaryDir()
  const { store, dir } = await temporaryStore(join(cwd, '.daglog'))
  await fill(store)
  await store.close()
  return { cwd, dir }
}

/** The same for all tests of a `describe` that only read. Good once its tests run. */
export function sharedWorkplace(fill: (store: Store) => Promise<unknown>): {
  readonly cwd: string
} {
  const shared = { cwd: '' }
  beforeAll(async () => {
    shared.cwd = mkdtempSync(join(tmpdir(), 'daglog-test-'))
    const store = await openStore(join(shared.cwd, '.daglog'))
    await fill(store)
    await store.close()
  })
  afterAll(() => rmSync(shared.cwd, { recursive: true, force: true }))
  return shared
}

/** The one JSON document of `--json`. */
export async function json(
  args: readonly string[],
  options: CommandOptions = {},
): Promise<{ readonly code: number | null; readonly doc: Record<string, never> }> {
  const { code, out } = await daglog([...args, '--json'], options)
  return { code, doc: JSON.parse(out) }
}
