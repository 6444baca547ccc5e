/**
 * A value that arrives in parts and may be large: its objects go to the store as they come, in
 * memory that does not grow with it. Its run stays held until it is over.
 * Knows neither what the bytes mean nor which event will refer to them.
 */
import type { LargeValue, PreparedValue } from '../core/body.js'

import { DIRECT_PACK_BYTES_MIN } from '../core/limits.js'
import type { StoredObject } from '../core/object.js'
import { RopeWriter } from '../value/rope.js'
import type { Run } from './run.js'

/**
 * New objects go to the store once they are this many bytes: several times as many are in memory
 * then.
 */
const FLUSH_BYTES = 2 * DIRECT_PACK_BYTES_MIN

export class ValueStream {
  private held: Uint8Array[] = []
  private writer: RopeWriter | undefined
  private objects: StoredObject[] = []
  private objectBytes = 0
  private writing: Promise<void> | undefined
  private failure: { readonly error: unknown } | undefined
  /** Bytes that were pushed. */
  size = 0

  constructor(
    private readonly run: Run,
    /** Up to this many bytes it is kept in memory, and written with its event. */
    private readonly heldBytesMax: number,
  ) {}

  /**
   * Takes the next bytes, which must stay as they are until the end. Where a promise is given, wait
   * for it before the next ones.
   * @throws WRITE_FAILED and what else writing throws
   */
  push(bytes: Uint8Array): void | Promise<void> {
    if (this.failure !== undefined) throw this.failure.error
    this.size += bytes.length
    if (this.writer === undefined) {
      this.held.push(bytes)
      if (this.size > this.heldBytesMax) this.spill()
    } else this.writer.push(bytes)
    if (this.objectBytes < FLUSH_BYTES) return this.writing
    return this.flush()
  }

  /** The whole, for an event to refer to at `pointer`. */
  async end(pointer: string): Promise<LargeValue | PreparedValue> {
    if (this.writer === undefined) {
      return { pointer, kind: 'bytes', bytes: joined(this.held) }
    }
    const { sha256, root, size } = this.writer.end()
    await this.writing
    if (this.failure !== undefined) throw this.failure.error
    const ref = { pointer, sha256, root, size, kind: 'bytes' as const }
    return { pointer, ref, objects: this.objects }
  }

  private spill(): void {
    this.writer = new RopeWriter((object) => {
      const bytes = Buffer.from(object.bytes)
      this.objects.push({ ...object, bytes })
      this.objectBytes += bytes.length
    })
    for (const bytes of this.held.splice(0)) this.writer.push(bytes)
  }

  private flush(): Promise<void> {
    const objects = this.objects.splice(0)
    this.objectBytes = 0
    const before = this.writing ?? Promise.resolve()
    this.writing = before
      .then(() => this.run.putObjects(objects))
      .catch((error: unknown) => {
        this.failure ??= { error }
      })
    return this.writing
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const [first] = parts
  return parts.length === 1 && first !== undefined ? first : Buffer.concat(parts)
}
