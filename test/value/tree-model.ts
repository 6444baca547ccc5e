/**
 * What the tests of trees share: objects in memory, arbitrary values, and random edits that are
 * made to a tree and to a plain value alike.
 */
import fc from 'fast-check'
import { vi } from 'vitest'
import type { Hash } from '../../src/core/hash.js'
import type { ObjectKind, StoredObject } from '../../src/core/object.js'
import { ropeChildren } from '../../src/value/rope.js'
import { type Tree, TreeStore, type TreeStoreOptions, treeChildren } from '../../src/value/tree.js'

/**
 * Long runs take minutes each, and must not be cut off before they have shown what they are for.
 */
if (process.env.DAGLOG_LONG !== undefined) vi.setConfig({ testTimeout: 30 * 60_000 })

/** Runs of a property: `usual`, or `long` times that with DAGLOG_LONG. */
export function runs(usual: number, long = 20): number {
  return process.env.DAGLOG_LONG === undefined ? usual : usual * long
}

/** Objects in memory. */
export class MemoryObjects {
  readonly objects = new Map<Hash, { kind: ObjectKind; bytes: Uint8Array }>()
  puts = 0
  loads = 0

  store(options: Partial<TreeStoreOptions> = {}): TreeStore {
    return new TreeStore({
      load: (hash) => {
        this.loads += 1
        return this.objects.get(hash)?.bytes
      },
      put: (object) => this.put(object),
      ...options,
    })
  }

  put({ hash, kind, bytes }: StoredObject): void {
    this.puts += 1
    this.objects.set(hash, { kind, bytes: Uint8Array.from(bytes) })
  }

  /** Every object below `root`, found as garbage collection finds them. */
  reachable(root: Hash): Set<Hash> {
    const found = new Set<Hash>()
    const work: { hash: Hash; kind: ObjectKind }[] = [{ hash: root, kind: 'tree' }]
    for (let next = work.pop(); next !== undefined; next = work.pop()) {
      if (found.has(next.hash)) continue
      found.add(next.hash)
      const object = this.objects.get(next.hash)
      if (object === undefined) throw new Error(`missing ${next.hash}`)
      if (object.kind !== next.kind) throw new Error(`${next.hash} is a ${object.kind}`)
      work.push(...childrenOf(next.kind, object.bytes))
    }
    return found
  }
}

/** What an object refers to, read as its kind says. */
export function childrenOf(
  kind: ObjectKind,
  bytes: Uint8Array,
): readonly { readonly hash: Hash; readonly kind: ObjectKind }[] {
  if (kind === 'rope') return ropeChildren(bytes)
  return kind === 'tree' ? treeChildren(bytes) : []
}

/** Keys that are trouble somewhere: integers, prototypes, lone surrogates, order by code unit. */
export const TRICKY_KEYS = [
  '__proto__',
  'constructor',
  'toString',
  'length',
  'hasOwnProperty',
  '',
  '0',
  '10',
  '9',
  '4294967295',
  'a\ud800',
  'a\ud801',
  'a\udc00',
  '\ud83d\ude00',
  '\ufb33',
  'é',
  'a/b~c',
  '\u0000',
]

export const keys = fc.oneof(
  { weight: 3, arbitrary: fc.nat(60).map((n) => `k${n}`) },
  { weight: 1, arbitrary: fc.constantFrom(...TRICKY_KEYS) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 6 }) },
)

export const scalars: fc.Arbitrary<unknown> = fc.oneof(
  fc.integer({ min: -3, max: 300 }),
  fc.constantFrom(
    null,
    true,
    false,
    undefined,
    0,
    -0,
    Number.NaN,
    1 / 0,
    -1 / 0,
    2 ** 53,
    -(2 ** 53),
  ),
  fc.double(),
  fc.maxSafeInteger(),
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.nat(600).map((n) => 'tëxt '.repeat(n)),
  fc.constantFrom('\ud800', 'x\udfff\ud800', '\ud83d\ude00'),
  fc.bigInt(),
  fc.nat(3000).map((n) => -(3n ** BigInt(n))),
  fc.date({ noInvalidDate: false }),
  fc.uint8Array({ maxLength: 400 }),
)

/** Any value that a tree holds. */
export const values: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    scalars,
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(keys, tie('value'), { maxKeys: 5 }),
    fc.array(scalars, { minLength: 30, maxLength: 90 }),
    fc.dictionary(keys, scalars, { minKeys: 28, maxKeys: 45 }),
  ),
})).value

export interface Edit {
  /** Which way to go down, as long as there is a container. */
  readonly way: readonly number[]
  readonly what: number
  readonly at: number
  readonly count: number
  readonly key: string
  readonly value: unknown
}

export const edits: fc.Arbitrary<Edit> = fc.record({
  way: fc.array(fc.nat(200), { maxLength: 4 }),
  what: fc.nat(9),
  at: fc.nat(200),
  count: fc.nat(40),
  key: keys,
  value: fc.oneof(scalars, values),
})

type Plain = Record<string, unknown> | unknown[]

export function isContainer(value: unknown): value is Plain {
  if (typeof value !== 'object' || value === null) return false
  return !(value instanceof Date) && !(value instanceof Uint8Array)
}

/** Sets an own field, `__proto__` too. */
export function setOwn(target: object, key: string, value: unknown): void {
  const property = { value, enumerable: true, writable: true, configurable: true }
  Object.defineProperty(target, key, property)
}

/** Whether two values are the same to a tree: exact but for the order of keys. */
export function isSame(left: unknown, right: unknown): boolean {
  if (!isContainer(left) || !isContainer(right)) return isSameScalar(left, right)
  if (Array.isArray(left) || Array.isArray(right)) {
    if (!Array.isArray(left) || !Array.isArray(right) || left.length !== right.length) return false
    return left.every((item, i) => isSame(item, right[i]))
  }
  const names = Object.keys(left)
  if (names.length !== Object.keys(right).length) return false
  return names.every((name) => Object.hasOwn(right, name) && isSame(left[name], right[name]))
}

function isSameScalar(left: unknown, right: unknown): boolean {
  if (left instanceof Date && right instanceof Date) {
    return Object.is(left.getTime(), right.getTime())
  }
  if (left instanceof Uint8Array && right instanceof Uint8Array) {
    return Buffer.compare(left, right) === 0
  }
  return Object.is(left, right)
}

/** A copy that shares nothing. */
export function copyPlain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyPlain)
  if (!isContainer(value)) return value
  const copy = {}
  for (const key of Object.keys(value)) setOwn(copy, key, copyPlain((value as never)[key]))
  return copy
}

/** Where an edit of `root` goes: the path to a container that is there. */
export function placeOf(root: Plain, edit: Edit): { path: (string | number)[]; place: Plain } {
  const path: (string | number)[] = []
  let place = root
  for (const step of edit.way) {
    const names = Object.keys(place)
    if (names.length === 0) break
    const name = names[step % names.length]!
    const next = (place as Record<string, unknown>)[name]
    if (!isContainer(next)) break
    path.push(Array.isArray(place) ? Number(name) : name)
    place = next
  }
  return { path, place }
}

/** Makes an edit to a plain value, in place, and to a tree. */
export function edited(root: Plain, tree: Tree, edit: Edit): Tree {
  const { path, place } = placeOf(root, edit)
  const value = copyPlain(edit.value)
  if (Array.isArray(place)) return editedList(place, tree, path, edit, value)
  const names = Object.keys(place)
  const known = names[edit.at % Math.max(names.length, 1)]
  if (edit.what < 4 && known !== undefined) {
    delete (place as Record<string, unknown>)[known]
    return tree.delete([...path, known])
  }
  const key = edit.what < 6 && known !== undefined ? known : edit.key
  setOwn(place, key, value)
  return tree.set([...path, key], value)
}

function editedList(
  list: unknown[],
  tree: Tree,
  path: (string | number)[],
  edit: Edit,
  value: unknown,
): Tree {
  const at = edit.at % (list.length + 1)
  switch (edit.what) {
    case 0:
      list.push(value)
      return tree.push(path, value)
    case 1:
      list.splice(0, edit.count)
      return tree.splice(path, 0, edit.count)
    case 2:
      list.splice(at, 1)
      return tree.delete([...path, at])
    case 3:
      list.splice(at, edit.count, value)
      return tree.splice(path, at, edit.count, value)
    case 4: {
      const more = Array.from({ length: edit.count * 3 }, (_, i) => i % 7)
      list.splice(at, 0, ...more)
      return tree.splice(path, at, 0, ...more)
    }
    case 5:
      list.splice(-edit.count, edit.count)
      return tree.splice(path, -edit.count, edit.count)
    default:
      list[at] = value
      return tree.set([...path, at], value)
  }
}
