/**
 * The audit of a run: recomputes every hash from the bytes as they are stored, and says how far that
 * proves anything. Reads only; repairs nothing.
 * @see docs/format.md#what-verify-proves
 */
import { parseBody, type Ref, refsOf } from '../core/body.js'
import { DaglogError } from '../core/errors.js'
import type { EventMap } from '../core/event-map.js'
import type { FrameReader } from '../core/frame.js'
import { extraFields } from '../core/frame.js'
import { type Hash, sha256 } from '../core/hash.js'
import { RunIndex } from '../fold/run-index.js'
import type { RunHead } from '../fold/run-list.js'
import type { StoreContext } from './context.js'
import { LogReader, type LogShape, type Place, type Span, type Stray } from './log-reader.js'
import { type Damage, FAULTS, readTail, type Tail, type Torn } from './log-tail.js'
import {
  type BadLine,
  frameAt,
  type Head,
  nextWellFormed,
  type WalkStart,
  walkSpan,
} from './log-walk.js'
import { loadValue, missing, valueObjects } from './values.js'
import {
  type KnownHead,
  type Problem,
  type RunReport,
  VERIFY_PROBLEMS_MAX,
} from './verify-report.js'

/** Events that open and close work; other bodies are not parsed. */
const OPENING = /^(?:turn|step)\//

/** Audit one run. */
export async function verifyRun(
  context: StoreContext,
  id: string,
  options: { readonly head?: KnownHead } = {},
): Promise<RunReport> {
  const audit = new Audit(context, id)
  const list = await context.heads.refresh()
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
  private readonly checkedRoots = new Set<string>()
  private readonly checkedNodes = new Set<Hash>()
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
  }

  async walk(noted: RunHead | undefined, known: KnownHead | undefined): Promise<void> {
    const shape = await this.reader.shape()
    this.wantedSeqs = [noted?.seq ?? -1, known?.seq ?? -1]
    for (const segment of await this.reader.segments()) this.bytes += segment.bytes
    for (const span of shape.spans) await this.walkWhole(span, shape, noted)
    if (shape.short !== undefined) {
      const { segment, found, expected } = shape.short
      const reason = `segment ${segment} was cut: its successor counts ${expected} bytes`
      this.problem({ kind: 'frame', seq: this.events, segment, byte: found, reason })
    }
    for (const reason of await this.context.backend.faults({ run: this.id })) {
      this.problem({ kind: 'medium', seq: this.events, reason })
    }
    this.stray = await this.unexplained(shape.stray)
    if (shape.spans.length === 0 || this.head === undefined)
      this.incomplete.push('the run has no whole event')
  }

  /** One span, on past bad lines, so that a report says all that is wrong and what is still good. */
  private async walkWhole(span: Span, shape: LogShape, noted: RunHead | undefined): Promise<void> {
    let start: WalkStart = { from: 0, seq: span.firstSeq, prev: span.prev }
    const last = span === shape.spans.at(-1)
    for (;;) {
      const settled = new Settled(this.head, noted?.seq ?? -1)
      const end = await walkSpan(this.reader, span, start, (frame, bytes, place) => {
        settled.take(frame, place)
        return this.visit(frame, bytes, place, settled)
      })
      const tail = last ? await this.tailFrom(shape, settled.head, noted) : undefined
      await this.checkPending(settled, tail)
      if (end.bad === undefined || tail?.torn !== undefined) {
        this.torn = tail?.torn
        return
      }
      const next = await nextWellFormed(this.reader, span, end.bad.from + 1)
      this.problem(frameProblem(end.bad, tail?.damage, next?.place))
      if (next === undefined) return
      start = { from: next.place.from, seq: next.seq, prev: undefined }
    }
  }

  /** The rule of recovery, applied to what is not settled. */
  private tailFrom(
    shape: LogShape,
    anchor: Head | undefined,
    noted: RunHead | undefined,
  ): Promise<Tail> {
    return readTail(this.reader, {
      shape,
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
    if (frame.redacted) this.redacted.add(seq)
    else if (frame.type === 'redaction')
      this.authorised.add((parseBody(body).data as { seq: number }).seq)
    const { time, type, redacted, extra } = frame
    if (redacted) return
    if (OPENING.test(type)) this.index.apply({ seq, time, type, redacted, extra, body, place })
    if (type === 'log/recovered')
      this.recovered.push(parseBody(body).data as EventMap['log/recovered'])
    const refs = refsOf(body)
    if (refs.length === 0) return
    return this.checkRefs(refs, seq, settled)
  }

  private async checkRefs(refs: readonly Ref[], seq: number, settled: Settled): Promise<void> {
    for (const ref of refs) {
      if (this.checkedRoots.has(ref.root)) continue
      try {
        await this.checkValue(ref, seq)
        // A tree's root is one of its nodes.
        if (ref.kind !== 'tree') this.checkedRoots.add(ref.root)
      } catch (error) {
        if (!(error instanceof DaglogError)) throw error
        settled.broken.push({ seq, error })
      }
    }
  }

  /** A state shares most of its nodes with the one before: each is read once. */
  private async checkValue(ref: Ref, seq: number): Promise<void> {
    const { backend } = this.context
    const by = { run: this.id, seq }
    if (ref.kind !== 'tree') {
      await loadValue(backend, ref, by)
      return
    }
    for await (const { hash, object } of valueObjects(backend, ref, this.id, this.checkedNodes)) {
      if (object !== undefined) continue
      // Whoever else refers to it is to be told of, too.
      this.checkedNodes.delete(hash)
      throw missing(hash, ref, by)
    }
  }

  /** A missing object is damage under a frame that was durable, and a torn end under one that was not. */
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

  /** Bytes after a segment's counted end: those that a later `log/recovered` names are evidence, not stray. */
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
    const found = (await frameAt(parent, (await parent.shape()).spans, link.seq))?.hash
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
      objects: this.checkedRoots.size + this.checkedNodes.size,
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

/** How far the frames of a walk are settled: durable, and their atomic appends whole. */
class Settled {
  head: Head | undefined
  readonly broken: { seq: number; error: DaglogError }[] = []
  private durableSeq: number
  private candidate: Head | undefined

  constructor(before: Head | undefined, coveredSeq: number) {
    this.head = before
    this.durableSeq = coveredSeq
  }

  take(frame: FrameReader, place: Place): void {
    this.durableSeq = Math.max(this.durableSeq, frame.seq - frame.lag - 1)
    if (this.candidate !== undefined && this.candidate.seq <= this.durableSeq)
      this.head = this.candidate
    if (frame.left > 0) return
    const { seq, hash } = frame
    this.candidate = { seq, hash, place }
    if (seq <= this.durableSeq) this.head = this.candidate
  }
}

function frameProblem(bad: BadLine, damage: Damage | undefined, next: Place | undefined): Problem {
  const { seq, segment, from, expected, found } = bad
  const gap = next === undefined ? '' : `; ${next.from - from} bytes are skipped`
  return {
    kind: 'frame',
    seq,
    segment,
    byte: from,
    reason: `${damage?.reason ?? FAULTS[bad.fault]}${gap}`,
    ...(expected === undefined ? {} : { expected }),
    ...(found === undefined ? {} : { found }),
  }
}

function tornText(torn: Torn | undefined): string[] {
  if (torn === undefined) return []
  const doubt = torn.maybeAcknowledged
    ? '; they may have been acknowledged: nothing tells torn from tampered here'
    : ''
  return [`${torn.bytes} torn bytes at ${torn.offset} of segment ${torn.segment}${doubt}`]
}
