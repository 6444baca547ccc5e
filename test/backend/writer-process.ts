/**
 * A process that writes to a log as the store does, for tests of who may: open, look how long the
 * segments are, commit, let go.
 */

import { resolve } from 'node:path'
import type { Backend, LogName, Segment } from '../../src/backend/backend.js'
import type { Disk } from '../../src/backend/disk.js'
import { directory } from '../../src/backend/fs.js'
import { FsLayout } from '../../src/backend/fs-layout.js'
import type { ProcessTable } from '../../src/backend/process-identity.js'
import { DaglogError } from '../../src/core/errors.js'
import type { SimulatedDisk } from '../../src/testing/simulated-disk.js'
import type { Program } from './interleave.js'
import { freshSimulated } from './stores.js'

export const ROOT = resolve('/store')
export const layout = new FsLayout(ROOT)
export const LOG: LogName = { run: 'r' }

/** The store as one process has it. */
export function storeOf(disk: Disk, table: ProcessTable): Backend {
  return directory(ROOT, { disk, processes: table })
}

/** A disk with a run that nobody has written to, all durable. */
export function freshDisk(): SimulatedDisk {
  return freshSimulated().disk
}

export interface Written {
  readonly text: string
  readonly segment: number
}

/** What a writer saw and did. */
export interface WriterReport {
  readonly name: string
  /** Undefined where the log was locked. */
  readonly segment: number | undefined
  readonly opened?: 'clean' | 'taken'
  /** The segments as they were after it had become the writer. */
  readonly seen: readonly Segment[]
  readonly acknowledged: readonly Written[]
  readonly fenced: boolean
}

export function writerProgram(options: {
  readonly name: string
  readonly table: ProcessTable
  readonly force?: boolean
  readonly commits?: number
  readonly onOpened?: () => void
  readonly onAcknowledged?: (written: Written) => void
}): Program<WriterReport> {
  const { name, table, force = false, commits = 1 } = options
  return async (disk) => {
    const logs = storeOf(disk, table)
    const acknowledged: Written[] = []
    try {
      const writer = await logs.openWriter(LOG, { program: name, force })
      options.onOpened?.()
      const { segment, opened } = writer
      const seen = await logs.segments(LOG)
      let fenced = false
      for (let count = 0; count < commits && !fenced; count += 1) {
        const text = `<${name}${count}>`
        try {
          await writer.commit(Buffer.from(text), { sync: true })
          acknowledged.push({ text, segment })
          options.onAcknowledged?.({ text, segment })
        } catch (error) {
          if (!(error instanceof DaglogError && error.code === 'WRITER_FENCED')) throw error
          fenced = true
        }
      }
      await writer.release()
      return { name, segment, opened, seen, acknowledged, fenced }
    } catch (error) {
      if (!(error instanceof DaglogError && error.code === 'RUN_LOCKED')) throw error
      return { name, segment: undefined, seen: [], acknowledged, fenced: false }
    }
  }
}

export function segmentText(disk: SimulatedDisk, number: number): string {
  return disk.dump().get(layout.segment(LOG, number))?.toString() ?? ''
}

/**
 * What must hold of any two writers, whatever happened: what was acknowledged is in the log once,
 * and whoever has a later segment has seen all that was acknowledged in the earlier ones.
 * @returns What does not hold, in words.
 */
export function lies(disk: SimulatedDisk, reports: readonly WriterReport[]): string[] {
  const found: string[] = []
  for (const { name, acknowledged } of reports) {
    for (const { text, segment } of acknowledged) {
      const content = segmentText(disk, segment)
      const at = content.indexOf(text)
      if (at < 0 || content.indexOf(text, at + 1) >= 0)
        found.push(`${text} of ${name} is not once in segment ${segment}: ${content}`)
      for (const later of reports) {
        if (later.segment === undefined || later.segment <= segment) continue
        const counted = later.seen.find(({ number }) => number === segment)?.bytes ?? 0
        if (counted < at + text.length)
          found.push(
            `${text} was acknowledged, and ${later.name} counts ${counted} bytes of ${content}`,
          )
      }
    }
  }
  return found
}
