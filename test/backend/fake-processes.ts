/**
 * Processes for tests of locks: on one machine or many, in containers or not, alive or dead.
 */
import type { Liveness, ProcessIdentity, ProcessTable } from '../../src/backend/process-identity.js'

export interface FakeProcess extends ProcessTable {
  readonly identity: ProcessIdentity
  die(): void
}

/** A world of processes that can ask about each other as real ones can. */
export class FakeProcesses {
  readonly #alive = new Set<string>()
  #lastPid = 100

  start(place: Partial<Omit<ProcessIdentity, 'pid' | 'start'>> = {}): FakeProcess {
    this.#lastPid += 1
    const identity: ProcessIdentity = {
      pid: this.#lastPid,
      start: String(this.#lastPid * 7),
      boot: 'boot-1',
      namespace: 'pid:[1]',
      host: 'here',
      ...place,
    }
    this.#alive.add(keyOf(identity))
    return {
      identity,
      self: () => identity,
      liveness: (other) => this.#liveness(identity, other),
      die: () => this.#alive.delete(keyOf(identity)),
    }
  }

  #liveness(self: ProcessIdentity, other: ProcessIdentity): Liveness {
    if (other.host !== self.host) return 'unknown'
    if (other.boot !== self.boot) return 'dead'
    if (other.namespace !== self.namespace) return 'unknown'
    return this.#alive.has(keyOf(other)) ? 'alive' : 'dead'
  }
}

function keyOf({ pid, start, boot, namespace, host }: ProcessIdentity): string {
  return JSON.stringify([pid, start, boot, namespace, host])
}
