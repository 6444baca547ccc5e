/**
 * One file of a simulated disk: the bytes a program sees, and which changes a power loss may undo.
 * Knows neither names nor directories, and does not choose what survives.
 */

const EMPTY = new Uint8Array(0)
const SPARE_BYTES = 256

/** `bytes` put at an offset; without `bytes`, the length set to `at`. */
export interface FileChange {
  readonly at: number
  readonly bytes?: Uint8Array
}

/** A change since the durable content. A `lost` one was in a failed sync: no later one keeps it. */
export interface PendingChange extends FileChange {
  state: 'pending' | 'durable' | 'lost'
}

/** Content is never written to in place, so views of it are shared freely, between clones too. */
export class SimulatedFile {
  #bytes: Uint8Array
  #durable: Uint8Array
  #pending: PendingChange[] = []
  /** Where appends go. Only this file writes to it, and only past every byte that was ever seen. */
  #room: Uint8Array | undefined

  /** A file that holds `bytes`, durably. They must not be changed by the caller later. */
  constructor(bytes: Uint8Array = EMPTY) {
    this.#bytes = bytes
    this.#durable = bytes
  }

  /** The content as a program reads it. Not to be written to. */
  get bytes(): Uint8Array {
    return this.#bytes
  }

  /** What certainly survives, before `pending`. Not to be written to. */
  get durable(): Uint8Array {
    return this.#durable
  }

  /** Changes since `durable`, in order; a durable one among them waits for those before it. */
  get pending(): readonly PendingChange[] {
    return this.#pending
  }

  append(bytes: Uint8Array): void {
    if (bytes.length === 0) return
    const at = this.#bytes.length
    const end = at + bytes.length
    if (this.#room === undefined || end > this.#room.length) {
      this.#room = new Uint8Array(end + (end >> 1) + SPARE_BYTES)
      this.#room.set(this.#bytes)
    }
    this.#room.set(bytes, at)
    this.#bytes = this.#room.subarray(0, end)
    this.#pending.push({ at, bytes: this.#room.subarray(at, end), state: 'pending' })
  }

  truncate(length: number): void {
    if (length === this.#bytes.length) return
    const change: PendingChange = { at: length, state: 'pending' }
    this.#bytes = changed(this.#bytes, [change])
    this.#room = undefined // The bytes past the cut are still seen by others.
    this.#pending.push(change)
  }

  /** What a sync that starts now will make durable when it completes. */
  unsynced(): readonly PendingChange[] {
    return this.#pending.filter((change) => change.state === 'pending')
  }

  /** A sync of `changes` completed. */
  settle(changes: readonly PendingChange[]): void {
    for (const change of changes) if (change.state === 'pending') change.state = 'durable'
    this.#pending.splice(0, this.#undone())
    const open = this.#pending.findIndex((change) => change.state !== 'durable')
    const settled = this.#pending.splice(0, open < 0 ? this.#pending.length : open)
    // Equal bytes either way, but the shorter way copies nothing.
    this.#durable = open < 0 ? this.#bytes : changed(this.#durable, settled)
  }

  /** A sync of `changes` failed: the kernel takes them for written, so no later one writes them. */
  forsake(changes: readonly PendingChange[]): void {
    for (const change of changes) if (change.state === 'pending') change.state = 'lost'
  }

  /** How many leading changes a durable cut has undone, whether or not they had survived. */
  #undone(): number {
    const cutAt = this.#pending.findLastIndex(
      ({ at, bytes, state }, index) =>
        bytes === undefined &&
        state === 'durable' &&
        this.#pending.slice(0, index).every((earlier) => earlier.at >= at),
    )
    return Math.max(0, cutAt)
  }

  /** Put other content in place, durably: an edit by someone else, or a disk that rots. */
  replace(bytes: Uint8Array): void {
    this.#bytes = bytes
    this.#durable = bytes
    this.#pending = []
    this.#room = undefined
  }

  clone(): SimulatedFile {
    const copy = new SimulatedFile(this.#bytes)
    copy.#durable = this.#durable
    copy.#pending = this.#pending.map((change) => ({ ...change }))
    return copy
  }
}

/**
 * `base` after `changes`, in order; gaps are zero.
 * The result shares memory with its inputs where that is possible, so nobody may write to it.
 */
export function changed(base: Uint8Array, changes: readonly FileChange[]): Uint8Array {
  let bytes = base
  for (const [index, change] of changes.entries()) {
    const view = asView(bytes, change)
    if (view === undefined) return copied(bytes, changes.slice(index))
    bytes = view
  }
  return bytes
}

/** What a change makes of `base` if that needs no copy: a cut, or bytes that follow in memory. */
function asView(base: Uint8Array, { at, bytes }: FileChange): Uint8Array | undefined {
  if (bytes === undefined) return at <= base.length ? base.subarray(0, at) : undefined
  if (at !== base.length) return undefined
  if (at === 0) return bytes
  const follows = bytes.buffer === base.buffer && bytes.byteOffset === base.byteOffset + base.length
  if (!follows) return undefined
  return new Uint8Array(base.buffer, base.byteOffset, base.length + bytes.length)
}

function copied(base: Uint8Array, changes: readonly FileChange[]): Uint8Array {
  const ends = changes.map(({ at, bytes }) => at + (bytes?.length ?? 0))
  const result = new Uint8Array(ends.reduce((a, b) => Math.max(a, b), base.length))
  result.set(base)
  let length = base.length
  for (const { at, bytes } of changes) {
    if (bytes === undefined) {
      // Keeps all past `length` zero, which is what a gap must read as.
      if (at < length) result.fill(0, at, length)
      length = at
    } else {
      result.set(bytes, at)
      length = Math.max(length, at + bytes.length)
    }
  }
  return result.subarray(0, length)
}
