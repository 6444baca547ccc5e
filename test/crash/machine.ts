/**
 * A computer for crash tests: one simulated disk, and processes that open the store on it.
 * Knows who lives; a power loss is a new machine on what the disk kept.
 */
import { directory } from '../../src/backend/fs.js'
import type { ProcessTable } from '../../src/backend/process-identity.js'
import { type Notice, type OpenStoreOptions, openStore, type Store } from '../../src/index.js'
import type { SimulatedDisk } from '../../src/testing/simulated-disk.js'

export const STORE_ROOT = '/store'

export interface MachineProcess {
  readonly store: Store
  /** What the store told without making anything fail. */
  readonly notices: readonly Notice[]
  /** Dead to all others from now on. Whoever calls it uses the store no more. */
  kill(): void
}

const HOST = 'machine'
let bootCount = 0

function newBoot(): string {
  bootCount += 1
  return `boot-${bootCount}`
}

export class Machine {
  private readonly living = new Set<number>()
  private pidLast = 0

  /** @param boot Of a process of another boot it is known that it is dead. */
  constructor(
    readonly disk: SimulatedDisk,
    private readonly root = STORE_ROOT,
    private readonly boot = newBoot(),
  ) {}

  /** The same boot on another disk, with all processes killed. */
  afterKill(disk: SimulatedDisk): Machine {
    const machine = new Machine(disk, this.root, this.boot)
    machine.pidLast = this.pidLast
    return machine
  }

  /** A new process with the store open in it, which is made where there is none. */
  async start(options: OpenStoreOptions = {}): Promise<MachineProcess> {
    this.pidLast += 1
    const pid = this.pidLast
    this.living.add(pid)
    const notices: Notice[] = []
    const backend = directory(this.root, {
      disk: this.disk,
      processes: this.processes(pid),
      // How packs are compressed has no part in what a crash leaves, and most in how long it takes.
      codec: 'stored',
      onNotice: (message, cause) => notices.push({ about: 'objects', message, cause }),
    })
    const store = await openStore(backend, {
      onNotice: (notice) => notices.push(notice),
      program: 'crash-test',
      ...options,
    })
    return { store, notices, kill: () => this.living.delete(pid) }
  }

  private processes(pid: number): ProcessTable {
    const { boot, living } = this
    return {
      self: () => ({ pid, start: '', boot, namespace: '', host: HOST }),
      liveness: (other) => {
        if (other.host !== HOST) return 'unknown'
        return other.boot === boot && living.has(other.pid) ? 'alive' : 'dead'
      },
    }
  }
}
