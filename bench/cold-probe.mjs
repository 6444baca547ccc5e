/**
 * A fresh process that opens a store and asks it one thing; prints how long that took, the most memory
 * that the process had, and what it asked of the disk.
 * Usage: cold-probe.mjs turn|runs <store> [run]
 */
import { readFileSync } from 'node:fs'
import { nodeDisk } from '../dist/backend/node-disk.js'
import { directory, openStore } from '../dist/index.js'

const ASK = {
  /** The last turn: from its start to the end of the log. */
  async turn(store, run) {
    const view = await store.inspectRun(run)
    const start = await view.last('turn/start')
    let events = 0
    for await (const _event of view.events({ from: start.seq })) events += 1
    return events
  },
  async runs(store) {
    return (await store.runs()).length
  },
}

const asked = { lists: 0, stats: 0, opens: 0, bytesRead: 0 }

/** The real disk, and what it was asked for. */
function countingDisk() {
  const disk = nodeDisk()
  return {
    ...disk,
    list(dir) {
      asked.lists += 1
      return disk.list(dir)
    },
    sizeOf(path) {
      asked.stats += 1
      return disk.sizeOf(path)
    },
    exists(path) {
      asked.stats += 1
      return disk.exists(path)
    },
    openFile(path, mode) {
      asked.opens += 1
      return countingFile(disk.openFile(path, mode))
    },
  }
}

/** @param {import('../dist/backend/disk.js').DiskFile} file */
function countingFile(file) {
  const { read } = file
  file.read = (into, atByte) => {
    const count = read.call(file, into, atByte)
    asked.bytesRead += count
    return count
  }
  return file
}

/** Not `resourceUsage().maxRSS` where there is better: it counts what our parent had when it forked. */
function peakRssBytes() {
  try {
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))[1]) * 1024
  } catch {
    return process.resourceUsage().maxRSS * 1024
  }
}

const [what, root, run] = process.argv.slice(2)
const began = performance.now()
const store = await openStore(directory(root, { disk: countingDisk() }), { create: false })
const found = await ASK[what](store, run)
const tookMs = performance.now() - began
await store.close()
console.log(JSON.stringify({ found, tookMs, rssBytes: peakRssBytes(), ...asked }))
