/**
 * The names of a pack's objects while it is written or its index rebuilt.
 * Knows names only. A list of JavaScript strings would take three times the memory.
 */
import type { Hash } from '../core/hash.js'

const HASH_BYTES = 32

/** Names by number, in 32 bytes each, and a hash table beside them. */
export class HashList {
  private bytes = Buffer.allocUnsafe(1024 * HASH_BYTES)
  /** Number + 1 of the name that hashes here, 0 for none. At most half full. */
  private slots = new Uint32Array(4096)
  length = 0

  /** Append a name; its number is the length before. */
  push(hash: Hash): void {
    const atByte = this.length * HASH_BYTES
    if (atByte === this.bytes.length) this.bytes = Buffer.concat([this.bytes, this.bytes])
    this.bytes.write(hash, atByte, 'hex')
    this.length += 1
    if (this.length * 2 > this.slots.length) this.growSlots()
    else this.slots[this.slotOf(this.bytes.subarray(atByte, atByte + HASH_BYTES))] = this.length
  }

  has(hash: Hash): boolean {
    return this.slots[this.slotOf(Buffer.from(hash, 'hex'))] !== 0
  }

  /** The slot that holds this name, or the free one where it belongs. */
  private slotOf(hash: Buffer): number {
    const mask = this.slots.length - 1
    let slot = hash.readUInt32LE(0) & mask
    for (;;) {
      const holder = this.slots[slot]!
      if (holder === 0 || this.compare(holder - 1, hash, 0) === 0) return slot
      slot = (slot + 1) & mask
    }
  }

  private growSlots(): void {
    this.slots = new Uint32Array(this.slots.length * 2)
    for (let number = 0; number < this.length; number++) {
      this.slots[this.slotOf(this.at(number))] = number + 1
    }
  }

  /** The 32 bytes of a name, as a view. */
  at(number: number): Buffer {
    return this.bytes.subarray(number * HASH_BYTES, (number + 1) * HASH_BYTES)
  }

  private compare(number: number, other: Buffer, otherAt: number): number {
    const atByte = number * HASH_BYTES
    return this.bytes.compare(other, otherAt, otherAt + HASH_BYTES, atByte, atByte + HASH_BYTES)
  }

  /** All numbers, in the order of their names. */
  sorted(): Uint32Array {
    const { bytes } = this
    const numbers = new Uint32Array(this.length)
    const heads = new Uint32Array(this.length)
    for (let number = 0; number < this.length; number++) {
      numbers[number] = number
      heads[number] = bytes.readUInt32BE(number * HASH_BYTES)
    }
    return numbers.sort(
      (left, right) =>
        heads[left]! - heads[right]! ||
        this.compare(left, bytes, right * HASH_BYTES) ||
        left - right,
    )
  }
}
