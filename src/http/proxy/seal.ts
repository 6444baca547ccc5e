/**
 * A child without any network but the sidecar: its own network namespace, where the system lets us
 * make one, with a bridge inside that leads from the sidecar's port to a Unix socket, which no
 * namespace of networks hides.
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { ChildCommand } from './run-child.js'

export interface Seal {
  /** Why there is none; undefined where there is. */
  readonly why: string | undefined
  /** The words before the command that is to be sealed. */
  readonly prefix: readonly string[]
}

/** What the bridge reads and takes away before it starts the command. */
export const BRIDGE_NODE_OPTIONS = 'DAGLOG_BRIDGE_NODE_OPTIONS'

const AS_ROOT = ['unshare', '--net', '--'] as const
/**
 * In a user namespace of its own where the child is still itself; the capability is to bring up the
 * loopback.
 */
const AS_USER = ['unshare', '--user', '--map-current-user', '--keep-caps', '--net', '--'] as const
const PROBE_MS_MAX = 10_000

/** Brings up the loopback of a fresh namespace, with whatever tool is there. */
export const LOOPBACK_UP =
  'PATH=$PATH:/usr/sbin:/sbin; ip link set lo up 2>/dev/null || ifconfig lo up'

/** See whether a namespace can be had, by having one. */
export function probeSeal(platform: string = process.platform): Seal {
  if (platform !== 'linux') return { why: `${platform} has no network namespaces`, prefix: [] }
  for (const prefix of [AS_ROOT, AS_USER]) {
    const [command, ...args] = prefix
    const { status } = spawnSync(command, [...args, 'sh', '-c', LOOPBACK_UP], {
      stdio: 'ignore',
      timeout: PROBE_MS_MAX,
    })
    if (status === 0) return { why: undefined, prefix }
  }
  return { why: 'unshare may make no network namespace here', prefix: [] }
}

/** The same command inside the seal, with the sidecar's port bridged from `socketPath`. */
export function sealed(
  { prefix }: Seal,
  child: ChildCommand,
  { port, socketPath }: { readonly port: number; readonly socketPath: string },
): ChildCommand {
  const bridge = fileURLToPath(new URL('./bridge.js', import.meta.url))
  const [command = '', ...before] = prefix
  const { NODE_OPTIONS, ...env } = child.env
  return {
    ...child,
    command,
    args: [
      ...before,
      process.execPath,
      bridge,
      socketPath,
      String(port),
      child.command,
      ...child.args,
    ],
    env: { ...env, [BRIDGE_NODE_OPTIONS]: NODE_OPTIONS },
  }
}
