/**
 * What the state tree costs: time of reading and changing, heap of retained versions, time and
 * bytes of a commit, nodes that an edit of a long list writes. Immutable.js and Immer beside it, if
 * there.
 */
import { performance } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type Tree, TreeStore, treeFrom } from '../src/value/tree.js'

const KEYS = 10_000
const VERSIONS = 1_000
const LIST_ITEMS = 100_000
const EDITS = 2_000
/** What a pack adds to each object: length, check sum, hash, kind. */
const PACK_HEADER_BYTES = 41

type Row = Record<string, string>

/** Prints the table. */
export async function benchState(): Promise<void> {
  const rows = [benchMap('daglog', treeMap())]
  const immutable = await peer<ImmutableModule>('immutable')
  if (immutable !== undefined) rows.push(benchMap('immutable', immutableMap(immutable)))
  const immer = await peer<ImmerModule>('immer')
  if (immer !== undefined) rows.push(benchMap('immer', immerMap(immer)))
  rows.push(benchMap('spread', spreadMap()))
  print(`Object of ${KEYS} keys, values of 100 bytes, ${VERSIONS} retained versions`, rows)
  print('Commit of one changed key', [benchCommit(KEYS)])
  print(`List of ${LIST_ITEMS} objects, one edit and one commit each`, benchLists(immutable))
}

type Entries = readonly (readonly [string, string])[]

/** A map under test. */
interface MapKit<M> {
  make(entries: Entries): M
  get(map: M, key: string): unknown
  set(map: M, key: string, value: string): M
  /** How many versions; fewer where one costs hundreds of kilobytes. */
  readonly versions: number
}

function benchMap<M>(name: string, kit: MapKit<M>): Row {
  const entries = entriesOf(KEYS)
  // Code and caches come first, so that they are not counted.
  warmUp(kit, entries)
  const heapBefore = heapBytes()
  const base = kit.make(entries)
  const heapBase = heapBytes()
  const kept: M[] = []
  let map = base
  for (let i = 0; i < kit.versions; i++) {
    map = kit.set(map, keyOf((i * 7919) % KEYS), textOf(i, 1))
    kept.push(map)
  }
  const heapKept = heapBytes()
  if (kit.get(kept[0]!, keyOf(0)) === undefined) throw new Error('a version was lost')
  const get = microseconds(100 * kit.versions, (i) => kit.get(map, keyOf((i * 31) % KEYS)))
  let next = map
  const set = microseconds(20 * kit.versions, (i) => {
    next = kit.set(next, keyOf((i * 31) % KEYS), textOf(i, 2))
  })
  return {
    library: name,
    'get us': get.toFixed(3),
    'set us': set.toFixed(2),
    'base MB': ((heapBase - heapBefore) / 1e6).toFixed(2),
    'heap B/version': ((heapKept - heapBase) / kept.length).toFixed(0),
  }
}

/** A function of its own, so that nothing of it is alive in the caller's frame. */
function warmUp<M>(kit: MapKit<M>, entries: Entries): void {
  let map = kit.make(entries)
  for (let i = 0; i < kit.versions; i++) map = kit.set(map, keyOf(i), textOf(i, 9))
}

function treeMap(): MapKit<Tree> {
  return {
    versions: VERSIONS,
    make: (entries) => {
      const tree = treeFrom(Object.fromEntries(entries))
      tree.hash()
      return tree
    },
    get: (tree, key) => tree.get([key]),
    set: (tree, key, value) => tree.set([key], value),
  }
}

interface ImmutableMap {
  get(key: string): unknown
  set(key: string, value: unknown): ImmutableMap
}
interface ImmutableList {
  size: number
  push(value: unknown): ImmutableList
  splice(start: number, count: number, ...values: unknown[]): ImmutableList
  slice(start: number): ImmutableList
}
interface ImmutableModule {
  Map(entries: Iterable<readonly [string, unknown]>): ImmutableMap
  List(values: Iterable<unknown>): ImmutableList
}

function immutableMap(immutable: ImmutableModule): MapKit<ImmutableMap> {
  return {
    versions: VERSIONS,
    make: (entries) => immutable.Map(entries),
    get: (map, key) => map.get(key),
    set: (map, key, value) => map.set(key, value),
  }
}

interface ImmerModule {
  produce<T>(base: T, change: (draft: T) => void): T
}
type PlainMap = Record<string, unknown>

function immerMap(immer: ImmerModule): MapKit<PlainMap> {
  return {
    versions: 20,
    make: (entries) => Object.fromEntries(entries),
    get: (map, key) => map[key],
    set: (map, key, value) =>
      immer.produce(map, (draft) => {
        draft[key] = value
      }),
  }
}

function spreadMap(): MapKit<PlainMap> {
  return {
    versions: 20,
    make: (entries) => Object.fromEntries(entries),
    get: (map, key) => map[key],
    set: (map, key, value) => ({ ...map, [key]: value }),
  }
}

function benchCommit(keys: number): Row {
  const counted = new CountingStore()
  const base = treeFrom(Object.fromEntries(entriesOf(keys)))
  base.commit(counted.store)
  commitVersions(base, counted, 5)
  const heapBase = heapBytes()
  const kept = commitVersions(base, counted, 6)
  const heap = (heapBytes() - heapBase) / kept.length
  const last = kept.at(-1)!
  const change = (_: unknown, i: number) => last.set([keyOf((i * 31) % keys)], textOf(i, 4))
  const changed = Array.from({ length: 5 * VERSIONS }, change)
  counted.reset()
  const commit = microseconds(changed.length, (i) => changed[i]!.commit(counted.store))
  return {
    'commit us': commit.toFixed(1),
    objects: (counted.objects / changed.length).toFixed(2),
    'bytes with headers': (counted.bytes / changed.length).toFixed(0),
    'heap B/version': heap.toFixed(0),
  }
}

/** Each version with one key changed since the one before, and committed. */
function commitVersions(base: Tree, counted: CountingStore, round: number): Tree[] {
  const kept: Tree[] = []
  for (let i = 0; i < VERSIONS; i++) {
    const tree = (kept.at(-1) ?? base).set([keyOf((i * 7919) % KEYS)], textOf(i, round))
    tree.commit(counted.store)
    kept.push(tree)
  }
  return kept
}

function benchLists(immutable: ImmutableModule | undefined): Row[] {
  const items = Array.from({ length: LIST_ITEMS }, (_, i) => ({ id: i, text: textOf(i, 0) }))
  const counted = new CountingStore()
  const base = treeFrom({ list: items })
  base.commit(counted.store)
  const peer = immutable?.List(items)
  const at = (i: number) => (i * 7919) % (LIST_ITEMS - 200)
  const edits: [string, (i: number) => Tree, ((i: number) => unknown)?][] = [
    ['append', (i) => base.push(['list'], { id: -i }), (i) => peer?.push({ id: -i })],
    ['set', (i) => base.set(['list', at(i), 'id'], -i)],
    ['middle insert', (i) => base.splice(['list'], at(i), 0, { id: -i })],
    ['middle delete', (i) => base.delete(['list', at(i)])],
    ['prefix drop', (i) => base.splice(['list'], 0, 1 + at(i)), (i) => peer?.slice(1 + at(i))],
  ]
  return edits.map(([name, edit, peerEdit]) => {
    const trees: Tree[] = []
    const time = microseconds(EDITS, (i) => trees.push(edit(i)))
    counted.reset()
    const commit = microseconds(EDITS, (i) => trees[i]!.commit(counted.store))
    const other = peerEdit && immutable ? microseconds(EDITS, peerEdit).toFixed(2) : ''
    return {
      edit: name,
      'edit us': time.toFixed(2),
      'commit us': commit.toFixed(1),
      objects: (counted.objects / EDITS).toFixed(2),
      bytes: (counted.bytes / EDITS).toFixed(0),
      'immutable us': other,
    }
  })
}

/** Counts what is put, and keeps nothing. */
class CountingStore {
  objects = 0
  bytes = 0
  readonly store = new TreeStore({
    load: () => undefined,
    put: ({ bytes }) => {
      this.objects += 1
      this.bytes += bytes.length + PACK_HEADER_BYTES
    },
  })

  reset(): void {
    this.objects = 0
    this.bytes = 0
  }
}

function keyOf(i: number): string {
  return keyNames[i]!
}
const keyNames = Array.from({ length: KEYS }, (_, i) => `key-${i}`)

/** A text of 100 bytes. */
function textOf(i: number, round: number): string {
  return `${round}:${i}:`.padEnd(100, 'abcdefghij')
}

function entriesOf(count: number): [string, string][] {
  return Array.from({ length: count }, (_, i) => [keyOf(i), textOf(i, 0)])
}

/** The mean of one call in the fastest of five rounds: others use the machine too. */
function microseconds(count: number, run: (i: number) => unknown): number {
  const rounds = 5
  const perRound = Math.floor(count / rounds)
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round < rounds; round++) {
    const start = performance.now()
    for (let i = 0; i < perRound; i++) run(round * perRound + i)
    best = Math.min(best, ((performance.now() - start) * 1000) / perRound)
  }
  return best
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

function heapBytes(): number {
  for (let i = 0; i < 3; i++) collect()
  return process.memoryUsage().heapUsed
}

/** A development dependency that may not be there. */
async function peer<T>(name: string): Promise<T | undefined> {
  try {
    return (await import(name)) as T
  } catch {
    console.log(`${name} is not installed: skipped`)
    return undefined
  }
}

function print(title: string, rows: readonly Row[]): void {
  const columns = Object.keys(rows[0] ?? {})
  const width = (name: string) =>
    Math.max(name.length, ...rows.map((row) => (row[name] ?? '').length))
  const line = (cells: Row) =>
    columns.map((name) => (cells[name] ?? '').padStart(width(name))).join('  ')
  console.log(`\n${title}`)
  console.log(line(Object.fromEntries(columns.map((name) => [name, name]))))
  for (const row of rows) console.log(line(row))
}
