/**
 * Reading values that came from outside: what is there is taken, what is not is undefined.
 * Knows no provider.
 */

export type Fields = Readonly<Record<string, unknown>>

/** An object of named members: no list, no bytes, not null. */
export function isFields(value: unknown): value is Fields {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !ArrayBuffer.isView(value)
  )
}

export function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {}
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** A string, or the empty one: `String()` of an object from outside may throw. */
export function nameOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** A place in a list; -1 where it is none, so that nothing is there. */
export function placeOf(value: unknown): number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : -1
}

/** A string with something in it. */
export function wordOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

export function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined
}

/** `fields` without the named ones. */
export function without(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)))
}

/** `{ [name]: value }`, or nothing where there is no value: for spreading. */
export function given<K extends string, V>(
  name: K,
  value: V | undefined,
): { readonly [P in K]?: V } {
  return value === undefined ? {} : ({ [name]: value } as { [P in K]: V })
}
