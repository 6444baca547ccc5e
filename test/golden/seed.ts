/**
 * Chance, time and processes made repeatable, so that the real code writes the same bytes each
 * time.
 * Replaces Node's random source for the whole process: for the builder's own process, never for
 * tests.
 */
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import type { ProcessTable } from '../../src/backend/process-identity.js'

/**
 * From here on every random byte of this process follows from `seed` and from how many draws of the
 * same size there were before: more or fewer lock tokens change no salt.
 */
export function seedChance(seed: string): void {
  const draws = new Map<number, number>()
  const fill = <T extends Uint8Array>(bytes: T): T => {
    const draw = draws.get(bytes.length) ?? 0
    draws.set(bytes.length, draw + 1)
    for (let at = 0; at < bytes.length; at += 32) {
      const text = `${seed}/${bytes.length}/${draw}/${at}`
      const block = crypto.createHash('sha256').update(text).digest()
      bytes.set(block.subarray(0, Math.min(32, bytes.length - at)), at)
    }
    return bytes
  }
  Object.assign(crypto, {
    randomBytes: (count: number) => fill(Buffer.alloc(count)),
    randomFillSync: fill,
  })
  syncBuiltinESMExports()
}

/** A clock that goes on by a quarter of a second each time it is read. */
export function clock(): () => number {
  let now = 1_790_000_000_000
  return () => {
    now += 250
    return now
  }
}

/** A process that nobody else can ask about; it takes all others for `others`. */
export function processTable(pid: number, others: 'alive' | 'dead'): ProcessTable {
  const self = { pid, start: '1', boot: 'golden', namespace: '', host: 'golden' }
  return { self: () => self, liveness: (other) => (other.pid === pid ? 'alive' : others) }
}
