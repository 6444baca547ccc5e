/**
 * What a run must know of itself to go on: how far it is, what is open, which ids are taken.
 * A fold over frames; rebuilt from the log whenever its snapshot does not fit.
 */
import { type Body, parseBody } from '../core/body.js'
import { DaglogError } from '../core/errors.js'
import type { ImportEnd, ImportSource, ReaderName, RunStatus, Usage } from '../core/event-map.js'
import { extraFields } from '../core/frame.js'
import type { Hash } from '../core/hash.js'
import { type OperationPlace, OperationTable, type PackedOperations } from './operation-table.js'

/** Bumped whenever the meaning of a field changes; a snapshot of another version is not used. */
export const RUN_INDEX_VERSION = 5

export interface IndexedFrame {
  readonly seq: number
  readonly time: number
  readonly type: string
  readonly redacted: boolean
  /** Members of frame 0's head, see `genesisExtra`. */
  readonly extra: string
  /** The caller's id of the append, where there was one. */
  readonly op?: string | undefined
  readonly body: Uint8Array
  readonly place: { readonly segment: number; readonly from: number; readonly to: number }
}

/** A state of the run, as a tree, from an event on; the root is null where that was redacted. */
type StateRow = readonly [seq: number, root: Hash | null]

/** The event that says what the state is now. */
export const STATE_TYPE = 'state/write'

export type PlaceRow = readonly [seq: number, segment: number, from: number, to: number]

/** What an imported run was taken from, as of the last import. */
export interface ImportedFrom {
  readonly format: string
  readonly session: string
  /** The file then: in bytes, and in ms since 1970. */
  readonly size?: number
  readonly mtime?: number
  /** What of it is in the run, in bytes. */
  readonly bytes?: number
  /** Who counted turns and tokens. */
  readonly reader: ReaderName
}

/**
 * Totals that lists show; they go into the head's note in the store's log. Of an imported run they
 * are what its reader made of the transcript, and `started` and `updated` are what that says.
 */
export interface RunSummary {
  readonly name?: string
  readonly started: number
  readonly updated: number
  readonly status: RunStatus | 'open'
  readonly events: number
  readonly turns: number
  readonly steps: number
  readonly tokensIn: number
  readonly tokensOut: number
  readonly parent?: { readonly run: string; readonly seq: number; readonly kind: string }
  readonly imported?: ImportedFrom
  /** Of a child: how many runs it is below the first. */
  readonly depth?: number
}

/** What a crash left open, in the order it was opened. */
export interface OpenWork {
  readonly turn: number | undefined
  readonly steps: readonly string[]
  /** Tool calls without a result, and whether their body had begun. */
  readonly calls: ReadonlyMap<string, 'asked' | 'begun'>
}

export class RunIndex {
  private id = ''
  private name: string | undefined
  private started = 0
  private updated = 0
  private status: RunStatus | 'open' = 'open'
  private events = 0
  private turns = 0
  private steps = 0
  private tokensIn = 0
  private tokensOut = 0
  private parent: RunSummary['parent']
  private imported: ImportedFrom | undefined
  private depth: number | undefined
  private lastTurn = 0
  private openTurn: number | undefined
  private lastStep = 0
  private readonly openSteps = new Set<string>()
  /** Steps that ended in events whose bodies are gone. */
  private unknownEnds = 0
  private readonly openCalls = new Map<string, 'asked' | 'begun'>()
  private readonly lastOf = new Map<string, PlaceRow>()
  private readonly stepKeys = new Set<string>()
  private readonly states: StateRow[] = []
  private operations = new OperationTable()

  /** Take in the next frame. Bodies are parsed only of the types that matter here. */
  apply(frame: IndexedFrame): void {
    const { type, seq, place } = frame
    this.events += 1
    this.updated = frame.time
    if (seq === 0) this.begin(frame)
    if (frame.op !== undefined) this.operations.add(frame.op, place)
    this.lastOf.set(type, [seq, place.segment, place.from, place.to])
    // A run that goes on after its end is open again.
    if (this.status !== 'open' && !AFTER_END.test(type)) this.status = 'open'
    if (type === STATE_TYPE) this.takeState(frame)
    if (frame.redacted) this.takeRedacted(type)
    const rule = RULES[type]
    if (rule === undefined || frame.redacted) return
    const data = readableBody(frame.body)?.data
    // Anybody may append a known type with data of another shape: it stands, and says nothing here.
    if (typeof data === 'object' && data !== null) rule(this, data as Record<string, unknown>)
  }

  /**
   * An end whose body is gone still ends something: the turn, or one of the steps, nobody knows
   * which.
   */
  private takeRedacted(type: string): void {
    if (type === 'turn/end') this.endTurn()
    if (type === 'step/end') this.unknownEnds += 1
  }

  private endTurn(): void {
    this.openTurn = undefined
    this.openCalls.clear()
  }

  private takeState({ seq, body, redacted }: IndexedFrame): void {
    const refs = redacted ? [] : (readableBody(body)?.refs ?? [])
    const ref = refs.find(({ kind }) => kind === 'tree')
    if (redacted || ref !== undefined) this.states.push([seq, ref?.root ?? null])
  }

  /** The last state written at or before `seq`. */
  stateAt(seq: number): { readonly seq: number; readonly root: Hash | null } | undefined {
    let low = 0
    let high = this.states.length
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      if ((this.states[middle] as StateRow)[0] <= seq) low = middle + 1
      else high = middle
    }
    const row = this.states[low - 1]
    return row === undefined ? undefined : { seq: row[0], root: row[1] }
  }

  private begin(frame: IndexedFrame): void {
    this.started = frame.time
    const parent = extraFields(frame.extra).parent as RunSummary['parent'] | undefined
    if (parent !== undefined) this.parent = { run: parent.run, seq: parent.seq, kind: parent.kind }
  }

  get runId(): string {
    return this.id
  }

  get ended(): boolean {
    return this.status !== 'open'
  }

  get turn(): number {
    return this.lastTurn
  }

  summary(): RunSummary {
    return {
      ...(this.name === undefined ? {} : { name: this.name }),
      started: this.started,
      updated: this.updated,
      status: this.status,
      events: this.events,
      turns: this.turns,
      steps: this.steps,
      tokensIn: this.tokensIn,
      tokensOut: this.tokensOut,
      ...(this.parent === undefined ? {} : { parent: this.parent }),
      ...(this.imported === undefined ? {} : { imported: this.imported }),
      ...(this.depth === undefined ? {} : { depth: this.depth }),
    }
  }

  private takeImport({ totals, bytes, size, mtime, reader }: Partial<ImportEnd>): void {
    if (this.imported === undefined || typeof totals !== 'object' || totals === null) return
    this.imported = {
      ...this.imported,
      ...(typeof size === 'number' ? { size } : {}),
      ...(typeof mtime === 'number' ? { mtime } : {}),
      ...(typeof bytes === 'number' ? { bytes } : {}),
      ...(reader === undefined ? {} : { reader }),
    }
    if (typeof totals.title === 'string') this.name = totals.title
    if (typeof totals.started === 'number') this.started = totals.started
    if (typeof totals.updated === 'number') this.updated = totals.updated
    this.turns = count(totals.turns)
    this.tokensIn = count(totals.inputTokens)
    this.tokensOut = count(totals.outputTokens)
  }

  open(): OpenWork {
    // Rather no step than a wrong one: an end of its own would contradict the one that was
    // redacted.
    const steps = this.unknownEnds === 0 ? [...this.openSteps] : []
    return { turn: this.openTurn, steps, calls: new Map(this.openCalls) }
  }

  /** Where the last event of a type lies. */
  last(type: string): PlaceRow | undefined {
    return this.lastOf.get(type)
  }

  /** The number of the next step id. */
  get nextStep(): number {
    return this.lastStep + 1
  }

  hasStepKey(key: string): boolean {
    return this.stepKeys.has(shortKey(key))
  }

  /** Where the event of an operation may lie: it is there if its body says so, and nowhere else. */
  operation(op: string): readonly OperationPlace[] {
    return this.operations.find(op)
  }

  /** One rule for each type that the index follows. */
  static readonly rules: Readonly<
    Record<string, (index: RunIndex, data: Record<string, unknown>) => void>
  > = {
    'run/start': (index, data) => {
      index.id = String(data.id)
      if (Number.isSafeInteger(data.depth)) index.depth = data.depth as number
    },
    'run/meta': (index, data) => {
      if (typeof data.name === 'string') index.name = data.name
    },
    'run/end': (index, data) => {
      index.status = data.status as RunStatus
    },
    'import/source': (index, data) => {
      const { format, session, reader } = data as unknown as ImportSource
      if (typeof format !== 'string' || typeof session !== 'string') return
      index.imported = { ...index.imported, format, session, reader }
    },
    'import/end': (index, data) => index.takeImport(data),
    'turn/start': (index, data) => {
      index.turns += 1
      index.lastTurn = Number(data.turn)
      index.openTurn = index.lastTurn
    },
    'turn/end': (index) => index.endTurn(),
    'step/start': (index, data) => {
      const id = String(data.id)
      index.steps += 1
      index.openSteps.add(id)
      index.stepKeys.add(shortKey(String(data.key)))
      const number = /^n(\d{1,15})$/.exec(id)
      if (number !== null) index.lastStep = Math.max(index.lastStep, Number(number[1]))
    },
    'step/end': (index, data) => {
      index.openSteps.delete(String(data.id))
    },
    'tool/call': (index, data) => {
      index.openCalls.set(String(data.id), 'begun')
    },
    'tool/result': (index, data) => {
      index.openCalls.delete(String(data.id))
    },
    'assistant/message': (index, data) => {
      const usage = data.usage as Usage | undefined
      index.tokensIn += count(usage?.inputTokens)
      index.tokensOut += count(usage?.outputTokens)
      if (!Array.isArray(data.content)) return
      for (const part of data.content as ({ type?: unknown; id?: unknown } | null)[]) {
        if (part?.type === 'tool_use') index.openCalls.set(String(part.id), 'asked')
      }
    },
  }

  /** Plain JSON for a snapshot. */
  toJSON(): unknown {
    return {
      version: RUN_INDEX_VERSION,
      id: this.id,
      summary: this.summary(),
      lastTurn: this.lastTurn,
      openTurn: this.openTurn ?? null,
      lastStep: this.lastStep,
      openSteps: [...this.openSteps],
      unknownEnds: this.unknownEnds,
      openCalls: [...this.openCalls],
      lastOf: [...this.lastOf],
      stepKeys: [...this.stepKeys],
      states: this.states,
      operations: this.operations.toJSON(),
    }
  }

  /**
   * The index of a snapshot; undefined where it is of another version. The caller has checked that
   * the log still fits it.
   */
  static fromJSON(snapshot: unknown): RunIndex | undefined {
    const from = snapshot as Snapshot | null
    if (from?.version !== RUN_INDEX_VERSION) return undefined
    try {
      return RunIndex.revive(from)
    } catch {
      return undefined // Of another shape than this version has.
    }
  }

  private static revive(from: Snapshot): RunIndex {
    const index = new RunIndex()
    const { summary } = from
    index.id = from.id
    index.name = summary.name
    index.started = summary.started
    index.updated = summary.updated
    index.status = summary.status
    index.events = summary.events
    index.turns = summary.turns
    index.steps = summary.steps
    index.tokensIn = summary.tokensIn
    index.tokensOut = summary.tokensOut
    index.parent = summary.parent
    index.imported = summary.imported
    index.depth = summary.depth
    index.lastTurn = from.lastTurn
    index.openTurn = from.openTurn ?? undefined
    index.lastStep = from.lastStep
    for (const id of from.openSteps) index.openSteps.add(id)
    index.unknownEnds = from.unknownEnds
    for (const [id, state] of from.openCalls) index.openCalls.set(id, state)
    for (const [type, place] of from.lastOf) index.lastOf.set(type, place)
    for (const key of from.stepKeys) index.stepKeys.add(key)
    for (const state of from.states) index.states.push(state)
    index.operations = OperationTable.fromJSON(from.operations)
    return index
  }
}

const RULES = RunIndex.rules

/** What may follow a run's end without opening it again. */
const AFTER_END = /^(?:run|log|writer)\/|^redaction$|^note$/

interface Snapshot {
  readonly version: number
  readonly id: string
  readonly summary: RunSummary
  readonly lastTurn: number
  readonly openTurn: number | null
  readonly lastStep: number
  readonly openSteps: readonly string[]
  readonly unknownEnds: number
  readonly openCalls: readonly (readonly [string, 'asked' | 'begun'])[]
  readonly lastOf: readonly (readonly [string, PlaceRow])[]
  readonly stepKeys: readonly string[]
  readonly states: readonly StateRow[]
  readonly operations: readonly PackedOperations[]
}

/** The body, or undefined where it makes no sense: that is for an audit to tell. */
function readableBody(body: Uint8Array): Body | undefined {
  try {
    return parseBody(body)
  } catch (error) {
    if (error instanceof DaglogError) return undefined
    throw error
  }
}

/** Usage is what users and models say; only a number counts. */
function count(tokens: unknown): number {
  return typeof tokens === 'number' && Number.isFinite(tokens) ? tokens : 0
}

/** 64 bits tell a run's step keys apart; the whole key is in the event. */
function shortKey(key: string): string {
  return key.slice(0, 16)
}
