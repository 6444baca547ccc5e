/**
 * Objects in, one pack and its index out.
 * Knows order, blocks and names; where the bytes go is the caller's.
 * @see docs/format.md#packs
 */
import { createHash } from 'node:crypto'
import { DaglogError } from '../core/errors.js'
import { type Hash, sha256 } from '../core/hash.js'
import { PACK_BLOCK_BYTES } from '../core/limits.js'
import type { StoredObject } from '../core/object.js'
import {
  assertObjectFits,
  type Codec,
  encodeFooter,
  PACK_BLOCK_OBJECTS_MAX,
  PACK_MAGIC,
} from './pack.js'
import { encodeBlock } from './pack-block.js'
import { HashList } from './pack-hashes.js'
import { type BlockSize, encodeIndex } from './pack-index.js'

/** Blocks that are compressed at the same time, each on a thread of Node's pool. */
const COMPRESSING_MAX = 2

/** A pack that was written. */
export interface PackWritten {
  /** SHA-256 of the pack's bytes: its file name. */
  readonly name: Hash
  /** The bytes of its index. */
  readonly index: Buffer
  /** Objects in it, each counted once. */
  readonly objects: number
  /** Lengths of the objects, summed. */
  readonly bytesRaw: number
  /** Length of the pack without its index. */
  readonly bytesStored: number
}

/**
 * Write a pack. The same objects in the same order with the same codec give the same bytes.
 * Memory is bounded by a few blocks and about 50 bytes per object, however long the pack gets.
 * @param objects In the order they should lie: neighbours compress together, and an object that is
 *   referred to should come before the one that refers to it. A repeated hash is written once,
 *   with the kind it had first.
 *   Bytes must not change until the promise is settled.
 * @param sink Takes the pack's bytes in order, and may keep them. Write to a temporary file, sync,
 *   and rename to the name that is returned.
 * @throws OBJECT_CORRUPT for an object whose bytes are not what its name says, LIMIT_EXCEEDED for
 * one that is too large, and whatever `objects` or `sink` throw. What the sink took is then no
 * pack.
 */
export async function writePack(
  objects: Iterable<StoredObject> | AsyncIterable<StoredObject>,
  sink: (bytes: Uint8Array) => void | Promise<void>,
  {
    codec = 'brotli',
    blockBytes = PACK_BLOCK_BYTES,
  }: { readonly codec?: Codec; readonly blockBytes?: number } = {},
): Promise<PackWritten> {
  const out = new PackOutput(sink)
  const hashes = new HashList()
  const block = new OpenBlock(blockBytes)
  const compressing: { bytes: Promise<Buffer>; objects: number }[] = []
  const takeOldest = async (): Promise<void> => {
    const oldest = compressing.shift()
    if (oldest !== undefined) await out.writeBlock(await oldest.bytes, oldest.objects)
  }
  const closeBlock = async (): Promise<void> => {
    if (compressing.length === COMPRESSING_MAX) await takeOldest()
    const taken = block.take()
    const bytes = encodeBlock(taken, codec)
    // A failure is thrown where the block is awaited; until then it is not an unhandled one.
    bytes.catch(() => {})
    compressing.push({ bytes, objects: taken.length })
  }
  let bytesRaw = 0
  await out.write(PACK_MAGIC)
  for await (const object of objects) {
    checkObject(object)
    if (hashes.has(object.hash)) continue
    if (!block.fits(object)) await closeBlock()
    block.add(object)
    hashes.push(object.hash)
    bytesRaw += object.bytes.length
  }
  if (!block.isEmpty) await closeBlock()
  while (compressing.length > 0) await takeOldest()
  await out.write(encodeFooter({ blocks: out.blocks.length, objects: hashes.length, bytesRaw }))
  const name = out.name()
  const index = encodeIndex(name, out.blocks, hashes)
  return { name, index, objects: hashes.length, bytesRaw, bytesStored: out.bytes }
}

/** What has gone to the sink. */
class PackOutput {
  readonly blocks: BlockSize[] = []
  bytes = 0
  private readonly hashing = createHash('sha256')

  constructor(private readonly sink: (bytes: Uint8Array) => void | Promise<void>) {}

  async write(bytes: Uint8Array): Promise<void> {
    this.hashing.update(bytes)
    this.bytes += bytes.length
    await this.sink(bytes)
  }

  async writeBlock(bytes: Uint8Array, objects: number): Promise<void> {
    this.blocks.push({ bytes: bytes.length, objects })
    await this.write(bytes)
  }

  /** SHA-256 of all of it. Ends the hashing. */
  name(): Hash {
    return this.hashing.digest('hex') as Hash
  }
}

/** The block being filled. */
class OpenBlock {
  private objects: StoredObject[] = []
  private bytes = 0

  constructor(private readonly bytesMax: number) {}

  get isEmpty(): boolean {
    return this.objects.length === 0
  }

  /** Whether it may take one more; an empty one takes any. */
  fits(object: StoredObject): boolean {
    if (this.isEmpty) return true
    const fitsBytes = this.bytes + object.bytes.length <= this.bytesMax
    return fitsBytes && this.objects.length < PACK_BLOCK_OBJECTS_MAX
  }

  add(object: StoredObject): void {
    this.objects.push(object)
    this.bytes += object.bytes.length
  }

  take(): StoredObject[] {
    const { objects } = this
    this.objects = []
    this.bytes = 0
    return objects
  }
}

/** A pack must not carry bytes under a wrong name: nobody could find them again. */
function checkObject(object: StoredObject): void {
  assertObjectFits(object)
  const hash = sha256(object.bytes)
  if (hash === object.hash) return
  throw new DaglogError(
    'OBJECT_CORRUPT',
    `object ${object.hash} given to a pack: its bytes hash to ${hash}. Read it again from where it came.`,
    { hash: object.hash, hashActual: hash },
  )
}
