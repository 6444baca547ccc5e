/**
 * What bytes would take in a store: cut, shared and packed as an import does it, and counted only.
 */
import type { Hash } from '../core/hash.js'
import { DENSE_BLOCK_BYTES } from '../core/limits.js'
import type { StoredObject } from '../core/object.js'
import { encodeBlock } from '../value/pack-block.js'
import { writeRope } from '../value/rope.js'

/** In the index of a pack, an object takes about this many bytes. */
const INDEX_BYTES_PER_OBJECT = 16

export class Savings {
  private readonly seen = new Set<Hash>()
  private open: StoredObject[] = []
  private openBytes = 0
  private packing: Promise<number>[] = []
  /** Bytes that were seen before, anywhere. */
  duplicate = 0
  private stored = 0

  async take(bytes: Buffer): Promise<void> {
    let fresh = 0
    writeRope(bytes, (object) => {
      if (this.seen.has(object.hash)) return
      this.seen.add(object.hash)
      fresh += object.bytes.length
      this.open.push({ ...object, bytes: Buffer.from(object.bytes) })
      this.openBytes += object.bytes.length
    })
    this.duplicate += Math.max(0, bytes.length - fresh)
    while (this.openBytes >= DENSE_BLOCK_BYTES) await this.pack()
  }

  private async pack(): Promise<void> {
    const block: StoredObject[] = []
    let length = 0
    while (this.open.length > 0 && length < DENSE_BLOCK_BYTES && block.length < 4000) {
      const object = this.open.shift() as StoredObject
      block.push(object)
      length += object.bytes.length
    }
    this.openBytes -= length
    const objects = block.length
    this.packing.push(
      encodeBlock(block, 'brotli').then(
        (packed) => packed.length + objects * INDEX_BYTES_PER_OBJECT,
      ),
    )
    if (this.packing.length > 2) this.stored += await (this.packing.shift() as Promise<number>)
  }

  /** Bytes that all of it would take. */
  async finish(): Promise<number> {
    while (this.open.length > 0) await this.pack()
    for (const bytes of this.packing) this.stored += await bytes
    this.packing = []
    return this.stored
  }
}
