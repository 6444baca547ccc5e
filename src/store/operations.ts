/**
 * Appends that carry an operation id: the same id twice is one event, also across processes and
 * crashes. The lock makes it exact: while it is held the run's index knows every operation that was
 * acknowledged, and what is still on its way is known here.
 * @see docs/format.md#operations
 */
import {
  type Body,
  decodeData,
  type EncodedData,
  operationOf,
  parseBody,
  restoreData,
} from '../core/body.js'
import { valueDigest } from '../core/canonical.js'
import { DaglogError } from '../core/errors.js'
import { FrameReader } from '../core/frame.js'
import { type Hash, sha256 } from '../core/hash.js'
import type { RunIndex } from '../fold/run-index.js'
import type { Appended } from './appender.js'
import type { EventSource } from './event-reader.js'
import type { Place } from './log-reader.js'
import type { EncodedEvent } from './new-event.js'
import type { OpenedLog } from './open-log.js'
import { resolveRef } from './values.js'

/** The frame of an operation, as it lies in the log. */
export interface OperationFrame extends Appended {
  readonly type: string
  readonly body: Body
  readonly place: Place
}

/**
 * The frame of an operation; undefined where there is none, or its body was redacted: the id went
 * with it.
 * @throws CHAIN_BROKEN where it cannot be told, since the frame is not as it was written.
 */
export async function findOperation(
  source: EventSource,
  index: RunIndex,
  op: string,
): Promise<OperationFrame | undefined> {
  for (const { segment, from } of index.operation(op)) {
    const to = source.spans.find((span) => span.segment === segment)?.to ?? from
    const line = await source.reader.lineAt(segment, from, to)
    const frame = new FrameReader()
    if (line === undefined || !frame.read(line, 0, line.length, undefined)) {
      throw unreadable(source.run, segment, from)
    }
    const bytes = line.subarray(frame.bodyFrom, frame.bodyTo)
    // The table keeps a part of the id only.
    if (frame.redacted || operationOf(bytes) !== op) continue
    const { seq, hash, type } = frame
    const place = { segment, from, to: from + line.length + 1 }
    return { seq, hash, type, body: parseBody(bytes), place }
  }
  return undefined
}

function unreadable(run: string, segment: number, byte: number): DaglogError {
  return new DaglogError(
    'CHAIN_BROKEN',
    `run ${run}, segment ${segment}, byte ${byte}: the event of an operation is not as it was written, so nobody knows whether this is the same. Try: daglog verify ${run}`,
    { log: run, segment, byte },
  )
}

/** What this must know of its run. */
export interface OperatedRun {
  readonly id: string
  /** Whether a repeat must wait until the first would survive power loss. */
  readonly durable: boolean
  readonly writer: {
    readonly held: OpenedLog | undefined
    readonly index: RunIndex
    opened(): Promise<OpenedLog>
  }
  source(): Promise<EventSource>
  /** Appends at once, where the log is held. */
  append(events: readonly EncodedEvent[]): Promise<readonly Appended[]>
}

export class Operations {
  /** By id, appends whose outcome is not known yet. */
  private readonly onTheirWay = new Map<string, Promise<unknown>>()

  constructor(private readonly run: OperatedRun) {}

  /**
   * Append as one atomic unit those events whose operation is not in the run yet; of the others,
   * the result is that of the first time.
   * @throws OPERATION_CONFLICT where an operation was another event; nothing is appended then.
   */
  async append(events: readonly EncodedEvent[]): Promise<readonly Appended[]> {
    const ops = [...new Set(events.flatMap(({ op }) => (op === undefined ? [] : [op])))]
    for (;;) {
      const before = ops.map((op) => this.onTheirWay.get(op)).find((work) => work !== undefined)
      if (before === undefined) break
      // How it went is for its own caller to hear; the log will tell what became of it.
      await before.catch(() => undefined)
    }
    const work = this.appendNew(events)
    for (const op of ops) this.onTheirWay.set(op, work)
    try {
      return await work
    } finally {
      for (const op of ops) this.onTheirWay.delete(op)
    }
  }

  private async appendNew(events: readonly EncodedEvent[]): Promise<readonly Appended[]> {
    const { run } = this
    const { writer } = run
    const firsts = firstOfEach(run.id, events)
    for (;;) {
      const log = writer.held ?? (await writer.opened())
      // Most are new; then nothing is awaited, and the order of calls is the order of frames.
      const asked = [...firsts.values()].filter(
        ({ op }) => op !== undefined && writer.index.operation(op).length > 0,
      )
      const known = asked.length === 0 ? NONE_KNOWN : await this.known(asked)
      // Somebody else may have written while we had let go.
      if (writer.held !== log) continue
      const fresh = [...firsts.values()].filter((event) => !known.has(event))
      const appended = await run.append(fresh)
      if (run.durable && known.size > 0) await log.appender.sync()
      const results = new Map([
        ...known,
        ...fresh.map((event, at) => [event, appended[at]] as const),
      ])
      return events.map((event) => results.get(firsts.get(nameOf(event))!) as Appended)
    }
  }

  /** Those events that are in the run already. */
  private async known(
    asked: readonly EncodedEvent[],
  ): Promise<ReadonlyMap<EncodedEvent, Appended>> {
    const source = await this.run.source()
    const known = new Map<EncodedEvent, Appended>()
    for (const event of asked) {
      const first = await findOperation(source, this.run.writer.index, event.op as string)
      if (first === undefined) continue
      if (!(await isSame(source, event, first))) throw conflict(this.run.id, event, first.seq)
      known.set(event, { seq: first.seq, hash: first.hash })
    }
    return known
  }
}

const NONE_KNOWN: ReadonlyMap<EncodedEvent, Appended> = new Map()

/** What an event is known by: its operation, or itself. */
function nameOf(event: EncodedEvent): unknown {
  return event.op ?? event
}

/** Events by name, without those that repeat one of them. @throws OPERATION_CONFLICT */
function firstOfEach(run: string, events: readonly EncodedEvent[]): Map<unknown, EncodedEvent> {
  const firsts = new Map<unknown, EncodedEvent>()
  for (const event of events) {
    const first = firsts.get(nameOf(event))
    if (first === undefined) firsts.set(nameOf(event), event)
    else if (first.type !== event.type || digestOf(first) !== digestOf(event))
      throw conflict(run, event, undefined)
  }
  return firsts
}

function conflict(run: string, { op, type }: EncodedEvent, seq: number | undefined): DaglogError {
  const where = seq === undefined ? 'another event of the same append' : `seq ${seq}`
  return new DaglogError(
    'OPERATION_CONFLICT',
    `run ${run}: an event of type "${type}" has the operation id of ${where}, and is not the same. Try: an id of its own, or the data of the first time`,
    { run, op, type, seq },
  )
}

/** Whether an event says what was written the first time; the order of keys makes no difference. */
async function isSame(
  source: EventSource,
  event: EncodedEvent,
  first: OperationFrame,
): Promise<boolean> {
  if (event.type !== first.type) return false
  const { refs, tags, data } = first.body
  const [only] = refs
  if (event.state !== undefined || only?.kind === 'tree') {
    return event.state !== undefined && only?.root === event.state.hash()
  }
  if (isExactlySame(event.data, first.body)) return true
  const values = new Map<string, unknown>()
  for (const ref of refs) {
    const by = { run: source.run, seq: first.seq }
    values.set(ref.pointer, await resolveRef(source.reader.backend, ref, by))
  }
  return valueDigest(restoreData({ refs, tags, data }, values)) === digestOf(event)
}

/** The same bytes: what most repeats are, found without loading a value. */
function isExactlySame({ inline, large, tags }: EncodedData, body: Body): boolean {
  return (
    JSON.stringify(body.data) === inline &&
    JSON.stringify(body.tags) === JSON.stringify(tags) &&
    body.refs.length === large.length &&
    body.refs.every((ref, at) => {
      const value = large[at]!
      const same = value.pointer === ref.pointer && 'bytes' in value && value.kind === ref.kind
      return same && sha256(value.bytes) === ref.sha256
    })
  )
}

/** A digest of the data that does not depend on the order of keys. */
function digestOf({ data, state }: EncodedEvent): Hash | undefined {
  if (state !== undefined) return state.hash()
  return valueDigest(decodeData(data).value)
}
