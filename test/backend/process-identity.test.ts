import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { type ProcessIdentity, systemProcesses } from '../../src/backend/process-identity.js'

const isLinux = process.platform === 'linux'
const children: ChildProcess[] = []

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

/** A child that runs, and the first that it said. */
async function startChild(
  command: string,
  script: string,
): Promise<{ child: ChildProcess; said: string }> {
  const child = spawn(command, ['-c', script], { stdio: ['pipe', 'pipe', 'inherit'] })
  children.push(child)
  const [said] = await once(child.stdout as NonNullable<ChildProcess['stdout']>, 'data')
  return { child, said: String(said).trim() }
}

const WAIT = 'echo ready; read x'

/** The identity that a process on this machine would write into its lock. */
function identityOf(pid: number): ProcessIdentity {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return { ...systemProcesses().self(), pid, start: fields[19] as string }
}

describe('the process table of this machine', () => {
  const table = systemProcesses()

  it('knows the process that asks, the same each time, and calls it alive', () => {
    const self = table.self()
    expect(self.pid).toBe(process.pid)
    expect(table.self()).toEqual(self)
    expect(systemProcesses().self()).toEqual(self)
    expect(table.liveness(self)).toBe('alive')
  })

  it.runIf(isLinux)('knows its start, boot, pid namespace and host', () => {
    const self = table.self()
    expect(self.start).toMatch(/^\d+$/)
    expect(self.boot).toMatch(/^[0-9a-f-]{36}$/)
    expect(self.namespace).toMatch(/^pid:\[\d+\]$/)
    expect(self.host.length).toBeGreaterThan(0)
    expect(self).toEqual(identityOf(process.pid))
  })

  it('calls a process of another host unknown, whatever else it says', () => {
    const other = { ...table.self(), host: 'elsewhere' }
    expect(table.liveness(other)).toBe('unknown')
    expect(table.liveness({ ...other, boot: 'other', pid: 999_999_999 })).toBe('unknown')
  })

  it('calls a process of another pid namespace unknown', () => {
    expect(table.liveness({ ...table.self(), namespace: 'pid:[1]' })).toBe('unknown')
    expect(table.liveness({ ...table.self(), namespace: 'pid:[1]', pid: 999_999_999 })).toBe(
      'unknown',
    )
  })

  it('calls a process of an earlier boot of this host dead, in whatever namespace it was', () => {
    const before = { ...table.self(), boot: '00000000-0000-0000-0000-000000000000' }
    expect(table.liveness(before)).toBe('dead')
    expect(table.liveness({ ...before, namespace: 'pid:[1]' })).toBe('dead')
  })

  it('calls a pid that nobody has dead', () => {
    expect(table.liveness({ ...table.self(), pid: 999_999_999 })).toBe('dead')
  })

  it.runIf(isLinux)('calls a pid that another process has by now dead, by its start time', () => {
    expect(table.liveness({ ...table.self(), start: '1' })).toBe('dead')
  })

  it('does not hold a start time against a process that could not say one', () => {
    expect(table.liveness({ ...table.self(), start: '' })).toBe('alive')
  })

  it.runIf(isLinux)('calls a child alive until it was killed and reaped', async () => {
    const { child } = await startChild('sh', WAIT)
    const identity = identityOf(child.pid as number)
    expect(table.liveness(identity)).toBe('alive')
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
    expect(table.liveness(identity)).toBe('dead')
  })

  it.runIf(isLinux)('calls a process alive whose name is made to confuse', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'daglog-process-'))
    try {
      const command = join(dir, ') S 1 (x')
      copyFileSync('/bin/sh', command)
      chmodSync(command, 0o700)
      const { child } = await startChild(command, WAIT)
      expect(table.liveness(identityOf(child.pid as number))).toBe('alive')
    } finally {
      rmSync(dir, { recursive: true, force: true })
    }
  })

  it.runIf(isLinux)('calls a process alive that it may not signal', () => {
    // As root we may signal all; then pid 1 shows only that a foreign process is found.
    expect(table.liveness(identityOf(1))).toBe('alive')
  })

  // Where /proc is hidden from one process (a sandbox) its lock says boot ''.
  it.runIf(isLinux)('does not call a process dead because it could not say its boot', () => {
    expect(table.liveness({ ...table.self(), boot: '' })).not.toBe('dead')
  })

  // A killed process whose parent never waits (pid 1 of many containers) answers signal 0 for ever.
  it.runIf(isLinux)('calls a zombie dead', async () => {
    const { said } = await startChild('sh', 'sleep 0 & echo $!; exec sleep 60')
    const zombie = Number(said)
    while (!/\) Z /.test(readFileSync(`/proc/${zombie}/stat`, 'latin1'))) {
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    expect(table.liveness(identityOf(zombie))).toBe('dead')
  })
})
