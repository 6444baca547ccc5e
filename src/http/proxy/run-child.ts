/**
 * A child process that is run to its end: signals go on to it, its exit code comes back.
 */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { constants as access, accessSync, statSync } from 'node:fs'
import { constants } from 'node:os'
import { delimiter, join } from 'node:path'
import { DaglogError, systemCode } from '../../core/errors.js'

export interface ChildCommand {
  readonly command: string
  readonly args: readonly string[]
  /** All of its environment; a name without a value is not in it. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Where its standard output goes; to ours unless told. */
  readonly stdout?: 'inherit' | 'stderr'
}

export interface ChildExit {
  /** As a shell has it: 128 and the signal's number, where a signal ended it. */
  readonly code: number
  readonly signal?: NodeJS.Signals
}

/** What a terminal sends to each process of the foreground: sent on, it would arrive twice. */
const FROM_TERMINAL: ReadonlySet<NodeJS.Signals> = new Set(['SIGINT', 'SIGQUIT'])
const PASSED: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP', 'SIGUSR2']
const SIGNAL_BASE = 128

/**
 * Run a command and wait for its end; meanwhile no signal of those that are passed on ends this
 * process.
 * @throws USAGE where it cannot be started
 */
export function runChild({ command, args, env, stdout }: ChildCommand): Promise<ChildExit> {
  const options: SpawnOptions = {
    env: env as NodeJS.ProcessEnv,
    stdio: ['inherit', stdout === 'stderr' ? 2 : 'inherit', 'inherit'],
  }
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, options)
    const release = passSignals(child)
    child.once('error', (cause) => {
      if (child.pid !== undefined) return
      release()
      reject(notStarted(command, cause))
    })
    child.once('exit', (code, signal) => {
      release()
      if (signal === null) resolve({ code: code ?? 0 })
      else resolve({ code: SIGNAL_BASE + constants.signals[signal], signal })
    })
  })
}

/**
 * See whether there is such a program, before anything is begun for it.
 * @throws USAGE where there is none
 */
export function checkProgram({ command, env }: Pick<ChildCommand, 'command' | 'env'>): void {
  const isPath = /[/\\]/.test(command)
  const places = isPath
    ? [command]
    : (env.PATH ?? '').split(delimiter).map((dir) => join(dir, command))
  const found = places.some((place) => {
    try {
      accessSync(place, access.X_OK)
      return statSync(place).isFile()
    } catch {
      return false // Another place may have it.
    }
  })
  if (!found && process.platform !== 'win32') throw notStarted(command, undefined)
}

function passSignals(child: ChildProcess): () => void {
  const terminal = process.stdin.isTTY === true || process.stderr.isTTY === true
  const handlers = PASSED.map((signal) => {
    const pass = (): void => {
      if (!(terminal && FROM_TERMINAL.has(signal))) child.kill(signal)
    }
    process.on(signal, pass)
    return () => process.off(signal, pass)
  })
  return () => {
    for (const off of handlers) off()
  }
}

function notStarted(command: string, cause: Error | undefined): DaglogError {
  const system = systemCode(cause) ?? 'ENOENT'
  const why = system === 'ENOENT' ? 'there is no such program' : `it cannot be started (${system})`
  return new DaglogError(
    'USAGE',
    `${command}: ${why}; try: the command as a shell would run it, after --`,
    { command, system },
    { cause },
  )
}
