/**
 * Directories of runs: how they come, appear and go. Each of the three is one rename or one name,
 * so that no crash leaves a run that is half there and looks damaged.
 */
import { join } from 'node:path'
import { DaglogError, systemCode } from '../core/errors.js'
import type { RunPlace } from './backend.js'
import type { Disk } from './disk.js'
import { createIfMissing, type FsFiles } from './fs-files.js'
import type { FsLayout } from './fs-layout.js'
import type { FsLogs } from './fs-log.js'
import type { FsSegments } from './fs-segments.js'
import { isRunName, runIdOfName } from './run-path.js'

/** Drafts in `tmp/` are named `<stem>.<anything>`. */
const DRAFT = 'run'
const REMOVED = 'removed'

export class FsRuns {
  constructor(
    private readonly disk: Disk,
    private readonly layout: FsLayout,
    private readonly files: FsFiles,
    private readonly logs: FsLogs,
    private readonly segments: FsSegments,
  ) {}

  list(): RunPlace[] {
    const places: RunPlace[] = []
    for (const name of this.disk.list(this.layout.runs())) {
      const id = runIdOfName(name)
      if (id !== undefined || isRunName(name)) places.push({ id, place: name })
    }
    return places
  }

  has(id: string): boolean {
    return this.disk.exists(this.layout.run(id))
  }

  /** False where the id is taken. */
  create(id: string): boolean {
    this.disk.makeDir(this.layout.run(id))
    // A log at rest has no text at its beginning any more.
    if (this.segments.numbers({ run: id }).length > 0) return false
    const created = createIfMissing(() => this.logs.create({ run: id }))
    if (created) this.disk.syncDir(this.layout.runs())
    return created
  }

  /**
   * Begin a run outside `runs/`; for this backend it is there, and for nobody else. False where the
   * id is taken.
   */
  draft(id: string): boolean {
    if (this.has(id)) {
      // Whoever published it may have died right then; the caller is about to count on it.
      this.disk.syncDir(this.layout.runs())
      return false
    }
    const dir = this.files.draftPath(DRAFT)
    this.disk.makeDir(dir)
    this.layout.drafts.set(id, dir)
    this.logs.removeDead({ run: id })
    this.logs.create({ run: id })
    return true
  }

  /** Show a draft to all. False where the id was taken meanwhile; then the draft is gone. */
  publish(id: string): boolean {
    const dir = this.layout.run(id)
    this.layout.drafts.delete(id)
    const path = this.layout.run(id)
    try {
      // A directory takes the place of no other that has anything in it.
      this.disk.rename(dir, path)
    } catch (error) {
      const isTaken = this.disk.exists(path)
      const isThere = this.disk.exists(dir)
      this.disk.removeTree(dir)
      if (isTaken) return false
      throw isThere ? error : discarded(id)
    }
    this.disk.syncDir(this.layout.runs())
    return true
  }

  discard(id: string): void {
    const dir = this.layout.drafts.get(id)
    this.layout.drafts.delete(id)
    if (dir !== undefined) this.disk.removeTree(dir)
  }

  /** It goes as a whole first, then by parts; what a crash left of earlier ones goes too. */
  remove(id: string): void {
    const { disk, layout } = this
    if (this.has(id)) {
      disk.rename(layout.run(id), this.files.draftPath(REMOVED))
      disk.syncDir(layout.tmp())
      disk.syncDir(layout.runs())
    }
    this.removeParts()
  }

  /**
   * No run that is on its way appears any more, whoever began it. Only while all writers are kept
   * out.
   */
  discardDrafts(): void {
    const { disk, layout } = this
    for (const name of disk.list(layout.tmp())) {
      if (!name.startsWith(`${DRAFT}.`)) continue
      try {
        disk.rename(join(layout.tmp(), name), this.files.draftPath(REMOVED))
      } catch (error) {
        // Published a moment ago: then it is a run like others.
        if (systemCode(error) !== 'ENOENT') throw error
      }
    }
    this.removeParts()
  }

  private removeParts(): void {
    const { disk, layout } = this
    for (const name of disk.list(layout.tmp())) {
      if (name.startsWith(`${REMOVED}.`)) disk.removeTree(join(layout.tmp(), name))
    }
  }
}

function discarded(id: string): DaglogError {
  return new DaglogError(
    'STORE_LOCKED',
    `run ${id} was on its way while the store was collected, and is not there; try: again`,
    { run: id },
  )
}
