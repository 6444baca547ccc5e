import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { diffTrees, loadTree, type Tree, type TreeChange, treeFrom } from '../../src/value/tree.js'
import {
  edited,
  edits,
  isContainer,
  isSame,
  MemoryObjects,
  runs,
  setOwn,
  values,
} from './tree-model.js'

// biome-ignore lint/suspicious/noExplicitAny: a patch goes into any value.
type Loose = any

/** Makes the changes to a plain value, each where its pointer says, as a JSON Patch is applied. */
function patched(value: unknown, changes: Iterable<TreeChange>): unknown {
  const box = { root: value }
  for (const change of changes) {
    const steps = `/root${change.pointer}`.split('/').slice(1)
    const names = steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    const last = names.pop()!
    let place: Loose = box
    for (const name of names) place = Object.getOwnPropertyDescriptor(place, name)!.value
    if ('left' in change) {
      const held = Object.getOwnPropertyDescriptor(place, last)
      expect(isSame(held?.value, change.left)).toBe(true)
    }
    const fresh = 'right' in change ? treeFrom(change.right).toJSON() : undefined
    if (Array.isArray(place)) {
      const gone = change.op === 'add' ? 0 : 1
      place.splice(Number(last), gone, ...(change.op === 'remove' ? [] : [fresh]))
    } else if (change.op === 'remove') {
      expect(Reflect.deleteProperty(place, last)).toBe(true)
    } else {
      expect(Object.hasOwn(place, last)).toBe(change.op === 'replace')
      setOwn(place, last, fresh)
    }
  }
  return box.root
}

function diff(left: Tree, right: Tree): TreeChange[] {
  return [...diffTrees(left, right)]
}

describe('a diff', () => {
  it('applied to the left gives the right, for any two values', () => {
    fc.assert(
      fc.property(values, values, (left, right) => {
        const from = treeFrom({ v: left })
        const to = treeFrom({ v: right })
        expect(isSame(patched(from.toJSON(), diff(from, to)), { v: right })).toBe(true)
        const whole = diff(treeFrom(left), treeFrom(right))
        expect(isSame(patched(treeFrom(left).toJSON(), whole), right)).toBe(true)
      }),
      { numRuns: runs(300) },
    )
  })

  it('applied to the left gives the right after edits, loaded or not, and says little', () => {
    fc.assert(
      fc.property(
        fc.nat(80),
        fc.array(edits, { maxLength: 6 }),
        fc.boolean(),
        (size, list, isLoaded) => {
          const plain: Loose = {
            list: Array.from({ length: size }, (_, i) => ({ id: i, tags: [i, i % 3] })),
            flags: Array.from({ length: size * 3 }, (_, i) => i % 4 === 0),
            wide: Object.fromEntries(Array.from({ length: size }, (_, i) => [`k${i}`, { id: i }])),
          }
          const before = treeFrom(plain)
          const after = list.reduce((tree, edit) => edited(plain, tree, edit), before)
          const objects = new MemoryObjects()
          const store = objects.store({ cacheBytesMax: 3000 })
          const load = (tree: Tree) => (isLoaded ? loadTree(tree.commit(store), store) : tree)
          const changes = diff(load(before), load(after))
          expect(isSame(patched(before.toJSON(), changes), plain)).toBe(true)
          expect(changes.length === 0).toBe(before.hash() === after.hash())
        },
      ),
      { numRuns: runs(300) },
    )
  })

  it('names what was added, removed and replaced', () => {
    const left = treeFrom({ a: 1, b: { c: [1, 2, 3], d: 'x' }, gone: null })
    const right = treeFrom({ a: 1, b: { c: [1, 9, 3, 4], d: 'y' }, 'n/w~': undefined })
    expect(diff(left, right)).toEqual([
      { op: 'remove', pointer: '/gone', left: null },
      { op: 'add', pointer: '/n~1w~0', right: undefined },
      { op: 'replace', pointer: '/b/d', left: 'x', right: 'y' },
      { op: 'replace', pointer: '/b/c/1', left: 2, right: 9 },
      { op: 'add', pointer: '/b/c/3', right: 4 },
    ])
    expect(diff(left, left)).toEqual([])
    expect(diff(treeFrom(0), treeFrom(-0))).toEqual([
      { op: 'replace', pointer: '', left: 0, right: -0 },
    ])
  })

  it('keeps lists aligned past insertions and removals far apart', () => {
    const items = Array.from({ length: 5000 }, (_, i) => ({ id: i, text: 'word '.repeat(i % 20) }))
    const left = treeFrom({ items })
    const right = left
      .splice(['items'], 4000, 2)
      .set(['items', 3000, 'text'], 'changed')
      .splice(['items'], 2000, 0, 'two', 'new')
      .splice(['items'], 0, 1)
      .push(['items'], 'last')
    expect(diff(left, right).map(({ op, pointer }) => `${op} ${pointer}`)).toEqual([
      'remove /items/0',
      'add /items/1999',
      'add /items/2000',
      'remove /items/4001',
      'remove /items/4001',
      'add /items/4999',
      'replace /items/3001/text',
    ])
  })

  it('reads what differs only', () => {
    const list = Array.from({ length: 20_000 }, (_, i) => ({ id: i, text: 'x'.repeat(300) }))
    const wide = Object.fromEntries(list.map((item) => [`k${item.id}`, item]))
    const left = treeFrom({ list, wide })
    const right = left
      .splice(['list'], 5000, 1)
      .splice(['list'], 15_000, 0, 'new')
      .set(['wide', 'k7', 'text'], 'y')
      .delete(['wide', 'k8'])
    const objects = new MemoryObjects()
    const store = objects.store()
    const roots = [left.commit(store), right.commit(store)] as const
    const reader = objects.store()
    objects.loads = 0
    const changes = diff(loadTree(roots[0], reader), loadTree(roots[1], reader))
    expect(changes).toHaveLength(4)
    expect(objects.loads).toBeLessThan(100)
  })

  it('of lists without an element in common is as long as they are', () => {
    const left = treeFrom(Array.from({ length: 3000 }, (_, i) => i))
    const right = treeFrom(Array.from({ length: 2000 }, (_, i) => -1 - i))
    const changes = diff(left, right)
    expect(changes).toHaveLength(3000)
    expect(isSame(patched(left.toJSON(), changes), right.toJSON())).toBe(true)
    expect(diff(right, treeFrom([]))).toHaveLength(2000)
  })

  it('ends where its reader stops', () => {
    const left = treeFrom({ first: 1, deep: { list: [1] } })
    for (const change of diffTrees(left, treeFrom({ first: 2, deep: { list: [2] } }))) {
      expect(change.pointer).toBe('/first')
      break
    }
    expect(isContainer(left.view())).toBe(true)
  })
})
