/**
 * Keeping all writers of runs out, so that objects can be dropped.
 * A writer takes its run's lock and then looks for ours; we take ours and then look for theirs: one
 * of us always sees the other. As with runs, the lock of a dead holder is not stolen: the next
 * number is taken.
 * @see docs/decisions/0002-locks-are-never-stolen.md
 */
import { join } from 'node:path'
import { DaglogError } from '../core/errors.js'
import type { Disk } from './disk.js'
import type { FsLayout } from './fs-layout.js'
import { type FsLocks, factsOf, type HeldLock, named } from './fs-locks.js'

const GC = 'gc'

export class FsExclusion {
  constructor(
    private readonly disk: Disk,
    private readonly layout: FsLayout,
    private readonly locks: FsLocks,
  ) {}

  /**
   * Keep writers out from now on; returns what lets them in again.
   * @throws STORE_LOCKED naming who writes, or who keeps them out already.
   */
  begin(program: string): () => void {
    const before = this.locks.live(GC)
    if (before !== undefined) throw this.excluded('STORE_LOCKED', before)
    const number = Math.max(-1, ...this.locks.numbers(GC)) + 1
    const token = this.locks.acquire(GC, number, program)
    if (token === undefined) throw this.excluded('STORE_LOCKED', this.locks.live(GC))
    const end = (): void => this.locks.release(GC, number, token)
    try {
      const other = this.locks.live(GC, number)
      if (other !== undefined) throw this.excluded('STORE_LOCKED', other)
      this.locks.removeBelow(GC, number)
      const held = this.locks.liveOfRuns()
      if (held !== undefined) throw inUse(held)
      // What a dead process removed counts as gone, so no power loss may bring it back.
      this.disk.syncDir(this.layout.runs())
    } catch (error) {
      end()
      throw error
    }
    return end
  }

  /** To be called by whoever has just taken a run's lock. @throws RUN_LOCKED */
  check(): void {
    const held = this.locks.live(GC)
    if (held !== undefined) throw this.excluded('RUN_LOCKED', held)
  }

  private excluded(code: 'RUN_LOCKED' | 'STORE_LOCKED', held: HeldLock | undefined): DaglogError {
    const who = held === undefined ? 'another process' : named(held)
    const files = join(this.layout.locks(), `${this.layout.lockStem(GC)}.*.lock`)
    const advice =
      held?.liveness === 'unknown'
        ? `it cannot be asked whether it lives (another machine or container); if you know it is gone, try: remove ${files}`
        : 'try: again when it is done'
    return new DaglogError(
      code,
      `the store is being collected by ${who}, and no run can be written meanwhile; ${advice}`,
      held === undefined ? {} : factsOf(held),
    )
  }
}

function inUse(held: HeldLock & { readonly run: string }): DaglogError {
  const { run } = held
  const advice =
    held.liveness === 'alive'
      ? 'try: again when it is closed'
      : 'it cannot be asked whether it lives (another machine or container); if you know it is gone, try: open the run by force, and close it'
  const what = `run ${run} is open in ${named(held)}; ${advice}`
  return new DaglogError('STORE_LOCKED', what, { run, ...factsOf(held) })
}
