/**
 * The audit of a run: recomputes every hash from the bytes as they are stored, and says how far
 * that proves anything. Reads only; repairs nothing.
 * @see docs/format.md#what-verify-proves
 */
import { parseBody, type Ref, refsOf } from '../core/body.js'
import { DaglogError } from '../core/errors.js'
import type { EventMap } from '../core/event-map.js'
import type { FrameReader } from '../core/frame.js'
import { extraFields } from '../core/frame.js'
import { type Hash, sha256 } from '../core/hash.js'
import { RunIndex } from '../fold/run-index.js'
import type { RunHead, RunList } from '../fold/run-list.js'
import type { StoreContext } from './context.js'
import { LogReader, type Place } from './log-reader.js'
import { type LogShape, type Span, type Stray, shapeOf } from './log-shape.js'
import { brokenOpening, type Damage, readTail, type Tail, type Torn, unjoined } from './log-tail.js'
import {
  frameAt,
  type Head,
  nextWellFormed,
  type WalkEnd,
  type WalkStart,
  walkSpan,
} from './log-walk.js'
import { Settled } from './settled.js'
import { ValueAudit } from './value-audit.js'
import {
  frameProblem,
  type KnownHead,
  type Problem,
  type RunReport,
  tornText,
  VERIFY_PROBLEMS_MAX,
} from './verify-report.js'

/** What the log itself needs to be read and audited. */
const UNREDACTABLE = /^(?:redaction|writer\/open|log\/recovered)$/

/** Events that open and close work; other bodies are not parsed. */
const OPENING = /^(?:turn|step)\//

/** Audit one run. */
export async function verifyRun(
  context: StoreContext,
  id: string,
  options: { readonly head?: KnownHead; readonly list?: RunList } = {},
): Promise<RunReport> {
  const audit = new Audit(context, id)
  // An audit believes no cache: the heads are read from the store's log itself.
  const list = options.list ?? (await context.heads.read()).list
  const noted = list.head(id)
  await audit.walk(noted, options.head)
  audit.checkRedactions()
  audit.checkNoted(noted)
  if (options.head !== undefined) audit.checkKnown(options.head)
  await audit.checkParent((run) => list.idOf(run))
  return audit.report(noted, options.head)
}

class Audit {
  private readonly reader: LogReader
  private readonly problems: Problem[] = []
  private problemsMore = 0
  private readonly incomplete: string[] = []
  private readonly redacted = new Set<number>()
  private readonly authorised = new Set<number>()
  private readonly values: ValueAudit
  private readonly index = new RunIndex()
  private readonly recovered: EventMap['log/recovered'][] = []
  /** Hashes at the seqs that heads speak of. */
  private readonly hashes = new Map<number, Hash>()
  private wantedSeqs: readonly number[] = []
  private events = 0
  private bytes = 0
  private head: Head | undefined
  private identity: Hash | undefined
  private extra = ''
  private stray: readonly Stray[] = []
  private parent: RunReport['parent']
  private torn: Torn | undefined

  constructor(
    private readonly context: StoreContext,
    private readonly id: string,
  ) {
    this.reader = new LogReader(context.backend, { run: id })
    this.values = new ValueAudit(context, id)
  }

  async walk(noted: RunHead | undefined, known: KnownHead | undefined): Promise<void> {
    const shape = await shapeOf(this.reader)
    this.wantedSeqs = [noted?.seq ?? -1, known?.seq ?? -1]
    for (const segment of await this.reader.segments()) this.bytes += segment.bytes
    if (shape.lost !== undefined) this.problem({ kind: 'frame', seq: 0, reason: shape.lost })
    for (const [index, span] of shape.spans.entries()) {
      const end = await this.walkWhole(span, shape, noted)
      const next = shape.spans[index + 1]
      const gap = end === undefined || next === undefined ? undefined : unjoined(span, end, next)
      if (gap !== undefined) this.damage(gap)
    }
    for (const reason of await this.context.backend.faults({ run: this.id })) {
      this.problem({ kind: 'medium', seq: this.events, reason })
    }
    this.stray = await this.unexplained(shape.stray)
    if (shape.spans.length === 0 || this.head === undefined)
      this.incomplete.push('the run has no whole event')
  }

  /**
   * One span, on past bad lines, so that a report says all that is wrong and what is still good.
   * @returns Where it ends, unless that is not known.
   */
  private async walkWhole(
    span: Span,
    shape: LogShape,
    noted: RunHead | undefined,
  ): Promise<WalkEnd | undefined> {
    let start: WalkStart = { from: 0, seq: span.firstSeq, prev: span.prev }
    if (span.broken === true) {
      this.damage(brokenOpening(span))
      const first = await nextWellFormed(this.reader, span, 0)
      if (first === undefined) return undefined
      start = { from: first.place.from, seq: first.seq, prev: undefined }
    }
    for (;;) {
      const settled = new Settled(this.head, noted?.seq ?? -1)
      const end = await walkSpan(this.reader, span, start, (frame, bytes, place) => {
        settled.take(frame, place)
        return this.visit(frame, bytes, place, settled)
      })
      const last = span === shape.spans.at(-1)
      const tail = last ? await this.tailFrom(shape, settled.head, noted) : undefined
      await this.checkPending(settled, tail)
      if (tail?.torn !== undefined) this.leaveTorn(tail, tail.torn)
      if (end.bad === undefined) return end
      if (tail?.torn !== undefined) return undefined
      const next = await nextWellFormed(this.reader, span, end.bad.from + 1)
      this.problem(frameProblem(end.bad, tail?.damage, next?.place))
      if (next === undefined) return undefined
      start = { from: next.place.from, seq: next.seq, prev: undefined }
    }
  }

  /** Frames that recovery would cut are no part of the run. */
  private leaveTorn({ head }: Tail, torn: Torn): void {
    this.torn = torn
    const standing = head?.seq ?? -1
    if (this.head === undefined || this.head.seq <= standing) return
    this.events -= this.head.seq - standing
    this.head = head
  }

  private damage({ seq, place, reason, expected, found }: Damage): void {
    this.problem({
      kind: 'frame',
      seq,
      segment: place.segment,
      byte: place.from,
      reason,
      ...(expected === undefined ? {} : { expected }),
      ...(found === undefined ? {} : { found }),
    })
  }

  /** The rule of recovery, applied to what is not settled. */
  private tailFrom(
    shape: LogShape,
    anchor: Head | undefined,
    noted: RunHead | undefined,
  ): Promise<Tail> {
    const { spans, stray } = shape
    return readTail(this.reader, {
      shape: { spans, stray },
      anchor,
      coveredSeq: noted?.seq ?? -1,
      hasObject: (ref) => this.context.backend.hasObject(ref.root, this.id),
      onFrame: () => {},
    })
  }

  private visit(
    frame: FrameReader,
    bytes: Buffer,
    place: Place,
    settled: Settled,
  ): void | Promise<void> {
    const { seq, hash } = frame
    this.events += 1
    this.head = { seq, hash, place }
    if (seq === 0) {
      this.identity = hash
      this.extra = frame.extra
    }
    if (this.wantedSeqs.includes(seq)) this.hashes.set(seq, hash)
    const body = bytes.subarray(frame.bodyFrom, frame.bodyTo)
    if (frame.redacted) this.takeRedacted(frame)
    try {
      const refs = this.takeBody(frame, body, place)
      return refs.length === 0 ? undefined : this.checkRefs(refs, seq, settled)
    } catch (error) {
      // The chain may be whole and a body still make no sense: another program may have written it.
      if (!(error instanceof DaglogError)) throw error
      const { segment, from } = place
      this.problem({ kind: 'frame', seq, segment, byte: from, reason: error.message })
      return undefined
    }
  }

  private takeRedacted({ seq, type }: FrameReader): void {
    this.redacted.add(seq)
    if (!UNREDACTABLE.test(type)) return
    this.problem({ kind: 'redaction', seq, reason: `the body of ${type} must not be redacted` })
  }

  private takeBody(frame: FrameReader, body: Buffer, place: Place): readonly Ref[] {
    const { seq, time, type, redacted, extra } = frame
    if (OPENING.test(type) && !redacted) parseBody(body) // Strictly; a fold gets around what makes no sense.
    if (OPENING.test(type)) this.index.apply({ seq, time, type, redacted, extra, body, place })
    if (redacted) return []
    if (type === 'redaction')
      this.authorised.add((parseBody(body).data as { seq?: number } | null)?.seq ?? -1)
    if (type === 'log/recovered')
      this.recovered.push(parseBody(body).data as EventMap['log/recovered'])
    return refsOf(body)
  }

  private async checkRefs(refs: readonly Ref[], seq: number, settled: Settled): Promise<void> {
    for (const error of await this.values.check(refs, seq)) settled.broken.push({ seq, error })
  }

  /**
   * A missing object is damage under a frame that was durable, and a torn end under one that was
   * not.
   */
  private async checkPending(settled: Settled, tail: Tail | undefined): Promise<void> {
    const standsTo = tail?.torn === undefined ? Number.POSITIVE_INFINITY : (tail.head?.seq ?? -1)
    for (const { seq, error } of settled.broken) {
      if (seq > standsTo) continue
      this.problem({
        kind: 'object',
        seq,
        reason: error.message,
        expected: String(error.data.object),
      })
    }
  }

  /**
   * Bytes after a segment's counted end: those that a later `log/recovered` names are evidence, not
   * stray.
   */
  private async unexplained(stray: readonly Stray[]): Promise<readonly Stray[]> {
    const left: Stray[] = []
    for (const { segment, offset, bytes } of stray) {
      const known = this.recovered.find(
        (event) => event.segment === segment && event.offset === offset,
      )
      const length = known === undefined ? 0 : Math.min(known.bytes, bytes)
      const evidence = await this.context.backend.read({ run: this.id }, segment, offset, length)
      const explained = known !== undefined && sha256(evidence) === known.sha256 ? length : 0
      if (explained < bytes)
        left.push({ segment, offset: offset + explained, bytes: bytes - explained })
    }
    return left
  }

  checkRedactions(): void {
    for (const seq of this.redacted) {
      if (this.authorised.has(seq)) continue
      this.problem({
        kind: 'redaction',
        seq,
        reason: 'the body is gone, and no redaction event names it',
      })
    }
    for (const seq of this.authorised) {
      if (!this.redacted.has(seq) && seq <= (this.head?.seq ?? -1)) {
        this.incomplete.push(`a redaction event names seq ${seq}, whose body is still there`)
      }
    }
  }

  /** What the store's log says of this run. */
  checkNoted(noted: RunHead | undefined): void {
    if (noted === undefined) return
    if (this.identity !== undefined && noted.run !== this.identity) {
      const reason = `this is another run under the same id: the store's log knows ${noted.run}`
      this.problem({ kind: 'identity', seq: 0, reason, expected: noted.run, found: this.identity })
      return
    }
    this.checkHead({ seq: noted.seq, hash: noted.hash }, "the store's log")
  }

  /** A head that was kept elsewhere. */
  checkKnown(known: KnownHead): void {
    this.checkHead(known, 'the head given')
  }

  private checkHead(head: KnownHead, who: string): void {
    const found = this.hashes.get(head.seq)
    if (found === head.hash) return
    const last = this.head?.seq ?? -1
    const reason =
      head.seq > last
        ? `the log ends at seq ${last}, and ${who} says that it reached seq ${head.seq}: it was cut`
        : `seq ${head.seq} is not what ${who} says: the log was rewritten`
    this.problem({
      kind: 'head',
      seq: head.seq,
      reason,
      expected: head.hash,
      ...(found === undefined ? {} : { found }),
    })
  }

  /** Where a run begins in another, that one must still be what it was. */
  async checkParent(idOf: (run: string) => string | undefined): Promise<void> {
    const link = extraFields(this.extra).parent as
      | { run: Hash; seq: number; hash: Hash; kind: string }
      | undefined
    if (link === undefined) return
    const id = idOf(link.run)
    this.parent = {
      run: link.run,
      seq: link.seq,
      ...(id === undefined ? {} : { id }),
      checked: false,
    }
    if (id === undefined) {
      if (link.kind === 'fork') this.incomplete.push(`its parent ${link.run} is not in this store`)
      return
    }
    const parent = new LogReader(this.context.backend, { run: id })
    const found = (await frameAt(parent, (await shapeOf(parent)).spans, link.seq))?.hash
    this.parent = { ...this.parent, checked: found === link.hash }
    if (found === link.hash) return
    const reason = `parent run ${id} has another frame at seq ${link.seq} than the one this run began at`
    this.problem({
      kind: 'parent',
      seq: 0,
      reason,
      expected: link.hash,
      ...(found === undefined ? {} : { found }),
    })
  }

  private problem(problem: Problem): void {
    if (this.problems.length < VERIFY_PROBLEMS_MAX) this.problems.push(problem)
    else this.problemsMore += 1
  }

  report(noted: RunHead | undefined, known: KnownHead | undefined): RunReport {
    const incomplete = [...this.incomplete, ...this.openWork(), ...tornText(this.torn)]
    const ok = this.problems.length === 0
    const level =
      !ok || this.head === undefined
        ? 'none'
        : known !== undefined
          ? 'anchored'
          : noted !== undefined
            ? 'head-log'
            : 'self-consistent'
    return {
      run: this.id,
      ok,
      level,
      events: this.events,
      objects: this.values.count,
      bytes: this.bytes,
      head: this.head === undefined ? undefined : { seq: this.head.seq, hash: this.head.hash },
      coveredSeq: known?.seq ?? noted?.seq ?? -1,
      problems: this.problems,
      problemsMore: this.problemsMore,
      incomplete,
      redacted: [...this.redacted],
      stray: this.stray,
      ...(this.parent === undefined ? {} : { parent: this.parent }),
    }
  }

  private openWork(): string[] {
    const { turn, steps } = this.index.open()
    const open: string[] = []
    if (turn !== undefined) open.push(`turn ${turn} is open`)
    if (steps.length > 0)
      open.push(
        `${steps.length === 1 ? 'step' : 'steps'} ${steps.slice(0, 5).join(', ')}${steps.length > 5 ? ', ...' : ''} open`,
      )
    return open
  }
}
