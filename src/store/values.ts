/**
 * Large values as objects, and back.
 * The one place that knows how a payload's bytes become objects; frames only hold the ref.
 * @see docs/format.md#objects
 */
import { createHash } from 'node:crypto'
import type { Backend } from '../backend/backend.js'
import { type LargeValue, type Ref, refValue } from '../core/body.js'
import { encodeValue } from '../core/encode.js'
import { DaglogError } from '../core/errors.js'
import type { Hash } from '../core/hash.js'
import type { ObjectKind, StoredObject } from '../core/object.js'
import { RopeMemo, readRopeAsync, ropeChildren, writeRope } from '../value/rope.js'
import { loadTree, TreeStore, treeChildren } from '../value/tree.js'

export interface StoredValue {
  readonly ref: Ref
  /** Children before parents. Only the new ones, where the value begins like the one before it. */
  readonly objects: readonly StoredObject[]
}

/** Places whose last value is remembered; an agent has few that grow. */
const MEMOS_MAX = 8

/**
 * Cuts the values of one run. Remembers the last value at each place, so that one that grows is cut
 * only where it is new. Its objects must all go to that run; after a failed write, start anew.
 */
export class ValueWriter {
  private readonly memos = new Map<string, RopeMemo>()

  /** @param place What the value belongs to, such as its event's type: values at one place are alike. */
  store(value: LargeValue, place: string): StoredValue {
    const objects: StoredObject[] = []
    const { sha256, root, size } = writeRope(
      value.bytes,
      // What is handed out is only good during the call, unless it is a part of the value itself.
      (object) => objects.push({ ...object, bytes: owned(object.bytes, value.bytes) }),
      { memo: this.memo(`${place} ${value.pointer}`) },
    )
    return { ref: { pointer: value.pointer, sha256, root, size, kind: value.kind }, objects }
  }

  private memo(place: string): RopeMemo {
    const memo = this.memos.get(place) ?? new RopeMemo()
    this.memos.delete(place)
    this.memos.set(place, memo)
    const oldest = this.memos.keys().next().value
    if (this.memos.size > MEMOS_MAX && oldest !== undefined) this.memos.delete(oldest)
    return memo
  }
}

/**
 * A value is over the inline limit, so its memory is its own and never a slice of Node's shared
 * pool.
 */
function owned(bytes: Uint8Array, value: Uint8Array): Uint8Array {
  return bytes.buffer === value.buffer ? bytes : Buffer.from(bytes)
}

/** Who asks for a value, for the message when it is gone. */
export interface Referrer {
  readonly run: string
  readonly seq: number
}

/**
 * The exact bytes of a value in order, each object checked against its name, the whole against the
 * hash in its ref: what was yielded counts only once the end is reached.
 * @throws OBJECT_MISSING, OBJECT_CORRUPT naming the object and who refers to it.
 */
export async function* readValue(
  backend: Backend,
  ref: Ref,
  by: Referrer,
): AsyncGenerator<Uint8Array> {
  const hashing = createHash('sha256')
  const load = async (hash: Hash): Promise<Uint8Array> => {
    const bytes = await backend.getObject(hash, by.run)
    if (bytes === undefined) throw missing(hash, ref, by)
    return bytes
  }
  for await (const bytes of readRopeAsync(ref.root, rootKind(ref), load, { size: ref.size })) {
    hashing.update(bytes)
    yield bytes
  }
  const found = hashing.digest('hex')
  if (found === ref.sha256) return
  throw new DaglogError(
    'OBJECT_CORRUPT',
    `object ${ref.root} does not hold the bytes that ${where(ref, by)} refers to; try: a backup`,
    { ...by, pointer: ref.pointer, object: ref.root, expected: ref.sha256, found },
  )
}

/** What a ref stands for, as it was appended. @throws OBJECT_MISSING, OBJECT_CORRUPT */
export async function resolveRef(backend: Backend, ref: Ref, by: Referrer): Promise<unknown> {
  if (ref.kind === 'tree') return loadTreeValue(backend, ref, by)
  return refValue(ref, await loadValue(backend, ref, by))
}

/** The exact bytes as one buffer; of a tree, which has none, its JSON text. */
export async function loadValue(backend: Backend, ref: Ref, by: Referrer): Promise<Uint8Array> {
  if (ref.kind === 'tree')
    return Buffer.from(encodeValue(await loadTreeValue(backend, ref, by)).text)
  const parts: Uint8Array[] = []
  try {
    for await (const bytes of readValue(backend, ref, by)) parts.push(bytes)
  } catch (error) {
    throw explained(error, ref, by)
  }
  return parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts)
}

/** The same error, also saying who needs the value: a rope or a pack knows its object only. */
export function explained(error: unknown, ref: Ref, by: Referrer): unknown {
  if (!(error instanceof DaglogError) || error.data.seq !== undefined) return error
  const data = { ...error.data, ...by, pointer: ref.pointer, object: ref.root }
  return new DaglogError(error.code, `${where(ref, by)}: ${error.message}`, data, { cause: error })
}

/** A root is a blob exactly where it has the name of the whole. */
function rootKind(ref: Ref): 'blob' | 'rope' {
  if (ref.kind === 'tree') throw new DaglogError('INVARIANT', 'a tree has no bytes of its own')
  return ref.root === ref.sha256 ? 'blob' : 'rope'
}

function where(ref: Ref, by: Referrer): string {
  return `run ${by.run}, seq ${by.seq}, ${ref.pointer || 'the whole of data'}`
}

/** The error for an object that is not there, and who needs it. */
export function missing(hash: Hash, ref: Ref, by: Referrer): DaglogError {
  return new DaglogError(
    'OBJECT_MISSING',
    `object ${hash} is not in the store; ${where(ref, by)} refers to it. Try: a backup, or \`daglog import\` of a bundle that holds it`,
    { ...by, pointer: ref.pointer, object: hash },
  )
}

/**
 * Whether the root of a value is in the store. Children are written before their parents, and a
 * torn file of objects ends at its first bad one: where a root is, what it needs is.
 */
export async function hasValue(backend: Backend, ref: Ref, run: string): Promise<boolean> {
  return backend.hasObject(ref.root, run)
}

/**
 * Every object of a value, children before parents, each once; without its bytes where it is
 * missing.
 * @param seen What earlier walks have met and need not be met again; what is met is added to it.
 */
export async function* valueObjects(
  backend: Backend,
  ref: Ref,
  run: string,
  seen: Set<string>,
): AsyncGenerator<{ readonly hash: Hash; readonly object: StoredObject | undefined }> {
  const open: { hash: Hash; kind: ObjectKind; bytes?: Uint8Array }[] = [
    { hash: ref.root, kind: ref.kind === 'tree' ? 'tree' : rootKind(ref) },
  ]
  for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
    const { hash, kind, bytes } = top
    if (seen.has(seenAs(hash, kind))) {
      open.pop()
    } else if (bytes === undefined) {
      top.bytes = await backend.getObject(hash, run)
      if (top.bytes !== undefined) {
        for (const child of childrenOf(kind, top.bytes))
          open.push({ hash: child.hash, kind: child.kind })
        continue
      }
      open.pop()
      // Not seen: another run may have it, and what it leads to is known only there.
      yield { hash, object: undefined }
    } else {
      open.pop()
      seen.add(seenAs(hash, kind))
      yield { hash, object: { hash, kind, bytes } }
    }
  }
}

/**
 * How an object is read is part of what was met: the bytes of a node may also be what a user wrote.
 */
function seenAs(hash: Hash, kind: ObjectKind): string {
  return kind === 'blob' ? `blob ${hash}` : hash
}

/** Whether walks have met an object, however it was read. */
export function wasSeen(seen: ReadonlySet<string>, hash: Hash): boolean {
  return seen.has(hash) || seen.has(seenAs(hash, 'blob'))
}

function childrenOf(
  kind: ObjectKind,
  bytes: Uint8Array,
): Iterable<{ readonly hash: Hash; readonly kind: ObjectKind }> {
  if (kind === 'rope') return ropeChildren(bytes)
  return kind === 'tree' ? treeChildren(bytes) : []
}

/** The value of a ref of kind `tree`, whole and plain. */
export async function loadTreeValue(backend: Backend, ref: Ref, by: Referrer): Promise<unknown> {
  const objects = new Map<Hash, Uint8Array>()
  for await (const { hash, object } of valueObjects(backend, ref, by.run, new Set())) {
    if (object === undefined) throw missing(hash, ref, by)
    objects.set(hash, object.bytes)
  }
  const store = new TreeStore({ load: (hash) => objects.get(hash) })
  return loadTree(ref.root, store, `run ${by.run}, seq ${by.seq}`).toJSON()
}
