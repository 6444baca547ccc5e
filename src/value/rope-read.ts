/**
 * Reading a rope: the exact bytes in order, whole or a range, without loading what lies outside it.
 * Knows nodes and a way to load objects. Whether an object hashes to its name is the loader's care.
 * @see docs/format.md#ropes
 */
import { DaglogError } from '../core/errors.js'
import type { Hash } from '../core/hash.js'
import { parseRopeNode, type RopeChild, type RopeEntry, type RopeKind } from './rope-node.js'

/** Deepest chain of nodes below a root. No writer comes near; only a forged rope is deeper. */
export const ROPE_DEPTH_MAX = 1024

export interface RopeReadOptions {
  /** First byte to yield, 0 when left out. */
  readonly from?: number
  /** End of what is yielded, in bytes, exclusive; where left out or too large, the rope's end. */
  readonly to?: number
  /** What the referrer says the rope's length is, in bytes; checked before anything is yielded. */
  readonly size?: number
}

/**
 * Yields the rope's exact bytes in order, in views of what `load` returned (do not change them).
 * @param load The bytes that hash to the name it is given, or it throws.
 * @throws DaglogError OBJECT_CORRUPT, naming the object, where a node is not one, where a child is
 *   not as long as its node says, or where nodes are nested beyond `ROPE_DEPTH_MAX`. What was
 *   yielded before the error is right; what a range leaves out is not looked at.
 */
export function* readRope(
  root: Hash,
  rootKind: RopeKind,
  load: (hash: Hash) => Uint8Array,
  options: RopeReadOptions = {},
): Generator<Uint8Array, void, undefined> {
  const walk = walkRope(root, rootKind, options)
  let step = walk.next()
  while (!step.done) {
    if (typeof step.value === 'string') step = walk.next(load(step.value))
    else {
      yield step.value
      step = walk.next()
    }
  }
}

/** As `readRope`, where objects come from afar. One object is asked for at a time. */
export async function* readRopeAsync(
  root: Hash,
  rootKind: RopeKind,
  load: (hash: Hash) => Promise<Uint8Array>,
  options: RopeReadOptions = {},
): AsyncGenerator<Uint8Array, void, undefined> {
  const walk = walkRope(root, rootKind, options)
  let step = walk.next()
  while (!step.done) {
    if (typeof step.value === 'string') step = walk.next(await load(step.value))
    else {
      yield step.value
      step = walk.next()
    }
  }
}

/** A node on the way down: its entries, and which comes next. */
interface Level {
  readonly entries: RopeEntry[]
  next: number
}

/** The walk of both readers: yields a hash, to be given its object's bytes, or the rope's bytes. */
function* walkRope(
  root: Hash,
  rootKind: RopeKind,
  { from = 0, to = Number.MAX_SAFE_INTEGER, size }: RopeReadOptions,
): Generator<Uint8Array | Hash, void, Uint8Array | undefined> {
  const levels: Level[] = []
  let at = 0
  let child: Omit<RopeChild, 'size'> & { size: number | undefined } = {
    hash: root,
    kind: rootKind,
    size,
  }
  for (;;) {
    const bytes = (yield child.hash) as Uint8Array
    if (child.kind === 'rope') {
      if (levels.length === ROPE_DEPTH_MAX) {
        throw corrupt(child.hash, `lies more than ${ROPE_DEPTH_MAX} nodes below ${root}`)
      }
      const entries = parseRopeNode(bytes, child.hash)
      checkSize(child.hash, child.size, sizeOf(entries))
      levels.push({ entries, next: 0 })
    } else {
      checkSize(child.hash, child.size, bytes.length)
      const part = clip(bytes, at, from, to)
      at += bytes.length
      if (part.length > 0) yield part
    }
    // On to the next child that the range touches, yielding the literal bytes before it.
    let found: RopeChild | undefined
    while (found === undefined) {
      const level = levels.at(-1)
      if (level === undefined || at >= to) return
      const entry = level.entries[level.next++]
      if (entry === undefined) levels.pop()
      else if (entry instanceof Uint8Array) {
        const part = clip(entry, at, from, to)
        at += entry.length
        if (part.length > 0) yield part
      } else if (at + entry.size <= from) at += entry.size
      else found = entry
    }
    child = found
  }
}

/** What of `bytes`, which stand at `at`, lies in the range. */
function clip(bytes: Uint8Array, at: number, from: number, to: number): Uint8Array {
  if (from <= at && at + bytes.length <= to) return bytes
  return bytes.subarray(Math.max(0, from - at), Math.max(0, to - at))
}

function sizeOf(entries: readonly RopeEntry[]): number {
  let size = 0
  for (const entry of entries) size += entry instanceof Uint8Array ? entry.length : entry.size
  return size
}

function checkSize(hash: Hash, declared: number | undefined, actual: number): void {
  if (declared === undefined || declared === actual) return
  throw corrupt(hash, `stands for ${actual} bytes where its referrer says ${declared}`)
}

function corrupt(hash: Hash, what: string): DaglogError {
  return new DaglogError(
    'OBJECT_CORRUPT',
    `object ${hash} ${what}. Try: \`daglog verify\` to see which runs need it, then a backup.`,
    { hash },
  )
}
