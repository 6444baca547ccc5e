/**
 * Stores for tests of garbage collection: one simulated disk, processes that come and go, and what
 * is really in the packs.
 */
import type { Disk } from '../../src/backend/disk.js'
import { directory } from '../../src/backend/fs.js'
import { FsLayout } from '../../src/backend/fs-layout.js'
import { FsPacks } from '../../src/backend/fs-packs.js'
import { nodeDisk } from '../../src/backend/node-disk.js'
import type { Hash } from '../../src/core/hash.js'
import { walkValues } from '../../src/store/run-values.js'
import { Store, type StoreOptions } from '../../src/store/store.js'
import { valueObjects } from '../../src/store/values.js'
import { SimulatedDisk } from '../../src/testing/simulated-disk.js'
import { type FakeProcess, FakeProcesses } from '../backend/fake-processes.js'

export const ROOT = '/store'

/**
 * Text of about `kilobytes`, the same for the same name; pieces of it are shared by no other name.
 */
export function page(name: string, kilobytes = 8): string {
  const lines: string[] = []
  for (let at = 0; at < kilobytes * 10; at += 1)
    lines.push(`${name} line ${at} ${'.'.repeat(80)} ${name}${at * at}`)
  return lines.join('\n')
}

export class GcWorld {
  readonly disk: SimulatedDisk
  readonly processes = new FakeProcesses()
  readonly notices: string[] = []

  constructor(disk = new SimulatedDisk({ syncGate: () => Promise.resolve() })) {
    this.disk = disk
  }

  /** A process with the store open. */
  async open(options: StoreOptions & { readonly table?: FakeProcess } = {}): Promise<Store> {
    const { table = this.processes.start(), ...rest } = options
    const backend = directory(ROOT, { disk: this.disk, processes: table, codec: 'stored' })
    const onNotice = ({ message, cause }: { message: string; cause?: unknown }): void => {
      this.notices.push(`${message} ${cause ?? ''}`)
    }
    return Store.open(backend, { create: true, onNotice, ...rest })
  }

  /** Objects in packs, by pack. */
  packed(): Map<Hash, { readonly hash: Hash; readonly bytes: number }[]> {
    return packedIn(ROOT, this.disk)
  }
}

/** Objects in packs, by pack. @throws PACK_INVALID */
export function packedIn(
  root: string,
  disk: Disk = nodeDisk(),
): Map<Hash, { readonly hash: Hash; readonly bytes: number }[]> {
  const packs = new FsPacks(disk, new FsLayout(root), () => {}, 'stored')
  const found = new Map<Hash, { readonly hash: Hash; readonly bytes: number }[]>()
  for (const name of packs.names()) {
    const objects = [...packs.read(name)].map(({ hash, bytes }) => ({ hash, bytes: bytes.length }))
    found.set(name, objects)
  }
  return found
}

/** Everything that runs refer to. */
export async function liveIn(store: Store): Promise<Set<Hash>> {
  const live = new Set<Hash>()
  for (const { id, place } of await store.context.backend.listRuns()) {
    const run = id ?? place
    const noted = (await store.context.heads.refresh()).head(run)
    await walkValues(store.context.backend, { id: run, noted }, async (ref) => {
      const all = valueObjects(store.context.backend, ref, run, new Set())
      for await (const { hash } of all) live.add(hash)
    })
  }
  return live
}
