/**
 * What is wrong with one transcript: read only, nothing is written anywhere. Tells places, never
 * contents.
 */
import type { AssistantMessage, SessionFault, SourceRecord } from '../core/event-map.js'
import type { AnyReader, Derived } from '../fold/reader.js'
import { secretsIn } from './secrets.js'
import type { Piece } from './source-file.js'

export interface Finding {
  /**
   * `torn`, `fused`, `zeros`, `not-utf8`, `not-json`; `orphan-call`, `orphan-result`, `dangling-parent`,
   * `secret`.
   */
  readonly kind: string
  /** In bytes of the file. */
  readonly from: number
  readonly to?: number
  /** From 1. */
  readonly line: number
  /** Of a secret, its kind. */
  readonly what?: string
}

export interface Examined {
  readonly lines: number
  readonly bytes: number
  /** How many there are of each kind. */
  readonly counts: Readonly<Record<string, number>>
  /** The first ones of each kind. */
  readonly findings: readonly Finding[]
}

/** Findings of one kind in one file that are named; more are counted. */
const NAMED_MAX = 1000

interface Place {
  readonly line: number
  readonly from: number
}

export class Examination {
  private state: unknown
  private lines = 0
  private bytes = 0
  private readonly counts: Record<string, number> = {}
  private readonly findings: Finding[] = []
  /** Calls without a result so far. */
  private readonly calls = new Map<string, Place>()
  private readonly results = new Map<string, Place>()
  private readonly answered = new Set<string>()
  private readonly ids = new Set<string>()
  private readonly parents = new Map<string, Place>()

  constructor(
    private readonly reader: AnyReader,
    source: { readonly format: string },
  ) {
    const event = { seq: 0, time: 0, type: 'import/source', data: source, hash: '' }
    this.state = reader.read(reader.init(), event as never).state
  }

  take(piece: Piece): void {
    const event = { seq: 0, time: 0, type: 'import/lines', data: piece, hash: '' }
    const { state, events } = this.reader.read(this.state, event as never)
    this.state = state
    const lineEnds = new LineEnds(piece.bytes)
    for (const derived of events) this.derived(derived, piece, lineEnds)
    for (const { kind: what, at } of secretsIn(piece.bytes)) {
      const line = this.lines + lineEnds.lineOf(at) + 1
      this.find({ kind: 'secret', what, from: piece.from + at, line })
    }
    this.lines += piece.lines
    this.bytes = piece.from + piece.bytes.length
  }

  private find(finding: Finding): void {
    const count = (this.counts[finding.kind] ?? 0) + 1
    this.counts[finding.kind] = count
    if (count <= NAMED_MAX) this.findings.push(finding)
  }

  private derived({ line, type, data }: Derived, piece: Piece, lineEnds: LineEnds): void {
    const place = { line: this.lines + line + 1, from: piece.from + lineEnds.startOf(line) }
    if (type === 'session/fault') {
      const { fault, from, to } = data as SessionFault
      this.find({ kind: fault, from, to, line: place.line })
    } else if (type === 'assistant/message') {
      const { content } = data as AssistantMessage
      if (typeof content === 'string') return
      for (const part of content) {
        if (part.type !== 'tool_use') continue
        if (!this.results.delete(part.id) && !this.calls.has(part.id))
          this.calls.set(part.id, place)
      }
    } else if (type === 'tool/result') {
      const { id } = data as { readonly id: string }
      // A result may also be written before its call.
      if (!this.answered.has(id) && !this.calls.delete(id)) this.results.set(id, place)
      this.answered.add(id)
    }
    this.link((data as { readonly source?: SourceRecord } | null)?.source, place)
  }

  private link(source: SourceRecord | undefined, place: Place): void {
    if (typeof source !== 'object' || source === null) return
    if (typeof source.id === 'string') this.ids.add(source.id)
    if (typeof source.parent === 'string') this.parents.set(source.parent, place)
  }

  finish(): Examined {
    for (const place of this.calls.values()) this.find({ kind: 'orphan-call', ...place })
    for (const place of this.results.values()) this.find({ kind: 'orphan-result', ...place })
    for (const [parent, place] of this.parents)
      if (!this.ids.has(parent)) this.find({ kind: 'dangling-parent', ...place })
    const { lines, bytes, counts, findings } = this
    return { lines, bytes, counts, findings }
  }
}

/** Where the lines of a piece begin. */
class LineEnds {
  private readonly starts: number[] = [0]

  constructor(bytes: Buffer) {
    for (let at = bytes.indexOf(0x0a); at >= 0; at = bytes.indexOf(0x0a, at + 1))
      this.starts.push(at + 1)
  }

  startOf(line: number): number {
    return this.starts[line] ?? 0
  }

  lineOf(byte: number): number {
    let low = 0
    let high = this.starts.length
    while (low + 1 < high) {
      const middle = (low + high) >> 1
      if ((this.starts[middle] as number) <= byte) low = middle
      else high = middle
    }
    return low
  }
}
