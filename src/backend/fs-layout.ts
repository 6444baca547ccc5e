/**
 * Where everything lies in a store's directory.
 * @see docs/format.md#store-layout
 */
import { join } from 'node:path'
import type { LogName } from './backend.js'
import { nameOfRunId } from './run-path.js'

const SEGMENT_DIGITS = 6
const PIECE = /^(store|log)\.(\d{6,})(?:\.([1-9]\d*))?\.(jsonl|z)$/

/**
 * A file of a log: which segment, the offset it begins at, and whether it is text or laid to rest.
 */
export interface PieceName {
  readonly segment: number
  readonly base: number
  readonly form: 'jsonl' | 'z'
}

/** What a lock can be of: a log, or the whole store while it is collected. */
export type LockName = LogName | 'gc'

export class FsLayout {
  /** Directories of runs that are not published yet, by id. */
  readonly drafts = new Map<string, string>()

  constructor(readonly root: string) {}

  readonly manifest = (): string => join(this.root, 'store.json')
  readonly runs = (): string => join(this.root, 'runs')
  readonly packs = (): string => join(this.root, 'packs')
  readonly locks = (): string => join(this.root, 'locks')
  readonly tmp = (): string => join(this.root, 'tmp')
  readonly cache = (): string => join(this.root, 'cache')

  run(id: string): string {
    return this.drafts.get(id) ?? join(this.runs(), nameOfRunId(id))
  }

  openObjects(id: string): string {
    return join(this.run(id), 'objects.open')
  }

  /** The directory that holds a log's segments. */
  logDir(log: LogName): string {
    return log === 'store' ? this.root : this.run(log.run)
  }

  /** Where a segment begins as text. */
  segment(log: LogName, number: number): string {
    return this.piece(log, { segment: number, base: 0, form: 'jsonl' })
  }

  piece(log: LogName, { segment, base, form }: PieceName): string {
    const digits = String(segment).padStart(SEGMENT_DIGITS, '0')
    const offset = base === 0 ? '' : `.${base}`
    return join(this.logDir(log), `${log === 'store' ? 'store' : 'log'}.${digits}${offset}.${form}`)
  }

  /** What a file's name says, or undefined for other files. */
  pieceOf(log: LogName, name: string): PieceName | undefined {
    const match = PIECE.exec(name)
    if (match === null || match[1] !== (log === 'store' ? 'store' : 'log')) return undefined
    const form = match[4] === 'z' ? 'z' : 'jsonl'
    return { segment: Number(match[2]), base: Number(match[3] ?? 0), form }
  }

  torn(log: LogName, name: string): string {
    return join(this.logDir(log), 'torn', name)
  }

  /** Locks of a log are `<stem>.<segment>.lock`; `~` is in no run's name. */
  lockStem(log: LockName): string {
    if (log === 'store' || log === 'gc') return `~${log}`
    return nameOfRunId(log.run)
  }

  lock(log: LockName, segment: number): string {
    return join(this.locks(), `${this.lockStem(log)}.${segment}.lock`)
  }

  /** The segment number of a lock's file name, or undefined where it is not one of this log's. */
  lockNumber(log: LockName, name: string): number | undefined {
    const stem = `${this.lockStem(log)}.`
    if (!name.startsWith(stem) || !name.endsWith('.lock')) return undefined
    const digits = name.slice(stem.length, -'.lock'.length)
    return /^\d+$/.test(digits) ? Number(digits) : undefined
  }
}
