/**
 * Builds a rope from the bottom up, in one pass from left to right: told where containers open and
 * close and where their members end, it decides what becomes an object and what stays in place.
 * Knows neither JSON nor where objects go; it never looks at what it was not told of.
 *
 * What is not yet in an object is *pending*: bytes, with references among them where objects were
 * cut out. A stretch of it has a *weight*: its literal bytes, and `ROPE_CHILD_BYTES` for each
 * reference, so about what it costs inside a node. Weight decides, not length: a wrapper around a
 * long string is light, stays where it is, and costs no object.
 * - A container heavier than `CONTAINER_INLINE_WEIGHT_MAX` becomes an object of exactly its bytes.
 * - The members of a heavy container are closed into groups, where a hash of the last one says so,
 *   and groups into groups of groups. The last ones stay loose: an append rewrites one node.
 * @see docs/format.md#ropes
 */

import { sha256 } from '../core/hash.js'
import type { StoredObject } from '../core/object.js'
import {
  encodeRopeNode,
  ROPE_CHILD_BYTES,
  type RopeChild,
  type RopeEntry,
  type RopeKind,
} from './rope-node.js'

/** Longest string or other run of bytes that stays in its container, in bytes. */
export const RUN_INLINE_BYTES_MAX = 512

/** Heaviest container that stays in its parent. */
export const CONTAINER_INLINE_WEIGHT_MAX = 1536

/** Deepest containers that are told apart; what is nested deeper counts as members of the last. */
export const STRUCTURE_DEPTH_MAX = 64

/** No group is closed below this weight. */
const GROUP_WEIGHT_MIN = 3072
/** Above it, one is closed after this much more, in the mean. */
const GROUP_WEIGHT_MEAN = 1024
/** A group this heavy is closed at the next member. */
const GROUP_WEIGHT_MAX = 8192
/** A group this heavy is closed at the next token: there are no members, or a forged input. */
const GROUP_WEIGHT_FORCED = 16 * 1024

/** A group of groups has so many at least, so many more in the mean, and so many at most. */
const FAN_OUT_MIN = 8
const FAN_OUT_MEAN = 16
const FAN_OUT_MAX = 64

/** A member ends a group where its hash is below its weight times this. */
const CLOSE_PER_WEIGHT = 2 ** 32 / GROUP_WEIGHT_MEAN
const CLOSE_PER_GROUP = 2 ** 32 / FAN_OUT_MEAN

/** A member is hashed with bytes before it up to this many. */
const HASHED_BYTES_MIN = 32

const FNV_PRIME = 0x01000193

/** Part of what was read that has become an object: it stands where `bytes[at..end)` stood. */
interface Reference extends RopeChild {
  at: number
  end: number
  /** 0 for a piece, 1 for a group of members, 2 for a group of groups, ... */
  readonly level: number
}

/** An open container. Positions are in the window; each is paired with a count of references. */
interface Frame {
  at: number
  references: number
  /** Where its loose members start, after its groups. */
  looseAt: number
  looseReferences: number
  /** Where the current member starts. */
  memberAt: number
  memberReferences: number
}

/** All that decides what comes of the bytes ahead. */
export interface BuilderState {
  readonly depth: number
  readonly frames: readonly Frame[]
  readonly references: readonly Reference[]
  readonly saved: readonly number[]
}

export class RopeBuilder {
  /** Open containers; 0 is the document itself. */
  depth = 0
  private readonly frames: Frame[] = [newFrame()]
  /** What has become an object and has no parent yet, in order: one stack for all containers. */
  private references: Reference[] = []
  /** `saved[n]`: length less weight of the first `n` references. */
  private saved: number[] = [0]

  /** @param put Gets each object, children first; its bytes are only valid until it returns. */
  constructor(
    /** The window: positions are offsets into it. */
    public bytes: Buffer,
    private readonly put: (object: StoredObject) => void,
  ) {}

  /** A container opens at `at`. */
  open(at: number): void {
    this.depth += 1
    this.frames[this.depth] ??= newFrame()
    const frame = this.frames[this.depth]!
    frame.at = at
    frame.references = this.references.length
    this.startGroup(frame, at)
  }

  /** The innermost container ends at `end`. */
  close(end: number): void {
    const frame = this.frames[this.depth]!
    this.depth -= 1
    const weight = this.weight(frame.at, frame.references, end)
    if (weight > CONTAINER_INLINE_WEIGHT_MAX) this.cut(frame.at, frame.references, end, 0)
  }

  /** `[at..end)` becomes an object as it is. */
  piece(at: number, end: number): void {
    this.cut(at, this.references.length, end, 0)
  }

  /** A member of the innermost container ends at `end`: a place where a group may end. */
  member(end: number): void {
    const frame = this.frames[this.depth]!
    const weight = this.weight(frame.looseAt, frame.looseReferences, end)
    if (weight >= GROUP_WEIGHT_MIN) {
      const member = this.weight(frame.memberAt, frame.memberReferences, end)
      if (weight >= GROUP_WEIGHT_MAX || this.memberHash(frame, end) < member * CLOSE_PER_WEIGHT) {
        this.group(frame, end)
        return
      }
    }
    frame.memberAt = end
    frame.memberReferences = this.references.length
  }

  /** A token ends at `end`: closes the group where no member has ended for long. */
  limit(end: number): void {
    const frame = this.frames[this.depth]!
    if (this.weight(frame.looseAt, frame.looseReferences, end) < GROUP_WEIGHT_FORCED) return
    this.group(frame, end)
  }

  /** Everything ends at `end`. The builder is of no use afterwards. */
  finish(end: number): RopeChild {
    while (this.depth > 0) this.close(end)
    return this.cut(0, 0, end, 0)
  }

  save(): BuilderState {
    return {
      depth: this.depth,
      frames: this.frames.slice(0, this.depth + 1).map((frame) => ({ ...frame })),
      references: this.references.slice(),
      saved: this.saved.slice(),
    }
  }

  restore(state: BuilderState): void {
    this.depth = state.depth
    for (const [i, frame] of state.frames.entries()) this.frames[i] = { ...frame }
    this.references = state.references.slice()
    this.saved = state.saved.slice()
  }

  /**
   * Drops from the window what has become objects: `bytes` shrink in place to what is pending.
   * All positions change with them, also those in states that were saved before.
   * @returns How many bytes were dropped; positions after the last object are that much smaller.
   */
  compact(): number {
    const dropped = [0]
    let from = 0
    let to = 0
    for (const reference of this.references) {
      this.bytes.copyWithin(to, from, reference.at)
      to += reference.at - from
      from = reference.end
      reference.at = to
      reference.end = to
      dropped.push(from - to)
    }
    this.bytes.copyWithin(to, from)
    for (const frame of this.frames.slice(0, this.depth + 1)) {
      frame.at -= dropped[frame.references]!
      frame.looseAt -= dropped[frame.looseReferences]!
      frame.memberAt -= dropped[frame.memberReferences]!
    }
    for (let i = 0; i < this.saved.length; i++) this.saved[i] = -ROPE_CHILD_BYTES * i
    this.bytes = this.bytes.subarray(0, this.bytes.length - (from - to))
    return from - to
  }

  /** Weight of `[at..end)`, whose references are all from number `reference` on. */
  private weight(at: number, reference: number, end: number): number {
    return end - at - (this.saved[this.references.length]! - this.saved[reference]!)
  }

  private startGroup(frame: Frame, at: number): void {
    frame.looseAt = at
    frame.looseReferences = this.references.length
    frame.memberAt = at
    frame.memberReferences = this.references.length
  }

  /** Closes the loose members of `frame` into a group, and its last groups where that says so. */
  private group(frame: Frame, end: number): void {
    let last = this.cut(frame.looseAt, frame.looseReferences, end, 1)
    for (;;) {
      const { level } = last
      let first = this.references.length - 1
      while (first > frame.references && this.references[first - 1]!.level === level) first -= 1
      const count = this.references.length - first
      if (count < FAN_OUT_MIN) break
      if (count < FAN_OUT_MAX && headOf(last) >= CLOSE_PER_GROUP) break
      last = this.cut(this.references[first]!.at, first, end, level + 1)
    }
    this.startGroup(frame, end)
  }

  /** Replaces `[at..end)` by one reference; its own first one is number `first`. */
  private cut(at: number, first: number, end: number, level: number): Reference {
    const child = this.emit(at, first, end)
    const reference = { at, end, hash: child.hash, kind: child.kind, size: child.size, level }
    this.references.length = first
    this.saved.length = first + 1
    this.references.push(reference)
    this.saved.push(this.saved[first]! + end - at - ROPE_CHILD_BYTES)
    return reference
  }

  /** Makes the object that `[at..end)` is: a blob where it has no references, else a node. */
  private emit(at: number, first: number, end: number): RopeChild {
    const { bytes, references } = this
    if (first === references.length) return this.store('blob', bytes.subarray(at, end), end - at)
    const only = references[first]!
    if (first === references.length - 1 && only.at === at && only.end === end) return only
    const entries: RopeEntry[] = []
    let size = 0
    let from = at
    for (let i = first; i < references.length; i++) {
      const reference = references[i]!
      if (from < reference.at) entries.push(bytes.subarray(from, reference.at))
      entries.push(reference)
      size += reference.at - from + reference.size
      from = reference.end
    }
    if (from < end) entries.push(bytes.subarray(from, end))
    return this.store('rope', encodeRopeNode(entries), size + end - from)
  }

  private store(kind: RopeKind, bytes: Uint8Array, size: number): RopeChild {
    const hash = sha256(bytes)
    this.put({ hash, kind, bytes })
    return { hash, kind, size }
  }

  /** 32 well spread bits of the current member's bytes; its references count by their name. */
  private memberHash(frame: Frame, end: number): number {
    const { references } = this
    const last = references.at(-1)
    let at = frame.memberAt
    let hash = 0
    if (references.length > frame.memberReferences) {
      for (let i = frame.memberReferences; i < references.length; i++) {
        const reference = references[i]!
        hash = hashBytes(hash, this.bytes, at, reference.at)
        hash = Math.imul(hash ^ headOf(reference), FNV_PRIME)
        at = reference.end
      }
    } else if (end - at < HASHED_BYTES_MIN) {
      // Short members are hashed with those before: a list of few distinct ones splits as well.
      at = Math.max(end - HASHED_BYTES_MIN, frame.looseAt, last?.end ?? 0)
    }
    hash = hashBytes(hash, this.bytes, at, end)
    hash = Math.imul(hash ^ (hash >>> 16), 0x21f0aaad)
    hash = Math.imul(hash ^ (hash >>> 15), 0x735a2d97)
    return (hash ^ (hash >>> 15)) >>> 0
  }
}

/** FNV-1a over `bytes[from..to)`, from `hash` on. */
function hashBytes(hash: number, bytes: Uint8Array, from: number, to: number): number {
  let h = hash
  for (let i = from; i < to; i++) h = Math.imul(h ^ bytes[i]!, FNV_PRIME)
  return h
}

/** The first 32 bits of an object's name. */
function headOf(reference: Reference): number {
  return Number.parseInt(reference.hash.slice(0, 8), 16)
}

function newFrame(): Frame {
  return {
    at: 0,
    references: 0,
    looseAt: 0,
    looseReferences: 0,
    memberAt: 0,
    memberReferences: 0,
  }
}
