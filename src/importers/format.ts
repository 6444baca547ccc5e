/**
 * What an importer must know of a kind of transcript: how to tell it, and what its session is
 * called.
 * Reading what it means is for the reader of the same name.
 * @see docs/import.md#contributing
 */

/** The beginning of a file: enough to tell what it is. */
export interface Beginning {
  /** Absolute. */
  readonly path: string
  /** JSON values of the first lines, as far as they are JSON. */
  readonly records: readonly unknown[]
}

/** Which session a file holds. */
export interface Session {
  /** The source's own name for it. With the format it is how the run is found again. */
  readonly session: string
  /** A word or two for the run id, such as the beginning of the session's name. */
  readonly label: string
  /** When it began, in ms since 1970, where the beginning says. */
  readonly started?: number
  /** The session that this one is a sub-agent of. */
  readonly parent?: string
  /** Files that belong to it, beside it on the disk; directories with everything in them. */
  readonly beside?: readonly string[]
}

export interface TranscriptFormat {
  /** Also the key of the reader: see `fold/readers.ts`. */
  readonly key: string
  /** What run ids of this format begin with, behind the date. */
  readonly prefix: string
  /** What is not in such files although it happened; said in the report of each import. */
  readonly neverRecorded: readonly string[]
  /** Tells sessions that lie inside the file of another; left out where there are none. */
  readonly parting?: () => Parting
  /** Undefined where the file is of another format. */
  identify(beginning: Beginning): Session | undefined
}

/** Lines of a session inside the file of another. */
export interface PartLines {
  /** Which one: good for a run id. */
  readonly part: string
  readonly lines: number
  readonly bytes: Buffer
}

/** Parts one file, piece by piece, from its beginning. */
export interface Parting {
  /** What lies in some whole lines; nothing where all of it is the file's own session. */
  parts(bytes: Buffer): Iterable<PartLines>
}

/** The earliest time that a record says, in ms since 1970. */
export function timeOf(records: readonly unknown[], member = 'timestamp'): number | undefined {
  for (const record of records) {
    const said = (record as Record<string, unknown> | null)?.[member]
    const time = typeof said === 'string' ? Date.parse(said) : said
    if (typeof time === 'number' && Number.isFinite(time) && time > 0) return time
  }
  return undefined
}
