import { inspect } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DaglogError } from '../../src/core/errors.js'
import { loadTree, type Tree, treeFrom } from '../../src/value/tree.js'
import { edited, edits, isContainer, isSame, MemoryObjects, runs, values } from './tree-model.js'

// biome-ignore lint/suspicious/noExplicitAny: what a view holds is the test's business.
type Loose = any

function viewOf(tree: Tree): Loose {
  return tree.view()
}

describe('a view', () => {
  it('is the value, frozen all through', () => {
    fc.assert(
      fc.property(values, (value) => {
        const view = treeFrom(value).view()
        expect(isSame(view, value)).toBe(true)
        const work = [view]
        for (let next = work.pop(); next !== undefined; next = work.pop()) {
          if (!isContainer(next)) continue
          expect(Object.isFrozen(next)).toBe(true)
          work.push(...Object.values(next))
        }
      }),
      { numRuns: runs(200) },
    )
  })

  it('is the same object each time, also as a part', () => {
    const tree = treeFrom({ a: { b: [{}] } })
    expect(tree.view()).toBe(tree.view())
    expect(tree.get(['a', 'b', 0])).toBe(viewOf(tree).a.b[0])
  })

  it('shares with the view before it whatever the edit did not change', () => {
    fc.assert(
      fc.property(fc.nat(80), edits, fc.boolean(), (size, edit, isLoaded) => {
        // No two parts are equal, so that equal parts are the same part.
        const part = (of: string, i: number) => ({ of, i, v: [of, i, { text: of.repeat(i) }] })
        const many = (of: string) => Array.from({ length: size }, (_, i) => part(of, i))
        const wide = Object.fromEntries(many('wide').map((item) => [`k${item.i}`, item]))
        const plain = { list: many('list'), wide, one: part('one', size) }
        const objects = new MemoryObjects()
        const store = objects.store({ cacheBytesMax: 500 })
        const made = treeFrom(plain)
        const before = isLoaded ? loadTree(made.commit(store), store) : made
        const left = before.view()
        const after = edited(made.toJSON() as Loose, before, edit)
        const right = after.view()
        for (const path of pathsOf(left)) {
          const was = at(left, path)
          const is = at(right, path)
          if (isContainer(was) && isContainer(is)) expect(was === is).toBe(isSame(was, is))
        }
      }),
      { numRuns: runs(100) },
    )
  })

  it('put into a tree is taken over as it is', () => {
    const tree = treeFrom({ list: Array.from({ length: 500 }, (_, i) => ({ i })) })
    const { list } = viewOf(tree)
    const even = list.filter((item: { i: number }) => item.i % 2 === 0)
    const next = tree.set(['even'], even).set(['copy'], list)
    expect(viewOf(next).copy).toBe(list)
    expect(viewOf(next).even[7]).toBe(list[14])
    expect(
      next
        .update((draft) => {
          draft.again = list
        })
        .get(['again']),
    ).toBe(list)
  })

  it('that could not be loaded whole is made again once it can', () => {
    const objects = new MemoryObjects()
    const plain = { a: { text: 'x'.repeat(300) }, b: [1, { c: 'y'.repeat(400) }] }
    const root = treeFrom(plain).commit(objects.store())
    let isBroken = true
    const store = objects.store({
      load: (hash) => (isBroken && hash !== root ? undefined : objects.objects.get(hash)?.bytes),
    })
    const tree = loadTree(root, store)
    expect(() => tree.view()).toThrow(DaglogError)
    isBroken = false
    expect(tree.view()).toEqual(plain)
  })
})

describe('a view of a wide object', () => {
  const plain = Object.fromEntries(
    Array.from({ length: 3000 }, (_, i) => [`k${i}`, { id: i, of: { text: 'x'.repeat(i % 300) } }]),
  )
  const objects = new MemoryObjects()
  const store = objects.store()
  const tree = treeFrom({ ...plain, __proto__: null })
  const wide = treeFrom({ wide: plain }).set(['wide', '__proto__'], 'own')
  const root = wide.commit(store)
  const view = viewOf(wide).wide

  it('is like a plain object', () => {
    expect(Object.keys(view)).toHaveLength(3001)
    expect(view.k7).toEqual({ id: 7, of: { text: 'xxxxxxx' } })
    expect(view.k7).toBe(view.k7)
    expect('k7' in view && 'toString' in view && !('none' in view)).toBe(true)
    expect(Object.hasOwn(view, 'k7') && !Object.hasOwn(view, 'toString')).toBe(true)
    expect(Object.getOwnPropertyDescriptor(view, '__proto__')?.value).toBe('own')
    expect(Object.getPrototypeOf(view)).toBe(Object.prototype)
    expect(String(view)).toBe('[object Object]')
    expect(view.none).toBeUndefined()
    const copy = { ...viewOf(tree) }
    expect(copy).toEqual(plain)
    expect(isSame(JSON.parse(JSON.stringify(viewOf(tree))), plain)).toBe(true)
    expect(inspect(view, { depth: 0 })).toContain('k2999: [Object]')
  })

  it('can not be changed', () => {
    const changes = [
      () => {
        view.k7 = 1
      },
      () => {
        view.other = 1
      },
      () => delete view.k7,
      () => Object.defineProperty(view, 'x', { value: 1 }),
      () => Object.setPrototypeOf(view, null),
      () => Object.freeze(view),
    ]
    for (const change of changes) expect(change).toThrow(TypeError)
  })

  it('loads what is read, and shares it with the next', () => {
    const reader = objects.store({ cacheBytesMax: 2000 })
    const loaded = loadTree(root, reader)
    objects.loads = 0
    const first = viewOf(loaded).wide
    const seven = first.k7
    expect(objects.loads).toBeLessThan(8)
    const next = viewOf(loaded.set(['wide', 'k8'], 'new')).wide
    expect(next).not.toBe(first)
    for (let i = 100; i < 600; i++) expect(next[`k${i}`].id).toBe(i)
    expect(next.k7).toBe(seven)
    expect(next.k7).toEqual(plain.k7)
  })
})

/** The path to every container in a value. */
function pathsOf(root: unknown): (string | number)[][] {
  const paths: (string | number)[][] = []
  const work: [unknown, (string | number)[]][] = [[root, []]]
  for (let next = work.pop(); next !== undefined; next = work.pop()) {
    const [value, path] = next
    if (!isContainer(value)) continue
    paths.push(path)
    for (const key of Object.keys(value)) work.push([(value as Loose)[key], [...path, key]])
  }
  return paths
}

function at(root: unknown, path: readonly (string | number)[]): unknown {
  let value: Loose = root
  for (const step of path) {
    value = isContainer(value) && Object.hasOwn(value, step) ? (value as Loose)[step] : undefined
  }
  return value
}
