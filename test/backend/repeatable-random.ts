/**
 * Random bytes that are the same each time a process is run again; put in place of node:crypto's.
 * Imports nothing, so that a mock of node:crypto may.
 */
let state = 0

/** Whoever draws next draws as at its start. */
export function restartRandom(process: string): void {
  state = 1
  for (const char of process) state = Math.imul(state ^ (char.codePointAt(0) ?? 0), 0x9e3779b1)
}

export function repeatableRandom(bytes: number): Buffer {
  const drawn = Buffer.alloc(bytes)
  for (let at = 0; at < bytes; at += 1) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) | 0
    drawn[at] = state >>> 16
  }
  return drawn
}
