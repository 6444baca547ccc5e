/**
 * Trees in an object store: nodes are read by name when they are needed, and written once.
 * Knows neither where objects live nor how long they do: `load` and `put` know.
 */
import { DaglogError } from '../core/errors.js'
import { type Hash, sha256 } from '../core/hash.js'
import type { ObjectKind } from '../core/object.js'
import { corrupt } from './tree-bytes.js'
import { decodeNode, decodeRoot } from './tree-decode.js'
import { type PutObject, readLong } from './tree-long.js'
import type {
  BoxNode,
  BoxType,
  BoxValue,
  Expectation,
  OpenNode,
  Slot,
  StubNode,
  TreeHome,
} from './tree-node.js'
import { valueOfContent } from './tree-scalar.js'
import { type SealTarget, seal } from './tree-seal.js'

/**
 * Objects kept in memory after they were read, in bytes as stored; in memory they take a few times
 * that.
 */
export const TREE_CACHE_BYTES_MAX = 16 * 1024 * 1024
/** What an entry counts besides its bytes, so that many small ones are bounded too. */
const CACHE_ENTRY_BYTES = 128

export interface TreeStoreOptions {
  /**
   * The bytes of an object, or undefined where there is none. They are checked against `hash` here.
   * What it throws passes through; OBJECT_MISSING and OBJECT_CORRUPT are told who refers to it.
   */
  readonly load: (hash: Hash, kind: ObjectKind) => Uint8Array | undefined
  /**
   * Takes an object, children before parents. The bytes hold until it returns, so copy what is
   * kept. Once it returned, the object counts as stored: if it is lost after all, drop this
   * TreeStore. Left out for a store that is only read.
   */
  readonly put?: PutObject
  readonly cacheBytesMax?: number
}

interface CacheEntry {
  readonly expect: Expectation | BoxType
  /** Undefined once it was dropped: those who still point here ask again. */
  value: OpenNode | BoxValue | undefined
  readonly bytes: number
  /** Since the cache last looked for something to drop. */
  used: boolean
}

/** Reads and writes trees. One for each place that objects are put to and read from. */
export class TreeStore implements TreeHome {
  readonly #options: TreeStoreOptions
  readonly #cacheBytesMax: number
  readonly #target: SealTarget | undefined
  readonly #entries = new Map<Hash, CacheEntry>()
  #cacheBytes = 0

  constructor(options: TreeStoreOptions) {
    this.#options = options
    this.#cacheBytesMax = options.cacheBytesMax ?? TREE_CACHE_BYTES_MAX
    const { put } = options
    this.#target = put && { home: this, copied: new WeakSet(), put }
  }

  /** Bytes that the cache counts now; at most `cacheBytesMax`. */
  get cacheBytes(): number {
    return this.#cacheBytes
  }

  /** Stores what is new below `root`. Returns the name of the root's object. */
  write(root: Slot): Hash {
    if (this.#target === undefined) {
      throw new DaglogError('USAGE', 'this tree store was opened without `put`: it only reads')
    }
    return seal(root, this.#target)
  }

  /** The value whose root object is `hash`. */
  readRoot(hash: Hash, referrer: string): Slot {
    const bytes = this.#object(hash, 'tree', referrer)
    return decodeRoot(bytes, { hash, referrer, home: this })
  }

  open(stub: StubNode): OpenNode {
    const known = stub.entry as CacheEntry | undefined
    if (known?.value !== undefined) {
      known.used = true
      return known.value as OpenNode
    }
    const { hash, expect, referrer } = stub
    let node = this.#kept(hash, expect) as OpenNode | undefined
    if (node === undefined) {
      const bytes = this.#object(hash, 'tree', referrer)
      node = decodeNode(bytes, expect, { hash, referrer, home: this })
      this.#keep(hash, expect, node, bytes.length)
    }
    stub.entry = this.#entries.get(hash)
    return node
  }

  content(box: BoxNode): BoxValue {
    const { referrer, type } = box
    const hash = box.hash!
    const known = this.#kept(hash, type)
    if (known !== undefined) return known as BoxValue
    const bytes = readLong({ hash, kind: box.contentKind }, box.length, referrer, (content, from) =>
      this.#object(content.hash, content.kind, from),
    )
    const value = valueOfContent(type, bytes)
    if (value === undefined) throw corrupt({ hash, referrer }, `it is not a well encoded ${type}`)
    const kept = typeof value === 'object' ? Uint8Array.from(value) : value
    this.#keep(hash, type, kept, bytes.length)
    return kept
  }

  #kept(hash: Hash, expect: Expectation | BoxType): OpenNode | BoxValue | undefined {
    const entry = this.#entries.get(hash)
    if (entry === undefined || !isSameExpectation(entry.expect, expect)) return undefined
    entry.used = true
    return entry.value
  }

  /** Once more than fits is kept, drops what was not used for longest, give or take a turn. */
  #keep(
    hash: Hash,
    expect: Expectation | BoxType,
    value: OpenNode | BoxValue,
    length: number,
  ): void {
    const entry = { expect, value, bytes: length + CACHE_ENTRY_BYTES, used: false }
    if (entry.bytes > this.#cacheBytesMax) return
    this.#drop(hash)
    this.#entries.set(hash, entry)
    this.#cacheBytes += entry.bytes
    for (const [oldHash, old] of this.#entries) {
      if (this.#cacheBytes <= this.#cacheBytesMax) break
      if (old === entry) continue
      if (old.used) {
        // Behind the newest, where this loop will find it again if need be.
        old.used = false
        this.#entries.delete(oldHash)
        this.#entries.set(oldHash, old)
      } else this.#drop(oldHash)
    }
  }

  #drop(hash: Hash): void {
    const entry = this.#entries.get(hash)
    if (entry === undefined) return
    entry.value = undefined
    this.#cacheBytes -= entry.bytes
    this.#entries.delete(hash)
  }

  #object(hash: Hash, kind: ObjectKind, referrer: string): Uint8Array {
    let bytes: Uint8Array | undefined
    try {
      bytes = this.#options.load(hash, kind)
    } catch (error) {
      throw named(error, hash, referrer)
    }
    if (bytes === undefined) throw missing(hash, referrer)
    if (sha256(bytes) !== hash) throw corrupt({ hash, referrer }, 'its bytes do not have this hash')
    return bytes
  }
}

function isSameExpectation(a: Expectation | BoxType, b: Expectation | BoxType): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object') return false
  if (a.role === 'map') return b.role === 'map' && a.size === b.size && a.prefix === b.prefix
  if (a.role !== 'list' || b.role !== 'list') return a.role === b.role
  return a.size === b.size && a.level === b.level && a.closed === b.closed
}

function missing(hash: Hash, referrer: string, cause?: unknown): DaglogError {
  return new DaglogError(
    'OBJECT_MISSING',
    `object ${hash}, which ${referrer} refers to, is not in the store. ` +
      'What does not need it is intact; try: `daglog verify`, or restore it from a backup.',
    { hash, referrer },
    { cause },
  )
}

/** What `load` threw, with the referrer that it could not know. */
function named(error: unknown, hash: Hash, referrer: string): unknown {
  if (!(error instanceof DaglogError) || error.data.referrer !== undefined) return error
  if (error.code === 'OBJECT_MISSING') return missing(hash, referrer, error)
  if (error.code === 'OBJECT_CORRUPT') return corrupt({ hash, referrer }, error.message, error)
  return error
}
