/**
 * Which process holds a lock, and whether it still lives.
 * A pid alone says nothing: pids are reused, reboots reset them, containers number their own. So a
 * process is known by pid, start time, boot, pid namespace and host, and only a process that could
 * be asked about is ever called dead.
 */
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { systemCode } from '../core/errors.js'

export interface ProcessIdentity {
  readonly pid: number
  /** Start time in the kernel's ticks since boot; '' where the platform does not say. */
  readonly start: string
  /** Changes with each boot; '' where the platform does not say. */
  readonly boot: string
  /** The pid namespace; '' where there are none. */
  readonly namespace: string
  readonly host: string
}

/** `unknown`: it lives where we cannot look (another machine, another container). */
export type Liveness = 'alive' | 'dead' | 'unknown'

export interface ProcessTable {
  /** The process that asks. */
  self(): ProcessIdentity
  liveness(other: ProcessIdentity): Liveness
}

/** The table of this machine. */
export function systemProcesses(): ProcessTable {
  let self: ProcessIdentity | undefined
  return {
    self() {
      self ??= {
        pid: process.pid,
        start: startOf('self'),
        boot: textOf('/proc/sys/kernel/random/boot_id'),
        namespace: namespaceOf(),
        host: `${hostname()}${machineId()}`,
      }
      return self
    },
    liveness(other) {
      return livenessOf(this.self(), other)
    },
  }
}

function livenessOf(self: ProcessIdentity, other: ProcessIdentity): Liveness {
  if (other.host !== self.host) return 'unknown'
  if (other.boot === '' && self.boot !== '') return 'unknown'
  // Same machine, other boot: nothing of that boot is left.
  if (other.boot !== self.boot) return 'dead'
  if (other.namespace !== self.namespace) return 'unknown'
  if (!pidExists(other.pid)) return 'dead'
  if (stateOf(other.pid) === 'Z') return 'dead' // Killed, and nobody has waited for it yet.
  const start = startOf(String(other.pid))
  return start !== '' && other.start !== '' && start !== other.start ? 'dead' : 'alive'
}

function pidExists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM: it is there, and not ours.
    return systemCode(error) !== 'ESRCH'
  }
}

function startOf(pid: string): string {
  return statFields(pid)[19] ?? ''
}

function stateOf(pid: number): string {
  return statFields(String(pid))[0] ?? ''
}

/** The fields of `/proc/<pid>/stat` from the third on; none where the platform does not say. */
function statFields(pid: string): string[] {
  const stat = textOf(`/proc/${pid}/stat`)
  // The command in field 2 may hold anything; the rest begins behind its closing parenthesis.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

function machineId(): string {
  const id = textOf('/etc/machine-id')
  return id === '' ? '' : `/${id.slice(0, 8)}`
}

function namespaceOf(): string {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return '' // No namespaces here.
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'latin1').trim()
  } catch {
    return '' // Not this platform.
  }
}
