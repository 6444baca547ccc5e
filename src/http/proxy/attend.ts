/**
 * A program under a sidecar from its start to its end: the files and the environment that it finds
 * the sidecar by, the seal around it in a replay, and what was seen when it is over.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ChildSurroundings, childEnvironment } from './child-environment.js'
import { type ChildCommand, type ChildExit, runChild } from './run-child.js'
import { probeSeal, type Seal, sealed } from './seal.js'
import { type Admission, type Admitted, Sidecar, type SidecarOptions } from './sidecar.js'
import { type Coverage, joined } from './sightings.js'
import { trustedHere, writeBundle } from './trust.js'

/** A sidecar with the files that clients need. */
export interface Standing {
  readonly sidecar: Sidecar
  readonly admitted: Admitted
  /** What to set for a client over what is set already. */
  environment(env: ChildCommand['env']): Record<string, string | undefined>
  /** A path in a directory that only we can read, and that goes with the sidecar. */
  file(name: string): string
  coverage(): Coverage
  /** Close all connections, wait for what was begun, take the files away. */
  close(): Promise<void>
}

export interface StandingOptions extends SidecarOptions, Admission {
  readonly env: ChildCommand['env']
}

/** Start a sidecar for one run. @throws USAGE, READ_FAILED */
export async function stand(options: StandingOptions): Promise<Standing> {
  const { env, hosts = [], sightings } = options
  const trusted = trustedHere(env)
  const sidecar = await Sidecar.start(options)
  const dir = mkdtempSync(join(tmpdir(), 'daglog-'))
  const admitted = sidecar.admit(options)
  const surroundings: ChildSurroundings = {
    admitted,
    hosts,
    certificateFile: join(dir, 'ca.pem'),
    bundleFile: join(dir, 'bundle.pem'),
    preload: new URL('./preload.js', import.meta.url),
  }
  writeBundle(surroundings.certificateFile, [...ownExtra(env, trusted), sidecar.certificate])
  writeBundle(surroundings.bundleFile, [...trusted, sidecar.certificate])
  return {
    sidecar,
    admitted,
    environment: (inherited) => childEnvironment(inherited, surroundings),
    file: (name) => join(dir, name),
    coverage: () => joined(sightings.coverage(), sidecar.strangers.coverage()),
    close: async () => {
      await sidecar.close()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

/**
 * Node has roots of its own, and adds a file's to them: the child keeps what it was told to add
 * before.
 */
function ownExtra(env: ChildCommand['env'], trusted: readonly string[]): readonly string[] {
  return (env.NODE_EXTRA_CA_CERTS ?? '') === '' ? [] : trusted
}

export interface AttendOptions extends StandingOptions {
  readonly child: ChildCommand
  /** Let the child reach nothing but the sidecar, where the system can do that. */
  readonly seal: boolean
}

export interface Attended {
  readonly exit: ChildExit
  readonly coverage: Coverage
  /** Only where a seal was asked for. */
  readonly seal: Seal | undefined
}

/** Run a program under a sidecar. Resolves when it has ended and all that it began is settled. */
export async function attend(options: AttendOptions): Promise<Attended> {
  const standing = await stand(options)
  try {
    const { child } = options
    const env = { ...child.env, ...standing.environment(child.env) }
    const seal = options.seal ? probeSeal() : undefined
    const command = { ...child, env }
    let exit: ChildExit
    if (seal !== undefined && seal.why === undefined) {
      const socketPath = standing.file('sidecar.sock')
      await standing.sidecar.bridge(socketPath)
      exit = await runChild(sealed(seal, command, { port: standing.sidecar.port, socketPath }))
    } else exit = await runChild(command)
    await standing.close()
    return { exit, coverage: standing.coverage(), seal }
  } finally {
    await standing.close()
  }
}
