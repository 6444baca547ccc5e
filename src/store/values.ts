/**
 * Large values as objects, and back.
 * The one place that knows how a payload's bytes become objects; frames only hold the ref.
 * @see docs/format.md#objects
 */
import type { Backend } from '../backend/backend.js'
import type { LargeValue, Ref } from '../core/body.js'
import { DaglogError } from '../core/errors.js'
import { type Hash, sha256 } from '../core/hash.js'
import type { StoredObject } from '../core/object.js'

export interface StoredValue {
  readonly ref: Ref
  /** Children before parents. */
  readonly objects: readonly StoredObject[]
}

/** The objects of a value, and the ref that finds it again. */
export function storeValue(value: LargeValue): StoredValue {
  const hash = sha256(value.bytes)
  const ref: Ref = {
    pointer: value.pointer,
    sha256: hash,
    root: hash,
    size: value.bytes.length,
    kind: value.kind,
  }
  return { ref, objects: [{ hash, kind: 'blob', bytes: value.bytes }] }
}

/** Who asks for a value, for the message when it is gone. */
export interface Referrer {
  readonly run: string
  readonly seq: number
}

/**
 * The exact bytes of a value, checked against the hash in its ref.
 * @throws OBJECT_MISSING, OBJECT_CORRUPT naming the object and who refers to it.
 */
export async function loadValue(backend: Backend, ref: Ref, by: Referrer): Promise<Uint8Array> {
  const bytes = await backend.getObject(ref.root, by.run)
  const where = `run ${by.run}, seq ${by.seq}, ${ref.pointer || 'the whole of data'}`
  if (bytes === undefined) {
    throw new DaglogError(
      'OBJECT_MISSING',
      `object ${ref.root} is not in the store; ${where} refers to it. Try: a backup, or \`daglog import\` of a bundle that holds it`,
      { ...by, pointer: ref.pointer, object: ref.root },
    )
  }
  const found = sha256(bytes)
  if (found !== ref.sha256 || bytes.length !== ref.size) {
    throw new DaglogError(
      'OBJECT_CORRUPT',
      `object ${ref.root} does not hold the bytes that ${where} refers to; try: a backup`,
      { ...by, pointer: ref.pointer, object: ref.root, expected: ref.sha256, found },
    )
  }
  return bytes
}

/** Whether everything that a ref needs is in the store. Hashes are not recomputed. */
export async function hasValue(backend: Backend, ref: Ref, run: string): Promise<boolean> {
  return backend.hasObject(ref.root as Hash, run)
}
