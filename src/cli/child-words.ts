/**
 * What a verb says about the child it runs, and to it: what its run is called, and what a program
 * that uses the library finds in its environment.
 */
import { basename } from 'node:path'
import type { ChildCommand } from '../http/proxy/run-child.js'
import type { Store } from '../store/store.js'
import type { Call } from './call.js'

const INTERPRETERS = /^(node|nodejs|deno|bun|npx|tsx|python[\d.]*|uv|ruby|sh|bash|zsh|env)(\.exe)?$/

/**
 * The name of the program, not of what interprets it. Arguments are not kept: they may hold
 * secrets.
 */
export function nameOfCommand(words: readonly string[]): string {
  const [program = 'run', ...args] = words
  const script = INTERPRETERS.test(basename(program))
    ? args.find((word) => /^[\w./\\@-]+\.\w+$/.test(word) && !word.startsWith('-'))
    : undefined
  return basename(script ?? program).replace(/\.\w{1,4}$/, '')
}

export interface LibraryMode {
  readonly mode: 'record' | 'replay'
  /** The run that the verb writes, and whose lock it holds. */
  readonly run: string
  /** The run that is replayed. */
  readonly from?: string
}

/**
 * The program that a verb runs, as `attend` takes it. With `--json`, standard output is the verb's.
 */
export function childOf(call: Call, store: Store, library: LibraryMode): ChildCommand {
  const [command = '', ...args] = call.many('CMD')
  return {
    command,
    args,
    env: { ...process.env, ...libraryEnvironment(store, library) },
    stdout: call.out.json ? 'stderr' : 'inherit',
  }
}

/** For programs that use the library themselves. */
function libraryEnvironment(
  { place }: Store,
  { mode, run, from }: LibraryMode,
): Record<string, string> {
  const source: Record<string, string> = from === undefined ? {} : { DAGLOG_FROM: from }
  return { DAGLOG_DIR: place, DAGLOG_MODE: mode, DAGLOG_RUN: run, ...source }
}
