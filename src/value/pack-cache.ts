/**
 * Decoded blocks of many packs, the least recently used ones dropped first.
 * Knows no pack: a key is a string.
 */
import type { PackBlock } from './pack-block.js'

export class BlockCache {
  /** In order of use, the oldest first. */
  private readonly blocks = new Map<string, PackBlock>()
  private heldBytes = 0

  /** @param bytesMax What all blocks together may hold, in bytes; 0 keeps none. */
  constructor(readonly bytesMax: number) {}

  /** What the blocks hold now, in bytes. */
  get bytes(): number {
    return this.heldBytes
  }

  get(key: string): PackBlock | undefined {
    const block = this.blocks.get(key)
    if (block === undefined) return undefined
    this.blocks.delete(key)
    this.blocks.set(key, block)
    return block
  }

  /** Keep a block. One that is larger than the whole cache is not kept. */
  set(key: string, block: PackBlock): void {
    this.drop(key)
    if (block.weightBytes > this.bytesMax) return
    this.blocks.set(key, block)
    this.heldBytes += block.weightBytes
    for (const oldest of this.blocks.keys()) {
      if (this.heldBytes <= this.bytesMax) return
      this.drop(oldest)
    }
  }

  private drop(key: string): void {
    const block = this.blocks.get(key)
    if (block === undefined) return
    this.blocks.delete(key)
    this.heldBytes -= block.weightBytes
  }
}
