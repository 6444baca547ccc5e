/** Values as daglog records them, for tests that hold for all of them. */
import fc from 'fast-check'

const key = fc.oneof(
  fc.constantFrom('a', 'b', 'id', 'role', '__proto__', 'a/b', '~', '', '0', '10'),
  fc.string({ unit: 'binary', maxLength: 4 }),
)

const scalar = fc.oneof(
  fc.constantFrom(null, true, false, 0, -0, 1, 1.5, '', 'a', 'b'),
  fc.double(),
  fc.string({ unit: 'binary' }),
)

/** What JSON cannot carry. */
const codec = fc.oneof(
  fc.constantFrom(undefined, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY),
  fc.bigInt(),
  fc.date({ noInvalidDate: false }),
  fc.uint8Array({ maxLength: 6 }).map((bytes) => new Uint8Array(bytes)),
  // Text with lone surrogates.
  fc
    .array(fc.integer({ min: 0xd7fe, max: 0xe001 }), { maxLength: 3 })
    .map((units) => String.fromCharCode(...units)),
)

function treeOf(leaf: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      leaf,
      fc.array(tie('tree'), { maxLength: 5 }),
      fc
        .uniqueArray(fc.tuple(key, tie('tree')), { maxLength: 5, selector: ([name]) => name })
        .map(objectOf),
    ),
  }))
  return tree
}

/** Own members whatever their names. */
export function objectOf(
  entries: readonly (readonly [string, unknown])[],
): Record<string, unknown> {
  const object: Record<string, unknown> = {}
  for (const [name, value] of entries) {
    Object.defineProperty(object, name, {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    })
  }
  return object
}

/** Any value that can be recorded. */
export const anyValue = treeOf(fc.oneof({ weight: 3, arbitrary: scalar }, codec))

/** Any value that JSON can carry. */
export const jsonValue = treeOf(
  scalar.filter((leaf) => typeof leaf !== 'number' || Number.isFinite(leaf)),
)

/** A value inside `depth` lists and objects. */
export function nested(depth: number, innermost: unknown): unknown {
  let value = innermost
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { in: value }
  return value
}
