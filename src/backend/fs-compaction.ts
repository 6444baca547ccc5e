/**
 * Packs written anew: small ones as one, mostly dead ones without the dead.
 * The new pack is there, for good, before an old one goes, so whoever reads finds each object at
 * every moment, and so does whoever comes after a crash. Which objects are dead is the caller's
 * business.
 * @see docs/format.md#packs
 */
import { setImmediate } from 'node:timers/promises'
import { DaglogError, systemCode } from '../core/errors.js'
import type { Hash } from '../core/hash.js'
import { PACK_SMALL_BYTES_MAX, PACKS_SMALL_MAX } from '../core/limits.js'
import type { StoredObject } from '../core/object.js'
import type { FsPacks } from './fs-packs.js'

/** A pack is written anew when at least this share of its bytes is dead. */
export const DEAD_SHARE_MIN = 0.2

/**
 * Packs are written anew in groups of about this many live bytes: all of a group is on the disk
 * twice.
 */
export const GROUP_BYTES = 128 * 1024 * 1024

/** Others get a turn of the event loop each time this many bytes were looked at. */
const TURN_BYTES = 2 * 1024 * 1024

/** What a sweep found and did. Bytes of objects are as they are read; freed bytes are of files. */
export interface Swept {
  readonly live: number
  readonly dead: number
  readonly deadBytes: number
  readonly freedBytes: number
}

interface Weight {
  readonly name: Hash
  live: number
  liveBytes: number
  dead: number
  deadBytes: number
}

export class FsCompaction {
  private merging = false

  constructor(
    private readonly packs: FsPacks,
    private readonly onNotice: (message: string, cause?: unknown) => void,
  ) {}

  /**
   * Make one of many small packs. A damaged one stays as it is. Two processes that merge at once
   * leave some objects twice, which costs room until the next merge. Trouble is told and fails
   * nothing.
   */
  async mergeSmall(): Promise<void> {
    if (this.merging) return
    this.merging = true
    try {
      const names = [...this.packs.names()].sort()
      const small = names.filter((name) => this.packs.bytesOf(name) < PACK_SMALL_BYTES_MAX)
      if (small.length >= PACKS_SMALL_MAX) await this.replace(small, () => true)
    } catch (error) {
      this.onNotice('small packs could not be merged; they stay as they are', error)
    } finally {
      this.merging = false
    }
  }

  /**
   * Drop what nobody needs: packs without a live object go, those that are mostly dead are written
   * anew.
   * @throws PACK_INVALID, READ_FAILED where a pack cannot be read whole; then nothing was dropped.
   */
  async sweep(
    isLive: (hash: Hash) => boolean,
    { dryRun }: { readonly dryRun: boolean },
  ): Promise<Swept> {
    const found: Weight[] = []
    for (const name of this.packs.names()) {
      try {
        found.push(await this.weigh(name, isLive))
      } catch (cause) {
        throw cause instanceof DaglogError ? cause : unreadable(name, cause)
      }
    }
    const before = this.packs.bytes()
    if (!dryRun) await this.drop(found.filter(isWorthIt), isLive)
    return {
      live: sum(found, ({ live }) => live),
      dead: sum(found, ({ dead }) => dead),
      deadBytes: sum(found, ({ deadBytes }) => deadBytes),
      freedBytes: dryRun ? 0 : before - this.packs.bytes(),
    }
  }

  private async weigh(name: Hash, isLive: (hash: Hash) => boolean): Promise<Weight> {
    const weight: Weight = { name, live: 0, liveBytes: 0, dead: 0, deadBytes: 0 }
    let turnBytes = 0
    for (const { hash, bytes } of this.packs.read(name)) {
      if (isLive(hash)) {
        weight.live += 1
        weight.liveBytes += bytes.length
      } else {
        weight.dead += 1
        weight.deadBytes += bytes.length
      }
      turnBytes += bytes.length
      if (turnBytes < TURN_BYTES) continue
      turnBytes = 0
      await setImmediate()
    }
    return weight
  }

  private async drop(worth: readonly Weight[], isLive: (hash: Hash) => boolean): Promise<void> {
    for (const { name, live } of worth) if (live === 0) this.packs.remove(name)
    let group: Hash[] = []
    let groupBytes = 0
    for (const { name, live, liveBytes } of worth) {
      if (live === 0) continue
      group.push(name)
      groupBytes += liveBytes
      if (groupBytes < GROUP_BYTES) continue
      await this.replace(group, isLive)
      group = []
      groupBytes = 0
    }
    if (group.length > 0) await this.replace(group, isLive)
    this.packs.removeStrayIndexes()
    this.packs.syncNames()
  }

  /**
   * One new pack with the live objects of some old ones; those that could be read whole then go.
   */
  private async replace(names: readonly Hash[], isLive: (hash: Hash) => boolean): Promise<void> {
    const read: Hash[] = []
    const added = await this.packs.add(this.liveObjects(names, { isLive, read }))
    for (const name of read) if (name !== added) this.packs.remove(name)
    this.packs.syncNames()
  }

  private *liveObjects(
    names: readonly Hash[],
    { isLive, read }: { readonly isLive: (hash: Hash) => boolean; readonly read: Hash[] },
  ): Generator<StoredObject> {
    for (const name of names) {
      try {
        for (const object of this.packs.read(name)) if (isLive(object.hash)) yield object
        read.push(name)
      } catch (error) {
        // Somebody else has merged it, and what it held is in a pack of theirs.
        if (systemCode(error) === 'ENOENT') continue
        this.onNotice(`pack ${name} cannot be read whole; it stays as it is`, error)
      }
    }
  }
}

function unreadable(pack: Hash, cause: unknown): DaglogError {
  const system = systemCode(cause)
  return new DaglogError(
    'READ_FAILED',
    `pack ${pack} cannot be read (${system}), and nothing was dropped; try: check the disk and its permissions`,
    { pack, system },
    { cause },
  )
}

function isWorthIt({ deadBytes, dead, liveBytes, live }: Weight): boolean {
  return (
    (dead > 0 && live === 0) || (dead > 0 && deadBytes >= (deadBytes + liveBytes) * DEAD_SHARE_MIN)
  )
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0)
}
