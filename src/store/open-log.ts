/**
 * Opens a log for appending, whatever the last writer left: finds the end, cuts what is torn with
 * evidence, says so in the log, and refuses where bytes are damaged.
 * The same for the log of a run and the store's own.
 * @see docs/format.md#recovery
 */
import type { Backend, LogName, LogWriter } from '../backend/backend.js'
import { encodeData } from '../core/body.js'
import { DaglogError } from '../core/errors.js'
import type { EventMap } from '../core/event-map.js'
import { GENESIS, type Hash, sha256 } from '../core/hash.js'
import { Appender, type Draft } from './appender.js'
import { LogReader } from './log-reader.js'
import { type LogShape, type Span, shapeOf } from './log-shape.js'
import {
  type Damage,
  readTail,
  type StandingFrame,
  standsAt,
  type Tail,
  type Torn,
} from './log-tail.js'
import type { Head } from './log-walk.js'
import type { Notices } from './notices.js'
import type { Snapshots } from './snapshots.js'
import { hasValue } from './values.js'

/** A fold that can go on from a snapshot. */
export interface LogFold {
  /** Take over a snapshot's state; false where it is of another version. */
  restore(state: unknown): boolean
  /** Forget everything: the log is not the one that was folded. */
  reset(): void
  apply(frame: StandingFrame): void
}

export interface OpenLogOptions {
  readonly backend: Backend
  readonly log: LogName
  readonly notices: Notices
  readonly snapshots: Snapshots
  readonly snapshotKey: string
  /** A frame up to which `fold` already is; then no snapshot is read. */
  readonly known?: Head | undefined
  readonly fold: LogFold
  /** The first frame, for a log that has none yet, and what is appended with it. */
  readonly genesis: () => readonly Draft[]
  /** What the store's log says of it; nothing up to there is ever cut. */
  readonly covered:
    | { readonly seq: number; readonly hash: Hash; readonly place: Head['place'] }
    | undefined
  readonly program: string
  readonly now: () => number
  readonly force: boolean
  readonly lockWaitMs: number
}

export interface OpenedLog {
  readonly appender: Appender
  readonly writer: LogWriter
  readonly reader: LogReader
  /** The writer before did not let go: what it left open is nobody's now. */
  readonly takenOver: boolean
  readonly torn: Torn | undefined
  /** Frames that stand, in the order of the log, as they are acknowledged. */
  readonly head: () => Head
}

/** @throws RUN_LOCKED, STORE_LOCKED, CHAIN_BROKEN, WRITE_FAILED */
export async function openLog(options: OpenLogOptions): Promise<OpenedLog> {
  const writer = await waitForWriter(options)
  try {
    return await opened(options, writer)
  } catch (error) {
    await writer.release()
    throw error
  }
}

async function opened(options: OpenLogOptions, writer: LogWriter): Promise<OpenedLog> {
  const { backend, log, fold } = options
  const reader = new LogReader(backend, log)
  const shape = await shapeOf(reader)
  // The old writer may have been at it until we looked; what we are about to count must be durable.
  if (writer.opened === 'taken') await writer.settle()
  const tail = await readFolded(options, reader, shape)
  if (tail.damage !== undefined) throw chainBroken(log, tail.damage)
  const last = shape.spans.at(-1)
  const drafts = await repair(options, { writer, reader, tail, last, shape })
  const before = tail.head
  let head = before
  const appender = new Appender({
    backend,
    log,
    writer,
    at: {
      seq: head === undefined ? 0 : head.seq + 1,
      prev: head?.hash ?? GENESIS,
      offset: writer.segment === last?.segment ? (tail.torn?.offset ?? last.to) : 0,
    },
    onCommitted: (frames) => {
      for (const frame of frames) fold.apply(frame)
      head = frames.at(-1) ?? head
    },
  })
  if (drafts.length > 0) await appender.append(drafts, { sync: true })
  return {
    appender,
    writer,
    reader,
    // Also where somebody took over before us and failed: its segment is ours, and has nothing yet.
    takenOver: writer.opened === 'taken' || before?.place.segment !== writer.segment,
    torn: tail.torn,
    head: () => head as Head,
  }
}

/** Find the end, folding on the way. */
async function readFolded(
  options: OpenLogOptions,
  reader: LogReader,
  shape: LogShape,
): Promise<Tail> {
  const { covered, fold, log, backend } = options
  if (covered !== undefined && !(await standsAt(reader, shape, covered))) {
    const reason = `a head in the store's log says that frame ${covered.seq} with hash ${covered.hash} is here, and it is not`
    return {
      head: undefined,
      damage: { place: covered.place, seq: covered.seq, reason, expected: covered.hash },
    }
  }
  const anchor = await findAnchor(options, reader, shape)
  return readTail(reader, {
    shape,
    anchor,
    coveredSeq: covered?.seq ?? -1,
    hasObject: async (ref) => log === 'store' || hasValue(backend, ref, log.run),
    onFrame: (frame) => fold.apply(frame),
  })
}

/** Where the walk may begin: what the caller has folded already, or a snapshot that still fits. */
async function findAnchor(
  options: OpenLogOptions,
  reader: LogReader,
  shape: LogShape,
): Promise<Head | undefined> {
  const { known, fold, snapshots, snapshotKey } = options
  if (known !== undefined) {
    if (await standsAt(reader, shape, known)) return known
    fold.reset()
  }
  const snapshot = await snapshots.read(snapshotKey, reader, shape)
  return snapshot !== undefined && fold.restore(snapshot.state) ? snapshot.head : undefined
}

interface Found {
  readonly writer: LogWriter
  readonly reader: LogReader
  readonly shape: LogShape
  readonly tail: Tail
  readonly last: Span | undefined
}

/** Cut what is torn, keep it as evidence, and return the frames that say so. */
async function repair(options: OpenLogOptions, found: Found): Promise<Draft[]> {
  const { writer, tail, last } = found
  const drafts: Draft[] = []
  const draft = (type: string, data: unknown): void => {
    drafts.push({ type, time: options.now(), data: encodeData(data) })
  }
  await clearOwnSegment(options, found)
  if (tail.head === undefined) drafts.push(...options.genesis())
  else if (writer.segment !== tail.head.place.segment) {
    draft('writer/open', await openingData(options, found, tail.head))
  }
  if (tail.torn !== undefined && last !== undefined) {
    const { segment, offset, bytes, maybeAcknowledged } = tail.torn
    const cut = await keepEvidence(options, found.reader, { segment, offset, bytes })
    if (segment === writer.segment) await writer.cut(offset)
    const data = {
      segment,
      offset,
      bytes,
      sha256: sha256(cut),
      ...(maybeAcknowledged ? { maybeAcknowledged } : {}),
    }
    draft('log/recovered', data)
    options.notices.report(
      'recovery',
      `cut ${bytes} torn bytes at ${offset} of segment ${segment}; they are kept in torn/`,
    )
  }
  return drafts
}

/** What the first frame of a new segment names: the one before it, as long as it counts. */
async function openingData(
  options: OpenLogOptions,
  found: Found,
  head: Head,
): Promise<EventMap['writer/open']> {
  const { segment } = head.place
  const torn = found.tail.torn
  const span = found.shape.spans.find((candidate) => candidate.segment === segment) as Span
  const length = torn !== undefined && torn.segment === segment ? torn.offset : span.to
  const holder = await options.backend.holder(options.log)
  return {
    epoch: found.writer.segment,
    previous: { segment, length, head: { seq: head.seq, hash: head.hash } },
    pid: holder?.pid ?? process.pid,
    host: holder?.host ?? 'unknown',
    program: options.program,
  }
}

/** The first frame of our own segment never became whole: somebody took over, and died at once. */
async function clearOwnSegment(
  options: OpenLogOptions,
  { writer, reader, shape, last }: Found,
): Promise<void> {
  if (writer.segment === last?.segment) return
  const stray = shape.stray.find(
    ({ segment, offset }) => segment === writer.segment && offset === 0,
  )
  if (stray === undefined) return
  await keepEvidence(options, reader, stray)
  await writer.cut(0)
}

async function keepEvidence(
  options: OpenLogOptions,
  reader: LogReader,
  torn: { readonly segment: number; readonly offset: number; readonly bytes: number },
): Promise<Buffer> {
  const bytes = await reader.backend.read(reader.log, torn.segment, torn.offset, torn.bytes)
  await options.backend.keepTorn(options.log, `${torn.segment}.${torn.offset}`, bytes)
  return bytes
}

const LOCK_RETRY_MS_MIN = 2
const LOCK_RETRY_MS_MAX = 50

async function waitForWriter(options: OpenLogOptions): Promise<LogWriter> {
  const { backend, log, program, force, lockWaitMs } = options
  const giveUpAt = performance.now() + lockWaitMs
  for (let delayMs = LOCK_RETRY_MS_MIN; ; delayMs = Math.min(delayMs * 2, LOCK_RETRY_MS_MAX)) {
    try {
      return await backend.openWriter(log, { program, force })
    } catch (error) {
      const locked =
        error instanceof DaglogError &&
        (error.code === 'RUN_LOCKED' || error.code === 'STORE_LOCKED')
      if (!locked || performance.now() + delayMs > giveUpAt) throw error
      await new Promise((resolve) => setTimeout(resolve, delayMs * (0.5 + Math.random())))
    }
  }
}

export function chainBroken(log: LogName, damage: Damage): DaglogError {
  const name = log === 'store' ? "the store's log" : `run ${log.run}`
  const { place, seq, reason, expected, found } = damage
  const next =
    log === 'store'
      ? 'Runs can still be read and written; their heads are no longer noted. Try: a backup of store.*.jsonl'
      : `Everything before seq ${seq} is intact. Try: compare with a backup, or \`daglog salvage ${log.run}\``
  return new DaglogError(
    'CHAIN_BROKEN',
    `${name}, seq ${seq}, segment ${place.segment}, byte ${place.from}: ${reason}. ${next}`,
    {
      log: log === 'store' ? 'store' : log.run,
      seq,
      segment: place.segment,
      byte: place.from,
      expected,
      found,
    },
  )
}
