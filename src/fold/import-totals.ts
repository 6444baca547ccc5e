/**
 * What lists show of an imported run: a fold over what its reader derives, kept up as lines come
 * in.
 * The same numbers as the projections give; made while the lines are at hand, so that no list has
 * to read them again.
 */
import type {
  AssistantMessage,
  AssistantUsage,
  ImportTotals,
  SessionInfo,
  Usage,
} from '../core/event-map.js'
import { GENESIS } from '../core/hash.js'
import type { Derived } from './reader.js'
import { toolPairs } from './tool-pairs.js'

/** Longest title that is kept, in UTF-16 units. */
const TITLE_LENGTH_MAX = 120

/** Messages whose usage may still be stated anew. */
const OPEN_MAX = 8

/** Calls are counted; where they are is not asked. */
const NOWHERE = { seq: 0, time: 0, hash: GENESIS }
const PAIRED: ReadonlySet<string> = new Set(toolPairs.types)

interface Counted {
  readonly id: string
  readonly usage: Usage
}

export class ImportCount {
  private title: string | undefined
  private prompt: string | undefined
  private started: number | undefined
  private updated: number | undefined
  private turns = 0
  private messages = 0
  private inputTokens = 0
  private outputTokens = 0
  private faults = 0
  private pairs = toolPairs.init()
  private open: Counted[] = []

  take({ type, time, data }: Derived): void {
    if (PAIRED.has(type)) this.pairs = toolPairs.apply(this.pairs, { ...NOWHERE, type, data })
    if (time !== undefined) {
      this.started = Math.min(this.started ?? time, time)
      this.updated = Math.max(this.updated ?? time, time)
    }
    switch (type) {
      case 'session/info':
        this.title = (data as SessionInfo).title ?? this.title
        break
      case 'session/fault':
        this.faults += 1
        break
      case 'turn/start':
        this.turns += 1
        // An id is good inside one turn.
        this.open = []
        break
      case 'user/message':
        this.messages += 1
        this.prompt ??= promptOf(data)
        break
      case 'assistant/message':
        this.message(data as AssistantMessage)
        break
      case 'assistant/usage':
        this.usage(data as AssistantUsage)
        break
      case 'tool/result':
        this.messages += 1
        break
    }
  }

  /** What a session has from another is in that one's totals. */
  private usage({ id, usage, copied }: AssistantUsage): void {
    if (copied !== undefined) return
    const before = id === undefined ? undefined : this.open.find((one) => one.id === id)
    this.inputTokens += (usage.inputTokens ?? 0) - (before?.usage.inputTokens ?? 0)
    this.outputTokens += (usage.outputTokens ?? 0) - (before?.usage.outputTokens ?? 0)
    if (id === undefined) return
    this.open = [...this.open.filter((one) => one !== before), { id, usage }].slice(-OPEN_MAX)
  }

  private message({ id, usage }: AssistantMessage): void {
    const before = id === undefined ? undefined : this.open.find((one) => one.id === id)
    if (before === undefined) this.messages += 1
    this.inputTokens += (usage?.inputTokens ?? 0) - (before?.usage.inputTokens ?? 0)
    this.outputTokens += (usage?.outputTokens ?? 0) - (before?.usage.outputTokens ?? 0)
    if (id === undefined) return
    const others = this.open.filter((one) => one !== before)
    this.open = [...others, { id, usage: usage ?? {} }].slice(-OPEN_MAX)
  }

  totals(): ImportTotals {
    const title = shortened(this.title ?? this.prompt)
    return {
      ...(title === undefined ? {} : { title }),
      ...(this.started === undefined ? {} : { started: this.started }),
      ...(this.updated === undefined ? {} : { updated: this.updated }),
      turns: this.turns,
      calls: this.pairs.calls,
      messages: this.messages,
      inputTokens: this.inputTokens,
      outputTokens: this.outputTokens,
      faults: this.faults,
    }
  }
}

/** What a person said first stands in for a title. */
function promptOf(data: unknown): string | undefined {
  const { content, source } = data as { content?: unknown; source?: Record<string, unknown> }
  if (source?.meta === true || source?.local === true || source?.interrupted === true)
    return undefined
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return undefined
  return content.find((part) => part?.type === 'text' && typeof part.text === 'string')?.text
}

function shortened(text: string | undefined): string | undefined {
  const line = text?.replace(/\s+/g, ' ').trim()
  if (line === undefined || line === '') return undefined
  const short = line.length <= TITLE_LENGTH_MAX ? line : `${line.slice(0, TITLE_LENGTH_MAX - 1)}…`
  return short.toWellFormed()
}
