/**
 * JSON pointers (RFC 6901): how a place inside a value is written.
 * Knows own properties only, so `__proto__` is a key like any other.
 */
import { DaglogError } from './errors.js'

/** One more step of a pointer: `/a~1b` for the key `a/b`. */
export function pointerStep(key: string | number): string {
  return typeof key === 'number' ? `/${key}` : `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
}

/**
 * The keys of a pointer, in order; none for the whole value.
 * @throws POINTER_NOT_FOUND where the text is no pointer.
 */
export function pointerKeys(pointer: string): string[] {
  if (pointer === '') return []
  if (!pointer.startsWith('/')) {
    throw new DaglogError(
      'POINTER_NOT_FOUND',
      `"${pointer}" is no JSON pointer; try: /${pointer}`,
      { pointer },
    )
  }
  return pointer
    .slice(1)
    .split('/')
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
}

const INDEX = /^(?:0|[1-9]\d*)$/

/** The own property of a container, or undefined with `found: false` where there is none. */
function ownMember(container: unknown, key: string): { found: boolean; value: unknown } {
  // An array owns its length too; RFC 6901 knows only what is in it.
  const named = Array.isArray(container) && !INDEX.test(key)
  if (
    typeof container !== 'object' ||
    container === null ||
    named ||
    !Object.hasOwn(container, key)
  ) {
    return { found: false, value: undefined }
  }
  return { found: true, value: (container as Record<string, unknown>)[key] }
}

/**
 * The value at a pointer.
 * @throws POINTER_NOT_FOUND naming the first step that is not there.
 */
export function valueAt(root: unknown, pointer: string): unknown {
  let value = root
  let path = ''
  for (const key of pointerKeys(pointer)) {
    path += pointerStep(key)
    const member = ownMember(value, key)
    if (!member.found) {
      throw new DaglogError('POINTER_NOT_FOUND', `nothing at ${path}`, { pointer, path })
    }
    value = member.value
  }
  return value
}

/**
 * Put `value` at a pointer whose parent exists; returns the new root (`value` itself for the empty
 * pointer).
 */
export function replaceAt(root: unknown, pointer: string, value: unknown): unknown {
  const keys = pointerKeys(pointer)
  const last = keys.pop()
  if (last === undefined) return value
  let parent: unknown = root
  for (const key of keys) parent = ownMember(parent, key).value
  if (typeof parent !== 'object' || parent === null || !Object.hasOwn(parent, last)) {
    throw new DaglogError('POINTER_NOT_FOUND', `nothing at ${pointer}`, { pointer })
  }
  Object.defineProperty(parent, last, {
    value,
    writable: true,
    enumerable: true,
    configurable: true,
  })
  return root
}

/**
 * The value without what lies at these pointers; a place that is not there is no matter. Copies
 * what it changes, and shares the rest.
 */
export function withoutPointers(root: unknown, pointers: readonly string[]): unknown {
  return pointers.reduce((value, pointer) => withoutKeys(value, pointerKeys(pointer)), root)
}

function withoutKeys(value: unknown, [key, ...rest]: readonly string[]): unknown {
  if (key === undefined) return undefined
  const { found, value: member } = ownMember(value, key)
  if (!found) return value
  const copy = Array.isArray(value) ? [...value] : { ...(value as Record<string, unknown>) }
  // In a list the others keep their places.
  if (rest.length === 0 && !Array.isArray(copy)) delete (copy as Record<string, unknown>)[key]
  else replaceAt(copy, pointerStep(key), rest.length === 0 ? null : withoutKeys(member, rest))
  return copy
}
