/**
 * Events as rows, turns and steps indented, and what is open at the end.
 * A fold over events; it keeps no row.
 */
import type { RunEvent } from '../core/event.js'
import type { SessionInfo } from '../core/event-map.js'
import { type Address, addressOf } from '../fold/address.js'
import { toolPairs } from '../fold/tool-pairs.js'
import { printable } from '../value/preview.js'
import { eventWords } from './event-words.js'
import type { Piece } from './output.js'
import { durationText } from './quantity.js'

interface OpenCall {
  readonly name: string
  /** When its body began, in ms since 1970; undefined where it was only asked for. */
  readonly begun: number | undefined
}

interface OpenStep {
  readonly name: string
  readonly depth: number
  readonly time: number
}

export interface EventRow {
  readonly address: Address
  readonly type: string
  /** In ms since the run's first event; of a derived one since its session began. */
  readonly sinceMs: number
  readonly depth: number
  readonly words: readonly Piece[]
}

export interface OpenRequest {
  readonly ordinal: number
  readonly method: string
  readonly url: string
}

/** The last event that told of an error. */
export interface LastError {
  readonly seq: number
  readonly words: readonly Piece[]
}

const DEPTH_MAX = 20
const NAME_LENGTH = 40

/** What may follow a run's end without opening it again. */
export const AFTER_END = /^(?:run|log|writer)\/|^redaction$|^note$/

type Members = Readonly<Record<string, unknown>>

export class EventRows {
  /** The turn that is open. */
  turn: string | undefined
  lastError: LastError | undefined
  last: RunEvent | undefined
  name: string | undefined
  status: string = 'open'
  /** The session that this one goes on from, where its history is there only. */
  begins: string | undefined
  readonly totals = {
    ...{ events: 0, turns: 0, calls: 0, steps: 0, exchanges: 0, misses: 0 },
    ...{ tokensIn: 0, tokensOut: 0 },
  }
  readonly #steps = new Map<string, OpenStep>()
  /** Tool calls of the turn, by id. */
  readonly #calls = new Map<string, OpenCall>()
  /** Calls of tools, each once: asked for by a message, or begun. */
  #pairs = toolPairs.init()
  /** Requests that have no end yet, by ordinal. */
  readonly #requests = new Map<unknown, Members>()
  #started: number | undefined

  /** Requests without an end, in the order they began. */
  get requests(): readonly OpenRequest[] {
    return [...this.#requests].map(([ordinal, { method, url }]) => ({
      ordinal: Number(ordinal),
      method: String(method),
      url: String(url),
    }))
  }

  /** Open steps, in the order they began. */
  get steps(): readonly { readonly id: string; readonly name: string }[] {
    return [...this.#steps].map(([id, { name }]) => ({ id, name }))
  }

  /** When the first event happened, in ms since 1970. */
  get started(): number {
    return this.#started ?? 0
  }

  /** @param session When the session that an imported run holds began and ended, in ms since 1970. */
  constructor(private readonly session?: { readonly started: number; readonly updated: number }) {}

  add(event: RunEvent): EventRow {
    const { seq, type, time } = event
    this.last = event
    this.#started ??= time
    const data = ((typeof event.data === 'object' ? event.data : undefined) ?? {}) as Members
    this.#count(event, data)
    const [depth, tookMs] = this.#place(event, data)
    const took: readonly Piece[] = tookMs === undefined ? [] : [` ${durationText(tookMs)}`]
    const words = [...this.#called(event, data), ...eventWords(event), ...took]
    if (isError(data)) this.lastError = { seq, words }
    const address = addressOf(event)
    return { address, type, sinceMs: this.#since(event), depth, words }
  }

  #since({ time, line }: RunEvent): number {
    const { session } = this
    if (line === undefined || session === undefined) return time - this.started
    // Records that say no time have that of the import.
    return time > session.updated ? 0 : Math.max(0, time - session.started)
  }

  /** Which tool a result is of, in front of its words. */
  #called({ type, time }: RunEvent, data: Members): readonly Piece[] {
    if (type === 'turn/start') this.#calls.clear()
    if (type === 'assistant/message' && Array.isArray(data.content)) {
      for (const part of data.content as (Members | null)[]) {
        if (part?.type !== 'tool_use') continue
        this.#calls.set(String(part.id), { name: String(part.name), begun: undefined })
      }
    }
    if (type === 'tool/call')
      this.#calls.set(String(data.id), { name: String(data.name), begun: time })
    if (type !== 'tool/result') return []
    const call = this.#calls.get(String(data.id))
    return call === undefined ? [] : [['cyan', printable(call.name, NAME_LENGTH)], ' ']
  }

  #count(event: RunEvent, data: Members): void {
    const { totals } = this
    const { type, line } = event
    if (toolPairs.types?.includes(type)) this.#pairs = toolPairs.apply(this.#pairs, event)
    totals.calls = this.#pairs.calls
    if (line === undefined) totals.events += 1
    if (type === 'turn/start') totals.turns += 1
    if (type === 'session/info') this.begins ??= beginsIn(data as SessionInfo)
    if (type === 'step/start') totals.steps += 1
    if (type === 'http/exchange') totals.exchanges += 1
    if (type === 'http/miss') totals.misses += 1
    if (type === 'http/start') this.#requests.set(data.ordinal, data)
    if (type === 'http/exchange') this.#requests.delete(data.ordinal)
    if (type === 'run/meta' && typeof data.name === 'string') this.name = data.name
    if (type === 'run/end') this.status = String(data.status)
    else if (!AFTER_END.test(type)) this.status = 'open'
    if (type !== 'assistant/message') return
    const usage = (data.usage ?? {}) as {
      readonly inputTokens?: unknown
      readonly outputTokens?: unknown
    }
    totals.tokensIn += Number(usage.inputTokens) || 0
    totals.tokensOut += Number(usage.outputTokens) || 0
  }

  /** How deep the event lies, and how long what it ends took. */
  #place(event: RunEvent, data: Members): [number, number?] {
    const inTurn = this.turn === undefined ? 0 : 1
    const id = String(data.id)
    switch (event.type) {
      case 'turn/start':
        this.turn = String(data.turn)
        return [0]
      case 'turn/end':
        this.turn = undefined
        return [0]
      case 'step/start': {
        const above = this.#steps.get(String(data.parent))
        const depth = Math.min(above === undefined ? inTurn : above.depth + 1, DEPTH_MAX)
        this.#steps.set(id, { name: String(data.name), depth, time: event.time })
        return [depth]
      }
      case 'step/end': {
        const begun = this.#steps.get(id)
        this.#steps.delete(id)
        return begun === undefined ? [inTurn] : [begun.depth, event.time - begun.time]
      }
      case 'tool/call':
        return [inTurn + 1]
      case 'http/start':
      case 'http/exchange':
      case 'http/miss': {
        const step = this.#steps.get(String(data.step))
        return [step === undefined ? inTurn : Math.min(step.depth + 1, DEPTH_MAX)]
      }
      case 'tool/result': {
        const begun = this.#calls.get(id)?.begun
        return [inTurn + 1, ...(begun === undefined ? [] : [event.time - begun])] as [number]
      }
    }
    return [inTurn]
  }
}

function beginsIn({ parent }: SessionInfo): string | undefined {
  return parent?.before === undefined ? undefined : parent.session
}

function isError(data: Members): boolean {
  return (
    data.status === 'error' ||
    data.reason === 'error' ||
    data.isError === true ||
    (data.error !== undefined && data.error !== null)
  )
}
