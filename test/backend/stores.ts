/**
 * Empty stores on real and simulated disks, and small ways to look into them.
 */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { Disk } from '../../src/backend/disk.js'
import { FsLayout } from '../../src/backend/fs-layout.js'
import { nodeDisk } from '../../src/backend/node-disk.js'
import { SimulatedDisk, type SimulatedDiskOptions } from '../../src/testing/simulated-disk.js'

export interface TestStore<D extends Disk = Disk> {
  readonly disk: D
  readonly root: string
}

let tempDir: string | undefined
let count = 0

/** A new directory that `cleanUp` removes. */
export function tempRoot(): string {
  tempDir ??= fs.mkdtempSync(path.join(os.tmpdir(), 'daglog-test-'))
  count += 1
  return path.join(tempDir, String(count))
}

export function cleanUp(): void {
  if (tempDir !== undefined) fs.rmSync(tempDir, { recursive: true, force: true })
  tempDir = undefined
}

/** The directories of a store, and runs with an empty segment 0, all durable. */
export function layOut(disk: Disk, root: string, runs: readonly string[] = ['r']): void {
  const layout = new FsLayout(root)
  for (const dir of [layout.locks(), layout.tmp(), layout.packs(), layout.cache(), layout.runs()])
    disk.makeDir(dir)
  disk.openFile(layout.segment('store', 0), 'create').close()
  for (const run of runs) {
    disk.makeDir(layout.run(run))
    disk.openFile(layout.segment({ run }, 0), 'create').close()
    disk.syncDir(layout.run(run))
  }
  for (const dir of [layout.runs(), root, path.dirname(root)]) disk.syncDir(dir)
}

export function freshNode(): TestStore {
  const root = tempRoot()
  const disk = nodeDisk()
  layOut(disk, root)
  return { disk, root }
}

export function freshSimulated(options: SimulatedDiskOptions = {}): TestStore<SimulatedDisk> {
  const disk = new SimulatedDisk({ syncGate: () => Promise.resolve(), ...options })
  const root = path.resolve('/store')
  layOut(disk, root)
  return { disk, root }
}

export function fileText(disk: Disk, file: string): string {
  const open = disk.openFile(file, 'read')
  try {
    const bytes = Buffer.alloc(open.size())
    open.read(bytes, 0)
    return bytes.toString()
  } finally {
    open.close()
  }
}

export function writeFile(disk: Disk, file: string, text: string): void {
  const open = disk.openFile(file, 'create')
  open.append(Buffer.from(text))
  open.syncNow()
  open.close()
}
