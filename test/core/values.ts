/**
 * Values for tests of the codec: any that it promises to keep, and whether two are the very same.
 */
import fc from 'fast-check'

export const numRuns = process.env.DAGLOG_LONG ? 5000 : 300

/** Any sequence of UTF-16 units, lone surrogates among them. */
export const anyText: fc.Arbitrary<string> = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc
    .array(fc.oneof(fc.integer({ min: 0xd800, max: 0xdfff }), fc.nat(0xffff)), { maxLength: 8 })
    .map((units) => String.fromCharCode(...units)),
)

export const anyKey: fc.Arbitrary<string> = fc.oneof(
  anyText,
  fc.constantFrom('__proto__', 'constructor', 'toString', 'toJSON', 'hasOwnProperty', 'length'),
  fc.constantFrom(
    '',
    '/',
    '~',
    '~0',
    '~1',
    '~01',
    'a/b',
    'a~b',
    '0',
    '1',
    '01',
    '-1',
    '4294967295',
  ),
  fc.nat(20).map(String),
)

/** What stays a scalar in the text, tagged or not. */
export const anyScalar: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(null, undefined, true, false, Number.NaN, -0, 0),
  fc.constantFrom(Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.MAX_VALUE, 5e-324),
  fc.double(),
  fc.integer(),
  fc.bigInt(),
  fc.bigInt({ min: -(2n ** 200n), max: 2n ** 200n }),
  anyText,
  fc.date({ noInvalidDate: false }),
  fc.uint8Array(),
)

/** Any value that the codec promises to keep exactly. */
export const anyValue: fc.Arbitrary<unknown> = containers(anyScalar)

/** Any value of plain JSON whose text `JSON.stringify` gives exactly: no -0. */
export const plainJson: fc.Arbitrary<unknown> = containers(
  fc.oneof(
    fc.constantFrom(null, true, false),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number || 0),
    anyText,
  ),
)

function containers(scalar: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      scalar,
      fc.array(tie('value'), { maxLength: 6 }),
      entries(tie('value')).map(objectOf),
      entries(tie('value')).map((members) => Object.setPrototypeOf(objectOf(members), null)),
    ),
  })).value
}

function entries(value: fc.Arbitrary<unknown>): fc.Arbitrary<[string, unknown][]> {
  return fc.array(fc.tuple(anyKey, value), { maxLength: 6 })
}

/** An object with these own members, `__proto__` like any other. */
export function objectOf(members: readonly (readonly [string, unknown])[]): object {
  const object = {}
  for (const [key, value] of members) {
    Object.defineProperty(object, key, {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    })
  }
  return object
}

/**
 * Where `right` is not what `left` is, as a path; undefined where they are the very same: kinds,
 * key order, -0, holes and own `__proto__` members. Only prototypes of plain objects may differ.
 */
export function difference(left: unknown, right: unknown): string | undefined {
  const work: [unknown, unknown, string][] = [[left, right, '$']]
  for (let pair = work.pop(); pair !== undefined; pair = work.pop()) {
    const [a, b, path] = pair
    if (Object.is(a, b)) continue
    if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return path
    if (kindOf(a) !== kindOf(b)) return path
    if (a instanceof Date) {
      if (!Object.is(a.getTime(), (b as Date).getTime())) return path
      continue
    }
    if (a instanceof Uint8Array) {
      if (Buffer.compare(a, b as Uint8Array) !== 0) return path
      continue
    }
    const keys = Object.keys(a)
    if (keys.join('\0') !== Object.keys(b).join('\0')) return path
    if (Array.isArray(a) && a.length !== (b as unknown[]).length) return path
    for (const key of keys) work.push([memberOf(a, key), memberOf(b, key), `${path}.${key}`])
  }
  return undefined
}

function memberOf(container: object, key: string): unknown {
  return Object.getOwnPropertyDescriptor(container, key)?.value
}

function kindOf(value: object): string {
  if (Array.isArray(value)) return 'array'
  if (value instanceof Date) return 'date'
  return value instanceof Uint8Array ? 'bytes' : 'object'
}

/** `depth` containers, one in the other, around `core`. */
export function nested(depth: number, core: unknown, kind: 'array' | 'object'): unknown {
  let value = core
  for (let level = 0; level < depth; level += 1) value = kind === 'array' ? [value] : { a: value }
  return value
}
