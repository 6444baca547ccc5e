/**
 * What the state tree costs: heap of retained versions, time and bytes of a commit, reading and
 * changing beside Immutable.js, Immer and spread copies, and edits of a long list.
 */
import { performance } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import * as immer from 'immer'
import * as immutable from 'immutable'
import { TreeStore, treeFrom } from '../dist/value/tree.js'
import { median, ratio, takeTurns } from './rounds.mjs'

const KEYS = 10_000
const VERSIONS = 1_000
/** Of a map whose every version costs hundreds of kilobytes. */
const VERSIONS_OF_COPIES = 20
const HEAP_ROUNDS = 5
const LIST_ITEMS = 100_000
const LIST_EDITS = 400
/** What a pack adds to each object: length, check sum, hash, kind. */
const PACK_HEADER_BYTES = 41
const MAP = `map of ${KEYS.toLocaleString('en-US')} keys`

const keyNames = Array.from({ length: KEYS }, (_, i) => `key-${i}`)
const keyOf = (i) => keyNames[i % KEYS]
/** A text of 100 bytes. */
const textOf = (i, round) => `${round}:${i}:`.padEnd(100, 'abcdefghij')
const entries = keyNames.map((key, i) => [key, textOf(i, 0)])

/**
 * The maps that are held beside each other.
 * @type {Record<string, {versions: number, make: () => any, get: (map: any, key: string) => unknown, set: (map: any, key: string, value: string) => any}>}
 */
const MAPS = {
  daglog: {
    versions: VERSIONS,
    make: () => committed(treeFrom(Object.fromEntries(entries)), new CountingStore()),
    get: (tree, key) => tree.get([key]),
    set: (tree, key, value) => tree.set([key], value),
  },
  'Immutable.js': {
    versions: VERSIONS,
    make: () => immutable.Map(entries),
    get: (map, key) => map.get(key),
    set: (map, key, value) => map.set(key, value),
  },
  Immer: {
    versions: VERSIONS_OF_COPIES,
    make: () => Object.fromEntries(entries),
    get: (map, key) => map[key],
    set: (map, key, value) =>
      immer.produce(map, (draft) => {
        draft[key] = value
      }),
  },
  spread: {
    versions: VERSIONS_OF_COPIES,
    make: () => Object.fromEntries(entries),
    get: (map, key) => map[key],
    set: (map, key, value) => ({ ...map, [key]: value }),
  },
}

/** @param {{quick: boolean}} options */
export async function state({ quick }) {
  const rounds = quick ? 5 : 15
  return [
    ...heapRows(),
    ...(await accessRows(rounds)),
    ...commitRows(rounds),
    ...(await listRows(rounds)),
  ]
}

/** What each version of a map holds in memory, all of them kept; daglog's are committed. */
function heapRows() {
  return Object.keys(MAPS).map((name) => {
    // Code and caches come first, so that they are not counted.
    heapOfVersion(name)
    const found = Array.from({ length: HEAP_ROUNDS }, () => heapOfVersion(name))
    return {
      what: `${MAP}: heap of a retained version, ${name}`,
      median: median(found),
      unit: 'B',
      ...(name === 'daglog' && { bars: { medianMax: 2_048 } }),
    }
  })
}

/** A function of its own, so that nothing of it is alive in the caller's frame at the next round. */
function heapOfVersion(name) {
  const { make, get } = MAPS[name]
  const base = make()
  const before = heapBytes()
  const kept = versionsOf(name, base)
  const bytes = (heapBytes() - before) / kept.length
  if (get(kept[0], keyOf(0)) !== textOf(0, 1)) throw new Error('a version was lost')
  return bytes
}

/** Each with one value changed since the one before. */
function versionsOf(name, base) {
  const { versions, set } = MAPS[name]
  const counted = new CountingStore()
  const kept = []
  for (let i = 0; i < versions; i += 1) {
    const map = set(kept.at(-1) ?? base, keyOf(i * 7919), textOf(i, 1))
    kept.push(name === 'daglog' ? committed(map, counted) : map)
  }
  return kept
}

async function accessRows(rounds) {
  const made = ['daglog', 'Immutable.js'].map((name) => ({ ...MAPS[name], map: MAPS[name].make() }))
  const verbs = {
    get: (kit, i) => kit.get(kit.map, keyOf(i * 31)),
    set: (kit, i) => {
      kit.map = kit.set(kit.map, keyOf(i * 31), textOf(i, 2))
    },
  }
  const rows = []
  for (const [verb, run] of Object.entries(verbs)) {
    const { ours, theirs } = await inTurns(rounds, 10_000, {
      ours: (i) => run(made[0], i),
      theirs: (i) => run(made[1], i),
    })
    rows.push({
      what: `${MAP}: ${verb}`,
      median: median(ours),
      unit: 'us',
      limit: { what: 'Immutable.js', median: median(theirs), ratio: ratio(ours, theirs) },
      bars: { ratioMax: 2 },
    })
  }
  return rows
}

/** The commit of a version in which one value of 100 bytes changed. */
function commitRows(rounds) {
  const counted = new CountingStore()
  const base = committed(treeFrom(Object.fromEntries(entries)), counted)
  counted.bytes = 0
  const times = []
  for (let round = 0; round < rounds; round += 1) {
    const changed = Array.from({ length: VERSIONS }, (_, i) =>
      base.set([keyOf(i * 31)], textOf(i, 10 + round)),
    )
    times.push(microseconds(VERSIONS, (i) => changed[i].commit(counted.store)))
  }
  const bytes = counted.bytes / (rounds * VERSIONS)
  return [
    {
      what: `${MAP}: commit of one changed value`,
      median: median(times),
      unit: 'us',
      bars: { medianMax: 25 },
    },
    {
      what: `${MAP}: bytes of such a commit, pack headers counted, not packed`,
      median: bytes,
      unit: 'B',
      bars: { medianMax: 2_500 },
    },
  ]
}

/** One edit of a long list and its commit; beside it the edit alone where Immutable.js has one. */
async function listRows(rounds) {
  const items = Array.from({ length: LIST_ITEMS }, (_, i) => ({ id: i, text: textOf(i, 0) }))
  const counted = new CountingStore()
  const base = committed(treeFrom({ list: items }), counted)
  const peer = immutable.List(items)
  const at = (i) => (i * 7919) % (LIST_ITEMS - 200)
  const edits = [
    ['append', (i) => base.push(['list'], { id: -i }), (i) => peer.push({ id: -i })],
    [
      'insert in the middle',
      (i) => base.splice(['list'], at(i), 0, { id: -i }),
      (i) => peer.splice(at(i), 0, { id: -i }),
    ],
    ['drop of a prefix', (i) => base.splice(['list'], 0, 1 + at(i)), (i) => peer.slice(1 + at(i))],
  ]
  const rows = []
  for (const [name, edit, theirs] of edits) {
    counted.reset()
    let done = 0
    const ours = (i) => {
      committed(edit(i), counted)
      done += 1
    }
    // Fewer turns of an insert: Immutable.js walks the whole list for it.
    const count = name.startsWith('insert') ? LIST_EDITS / 40 : LIST_EDITS
    const times = await inTurns(Math.min(rounds, 7), count, { ours, theirs })
    const objects = (counted.objects / done).toFixed(1)
    const bytes = Math.round(counted.bytes / done).toLocaleString('en-US')
    rows.push({
      what: `list of ${LIST_ITEMS.toLocaleString('en-US')}: ${name} and commit, ${objects} nodes, ${bytes} B`,
      median: median(times.ours),
      unit: 'us',
      limit: {
        what: 'Immutable.js, which commits nothing',
        median: median(times.theirs),
        ratio: ratio(times.ours, times.theirs),
      },
    })
  }
  return rows
}

/** Counts what is put, and keeps nothing. */
class CountingStore {
  objects = 0
  bytes = 0
  store = new TreeStore({
    load: () => undefined,
    put: ({ bytes }) => {
      this.objects += 1
      this.bytes += bytes.length + PACK_HEADER_BYTES
    },
  })

  reset() {
    this.objects = 0
    this.bytes = 0
  }
}

function committed(tree, counted) {
  tree.commit(counted.store)
  return tree
}

/**
 * The mean microseconds of a call in each round; every call of a contender gets a number of its own.
 * @param {Record<string, (i: number) => unknown>} runs
 */
function inTurns(rounds, count, runs) {
  const sides = Object.entries(runs).map(([name, run]) => {
    let calls = 0
    return [name, () => microseconds(count, () => run(calls++))]
  })
  return takeTurns(rounds, Object.fromEntries(sides))
}

function microseconds(count, run) {
  const start = performance.now()
  for (let i = 0; i < count; i += 1) run(i)
  return ((performance.now() - start) * 1000) / count
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')

function heapBytes() {
  for (let i = 0; i < 3; i += 1) collect()
  return process.memoryUsage().heapUsed
}
