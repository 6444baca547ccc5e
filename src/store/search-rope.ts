/**
 * Where a text stands in the exact bytes of a value, without reading what was read before.
 * A value is a tree of objects, and values share most of theirs. An object in which the text is not
 * is remembered with its two ends, so that a text that spans two objects is still found; one in
 * which it is is read again for each value, since each has a place of its own.
 * @see docs/cli.md#search
 */
import type { Hash } from '../core/hash.js'
import type { Finder, Found } from '../value/needle.js'
import { parseRopeNode, type RopeEntry, type RopeKind } from '../value/rope-node.js'

/** Loads an object, or says that it must be waited for. */
export type LoadObject = (hash: Hash) => Uint8Array | Promise<Uint8Array>

/** The ends of an object without a hit, as latin1: all of it where it is shorter. */
interface Ends {
  readonly head: string
  readonly tail: string
}

/** What is remembered takes about 250 bytes an object. */
const REMEMBERED_MAX = 200_000
/** Smaller ones cost less to read again. */
const REMEMBERED_BYTES_MIN = 64

interface Level {
  readonly hash: Hash
  readonly from: number
  readonly entries: readonly RopeEntry[]
  next: number
  hits: number
  head: Buffer
}

export class RopeSearch {
  private readonly clean = new Map<Hash, Ends>()
  private readonly reach: number
  /** Bytes that were looked at, and bytes that did not have to be. For benches. */
  readonly read = { bytes: 0, skippedBytes: 0 }

  constructor(private readonly needle: Finder) {
    this.reach = needle.bytesMax - 1
  }

  /** Places in the value, in order; `load` throws where an object is not there. */
  async *find(
    root: { readonly hash: Hash; readonly kind: RopeKind; readonly size: number },
    load: LoadObject,
  ): AsyncGenerator<Found> {
    const walk = new Walk(this.needle, this.reach)
    const levels: Level[] = []
    let child: { readonly hash: Hash; readonly kind: RopeKind; readonly size: number } = root
    for (;;) {
      const known = this.clean.get(child.hash)
      if (known !== undefined) {
        this.read.skippedBytes += child.size
        walk.skip(known, child.size)
        addHead(levels.at(-1), Buffer.from(known.head, 'latin1'), this.reach)
      } else {
        const loading = load(child.hash)
        const bytes = asBuffer(loading instanceof Promise ? await loading : loading)
        if (child.kind === 'rope') {
          const { hash } = child
          const entries = parseRopeNode(bytes, hash)
          levels.push({ hash, from: walk.at, entries, next: 0, hits: walk.hits, head: NOTHING })
        } else this.leaf(walk, levels, child.hash, bytes)
      }
      if (walk.found.length > 0) yield* walk.take()
      const next = this.next(walk, levels)
      if (walk.found.length > 0) yield* walk.take()
      if (next === undefined) return
      child = next
    }
  }

  private leaf(walk: Walk, levels: Level[], hash: Hash, bytes: Buffer): void {
    const from = walk.at
    this.read.bytes += bytes.length
    const isClean = walk.piece(bytes)
    addHead(levels.at(-1), bytes, this.reach)
    if (isClean && walk.at - from >= REMEMBERED_BYTES_MIN)
      this.remember(hash, endsOf(bytes, this.reach))
  }

  /** Literal bytes up to the next child; closes what ends. */
  private next(walk: Walk, levels: Level[]): Exclude<RopeEntry, Uint8Array> | undefined {
    for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
      const entry = level.entries[level.next++]
      if (entry instanceof Uint8Array) {
        const bytes = asBuffer(entry)
        this.read.bytes += bytes.length
        walk.piece(bytes)
        addHead(level, bytes, this.reach)
      } else if (entry !== undefined) return entry
      else {
        levels.pop()
        this.close(walk, levels.at(-1), level)
      }
    }
    return undefined
  }

  private close(walk: Walk, above: Level | undefined, level: Level): void {
    addHead(above, level.head, this.reach)
    // A hit that began before the node is not in it.
    if (walk.hitsFrom(level.from, level.hits)) return
    const size = walk.at - level.from
    const tail = walk.tail.subarray(Math.max(0, walk.tail.length - size)).toString('latin1')
    this.remember(level.hash, { head: level.head.toString('latin1'), tail })
  }

  private remember(hash: Hash, ends: Ends): void {
    this.clean.set(hash, ends)
    if (this.clean.size <= REMEMBERED_MAX) return
    const oldest = this.clean.keys().next().value
    if (oldest !== undefined) this.clean.delete(oldest)
  }
}

const NOTHING = Buffer.alloc(0)

/** One pass over a value: how far it is, what came last, what was found. */
class Walk {
  at = 0
  /** The last bytes, as many as a text that begins in them may need. */
  tail = NOTHING
  hits = 0
  private lastHitAt = -1
  found: Found[] = []

  constructor(
    private readonly needle: Finder,
    private readonly reach: number,
  ) {}

  /** The next bytes. False where the text is in them. */
  piece(bytes: Buffer): boolean {
    this.acrossTo(bytes)
    const before = this.hits
    for (const { at, length } of this.needle.find(bytes)) this.hit(this.at + at, length)
    this.advance(bytes, bytes.length)
    return this.hits === before
  }

  /** Bytes without the text, of which the ends are known. */
  skip({ head, tail }: Ends, size: number): void {
    this.acrossTo(Buffer.from(head, 'latin1'))
    this.advance(Buffer.from(tail, 'latin1'), size)
  }

  take(): Found[] {
    const { found } = this
    this.found = []
    return found
  }

  /** Whether something was found that begins at `from` or later, since there were `hits`. */
  hitsFrom(from: number, hits: number): boolean {
    return this.hits > hits && this.lastHitAt >= from
  }

  /** What begins in the tail and ends in the bytes behind it. */
  private acrossTo(bytes: Buffer): void {
    const { tail } = this
    if (tail.length === 0 || this.reach === 0) return
    const joined = Buffer.concat([tail, bytes.subarray(0, this.reach)])
    for (const { at, length } of this.needle.find(joined)) {
      if (at < tail.length && at + length > tail.length)
        this.hit(this.at - tail.length + at, length)
    }
  }

  private hit(at: number, length: number): void {
    if (at <= this.lastHitAt) return
    this.hits += 1
    this.lastHitAt = at
    this.found.push({ at, length })
  }

  private advance(last: Buffer, size: number): void {
    this.at += size
    const { reach } = this
    if (reach === 0) return
    // Copied: a view would keep a whole object.
    this.tail =
      last.length >= reach
        ? Buffer.from(last.subarray(last.length - reach))
        : Buffer.concat([this.tail, last]).subarray(-reach)
  }
}

function addHead(level: Level | undefined, bytes: Buffer, reach: number): void {
  if (level === undefined || level.head.length >= reach) return
  level.head = Buffer.concat([level.head, bytes.subarray(0, reach - level.head.length)])
}

function endsOf(bytes: Buffer, reach: number): Ends {
  return {
    head: bytes.toString('latin1', 0, Math.min(reach, bytes.length)),
    tail: bytes.toString('latin1', Math.max(0, bytes.length - reach)),
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
