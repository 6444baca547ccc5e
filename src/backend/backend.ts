/**
 * The seam: where frames and objects live. Bytes in, bytes out; a backend never parses an event.
 * What a medium can promise is data (`can`), and the contract suite picks its tests from it.
 *
 * A log is a list of segments, each an append-only stream of bytes. A directory keeps a file for
 * each; a database keeps rows and counts their bytes; an object store keeps one immutable object
 * for each commit. The rules that make one writer out of many (`openWriter`, `commit`) are the
 * backend's to keep in its medium's own way: a lock file and a higher segment, a row with an epoch,
 * a conditional put.
 * @see docs/format.md#backends
 */
import type { ColdPlace } from '../core/cold-block.js'
import type { Hash } from '../core/hash.js'
import type { ObjectKind, StoredObject } from '../core/object.js'

/** The store's own log, or the log of one run. */
export type LogName = { readonly run: string } | 'store'

export interface Abilities {
  /** Several processes may open one store at once. */
  readonly multiProcess: boolean
  /** What `commit` acknowledged survives power loss. */
  readonly durable: boolean
  /** A log can end in a half-written commit after a crash. */
  readonly tears: boolean
  /** Objects of a run are first kept apart and move to shared packs when sealed. */
  readonly seals: boolean
}

export interface Segment {
  readonly number: number
  /** Length now, in bytes. */
  readonly bytes: number
  /** Everything before this offset is known to be durable, whatever lies there. */
  readonly durable: number
}

/** Who holds a lock, in words for people and facts for machines. */
export interface Holder {
  readonly pid: number
  readonly host: string
  readonly program: string
}

export interface WriterOptions {
  readonly program: string
  /** Take over from a holder that may still be alive; safe, since the old one is fenced. */
  readonly force?: boolean
}

/**
 * The right to append to one log. At most one is acknowledged at any time.
 */
export interface LogWriter {
  readonly segment: number
  /** `clean`: the writer before let go. `taken`: it did not; this is a new, empty segment. */
  readonly opened: 'clean' | 'taken'
  /**
   * Append to the segment. With `sync` it resolves once the bytes would survive power loss and no
   * other writer has taken over; without, once they are handed to the medium. Calls must not
   * overlap.
   * @throws WRITER_FENCED, WRITE_FAILED; after either the writer is dead, and so is each later call.
   */
  commit(bytes: Uint8Array, options: { readonly sync: boolean }): Promise<void>
  /** Make durable whatever the log holds now, whoever wrote it. */
  settle(): Promise<void>
  /**
   * Cut the segment back to `bytes`, durably. Recovery only.
   * @throws WRITER_FENCED, WRITE_FAILED
   */
  cut(bytes: number): Promise<void>
  /** How much of the segment is not laid to rest yet, in bytes. */
  readonly textBytes: number
  /**
   * Lay what the segment holds to rest, in whatever form takes less room; reading gives the same
   * bytes.
   * Everything must be synced, and nothing may be committed through this writer afterwards.
   * @param start Where the segment's first frame stands.
   */
  rest(start: ColdPlace): Promise<void>
  /** Let go. The last commit should have been synced. */
  release(): Promise<void>
}

export interface Backend {
  readonly can: Abilities
  /** The place in words, for messages: a path, a URL without secrets. */
  readonly place: string

  /** `store.json`, or undefined where there is no store. */
  readManifest(): Promise<Uint8Array | undefined>
  /** Create the store with this manifest; false where there is one already. */
  createManifest(bytes: Uint8Array): Promise<boolean>

  /**
   * Ids of the runs that exist, in no order. An id that the medium cannot spell back is left out of
   * `id`.
   */
  listRuns(): Promise<readonly RunPlace[]>
  /** How the medium calls a run of this id, whether it is there or not. */
  placeOf(id: string): Promise<string>
  /** Exclusive; false where the id is taken. */
  createRun(id: string): Promise<boolean>
  /**
   * Begin a run that appears as a whole or not at all; undefined where the id is taken. For
   * imports.
   */
  draftRun(id: string): Promise<RunDraft | undefined>
  hasRun(id: string): Promise<boolean>
  /**
   * Erase a run's log and open objects. Not atomic: a crash may leave parts, which calling it again
   * erases.
   */
  removeRun(id: string): Promise<void>

  /** Segments in order of number; empty where the log has none. */
  segments(log: LogName): Promise<readonly Segment[]>
  /**
   * What the log takes on the medium, in bytes: fewer than are read of it where parts are at rest.
   */
  logBytes(log: LogName): Promise<number>
  /** Up to `length` bytes from an offset; shorter only at the end. */
  read(log: LogName, segment: number, fromByte: number, length: number): Promise<Buffer>
  /** What is wrong with how the medium keeps a log, where reading it does not show it. */
  faults(log: LogName): Promise<readonly string[]>
  /**
   * Become the log's writer. Whatever the log and the run's objects hold when this resolves is
   * durable, also what a killed writer left unsynced.
   * @throws RUN_LOCKED, STORE_LOCKED naming the holder.
   */
  openWriter(log: LogName, options: WriterOptions): Promise<LogWriter>
  /** Who holds the log now, if anyone. `alive` is undefined where that cannot be known. */
  holder(log: LogName): Promise<(Holder & { readonly alive: boolean | undefined }) | undefined>
  /** Keep bytes that recovery cut, as evidence. */
  keepTorn(log: LogName, name: string, bytes: Uint8Array): Promise<void>
  /**
   * Keep objects, durably on return; those already among this run's or in packs are not written
   * again.
   * Only the holder of the run's writer may call it. `direct` writes a pack at once, shared by all
   * runs;
   * `dense` packs it more tightly, where it is read in order rather than here and there.
   */
  putObjects(
    run: string,
    objects: readonly StoredObject[],
    options: { readonly direct: boolean; readonly dense?: boolean },
  ): Promise<void>
  /**
   * The object's bytes, verified against its name, from the run's own objects or from any pack.
   * @throws OBJECT_CORRUPT; undefined where there is none.
   */
  getObject(hash: Hash, run: string | undefined): Promise<Uint8Array | undefined>
  /** The same without waiting; left out where the medium cannot. */
  readonly getObjectNow?: (hash: Hash, run: string | undefined) => Uint8Array | undefined
  hasObject(hash: Hash, run: string | undefined): Promise<boolean>
  /**
   * Move the run's own objects into a shared pack. Only the holder of the run's writer may call it.
   */
  sealObjects(run: string): Promise<void>
  /**
   * Keep all writers of runs out, so that objects can be dropped; resolves to what lets them in
   * again.
   * Runs that were on their way are discarded: what is listed from now on is all there is.
   * @throws STORE_LOCKED naming who writes; to those that are kept out RUN_LOCKED.
   */
  exclude(program: string): Promise<() => Promise<void>>
  /**
   * Drop packed objects that are not live, as far as that is worth the work. Only while writers are
   * kept out.
   * Counts are of objects as they are packed (one that is in two packs counts twice); `deadBytes`
   * are of dead objects as they are read, `freedBytes` what the medium has got back.
   * @throws PACK_INVALID, READ_FAILED where a pack cannot be read whole; then nothing was dropped.
   */
  sweepObjects(
    isLive: (hash: Hash) => boolean,
    options: { readonly dryRun: boolean },
  ): Promise<{
    readonly live: number
    readonly dead: number
    readonly deadBytes: number
    readonly freedBytes: number
  }>
  /** Bytes that objects take: the run's own, or all packs. */
  objectBytes(run: string | undefined): Promise<number>
  /** Every object there is, with its kind; for tools. */
  listObjects(
    run: string | undefined,
  ): AsyncIterable<{ readonly hash: Hash; readonly kind: ObjectKind; readonly bytes: number }>

  /** Cached bytes, or undefined. Never truth: callers check what they get and do without. */
  readCache(key: string): Promise<Uint8Array | undefined>
  /** @throws the medium's error; callers go on without. */
  writeCache(key: string, bytes: Uint8Array): Promise<void>

  close(): Promise<void>
}

/**
 * A run on its way. Through the backend that began it, it is written like any other under its id;
 * to all others, and after a crash, it is not there until it is published.
 */
export interface RunDraft {
  /**
   * Show it, durably. Its writers must have been released. False where the id was taken meanwhile:
   * then it is discarded.
   */
  publish(): Promise<boolean>
  discard(): Promise<void>
}

export interface RunPlace {
  /** Undefined where the medium's name does not spell it (a very long id); frame 0 says it. */
  readonly id: string | undefined
  /** How the medium calls it; can be passed wherever an id is asked for. */
  readonly place: string
}
