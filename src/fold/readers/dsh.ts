/**
 * Session logs of the DeepSeek harness as session events. Its events are close to ours; what
 * differs is here: the shape of parts, packed chunks, usage without what came from a cache, and a
 * compaction that is a message with an order to replace.
 * @see docs/import.md#dsh
 */
import type { Content, Part } from '../../core/content.js'
import type { RunEvent } from '../../core/event.js'
import type { Usage } from '../../core/event-map.js'
import { faultEvent, linesOf } from '../import-lines.js'
import type { Derived, Reader } from '../reader.js'

type Json = Readonly<Record<string, unknown>>

interface DshState {
  /** The number that dsh gives the next event: it counts chunks that are packed into one line. */
  readonly seq: number
  /** What the model sees: dsh's number, and our address. */
  readonly surface: readonly (readonly [seq: number, address: string])[]
}

export const dsh: Reader<DshState> = {
  key: 'dsh',
  version: 2,
  types: ['import/lines'],
  init: () => ({ seq: 0, surface: [] }),
  read(state, event) {
    const reading = new Reading(state, event)
    const { from, items } = linesOf(event.data)
    for (const item of items) {
      reading.line = item.line
      if (item.fault === undefined) reading.record(item.value)
      else reading.events.push(faultEvent(item, from))
    }
    return { state: { seq: reading.seq, surface: reading.surface }, events: reading.events }
  },
}

/** Reasons that mean the same as ours. */
const REASONS = new Set(['completed', 'error', 'aborted', 'blocked', 'max-tokens', 'interrupted'])

class Reading {
  readonly events: Derived[] = []
  line = 0
  seq: number
  surface: DshState['surface']
  private time: number | undefined

  constructor(
    state: DshState,
    private readonly event: RunEvent,
  ) {
    this.seq = state.seq
    this.surface = state.surface
  }

  record(value: unknown): void {
    if (!isObject(value)) {
      this.put('session/record', { record: 'value', value })
      return
    }
    this.time = typeof value.time === 'number' && value.time > 0 ? value.time : undefined
    if (value.type === 'session') {
      const { id, cwd, parentSession } = value
      const parent =
        typeof parentSession === 'string' ? { session: parentSession, kind: 'child' } : undefined
      this.put('session/info', { session: id, cwd, client: 'dsh', ...(parent && { parent }) })
      return
    }
    // The number of its event; a packed line has those of all its chunks.
    const seq = typeof value.seq === 'number' ? value.seq : this.seq
    this.known(value, isObject(value.data) ? value.data : {}, seq)
    this.seq = seq + chunksIn(value)
  }

  private put(type: string, data: object): void {
    const { line, time } = this
    this.events.push({ line, ...(time === undefined ? {} : { time }), type, data })
  }

  private known(record: Json, data: Json, seq: number): void {
    switch (record.type) {
      case 'turn/start':
        this.put('turn/start', { turn: data.turn })
        return
      case 'turn/end': {
        const kind = isObject(data.reason) ? String(data.reason.kind) : 'completed'
        const reason = REASONS.has(kind) ? kind : 'error'
        this.put('turn/end', { turn: data.turn, reason, source: data.reason })
        return
      }
      case 'user/message':
        this.message(record, { content: contentOf(data.content), raw: data }, seq)
        return
      case 'assistant/message':
        this.assistant(record, data, seq)
        return
      case 'tool/call': {
        const { callId: id, name, arguments: text } = data
        this.put('tool/call', { id, name, input: argumentsOf(text), arguments: text })
        return
      }
      case 'tool/result':
        this.result(record, data, seq)
        return
      case 'todo/write':
        this.put('todo/write', { items: Array.isArray(data.items) ? data.items : [] })
        return
      case 'compaction/summary':
        this.summary(data)
        this.put('session/record', { record: record.type, value: record })
        return
      case 'session/title':
        this.put('session/info', { title: data.title })
        return
      default:
        this.put('session/record', { record: String(record.type), value: record })
    }
  }

  private message(record: Json, message: { content: Content; raw: unknown }, seq: number): void {
    const { surfaceOp } = record
    const isReplacing = isObject(surfaceOp) && surfaceOp.op === 'replace'
    if (isReplacing) {
      const gone = this.surface.filter(
        ([one]) => one >= Number(surfaceOp.start) && one <= Number(surfaceOp.end),
      )
      this.surface = this.surface.filter((one) => !gone.includes(one))
      const replaces = [...new Set(gone.map(([, address]) => address))]
      this.put('compaction', { replaces, message: { role: 'user', ...message } })
    } else this.put('user/message', message)
    this.show(seq)
  }

  private assistant(record: Json, data: Json, seq: number): void {
    const message = isObject(data.message) ? data.message : {}
    const source = isObject(message.source) ? message.source : {}
    const usage = usageOf(data.usage)
    this.put('assistant/message', {
      content: contentOf(message.content),
      ...(typeof message.id === 'string' ? { id: message.id } : {}),
      ...(typeof source.model === 'string' ? { model: source.model } : {}),
      ...(typeof source.provider === 'string' ? { provider: source.provider } : {}),
      ...(usage === undefined ? {} : { usage }),
      ...(data.interrupted === true || record.interrupted === true ? { interrupted: true } : {}),
      raw: message,
    })
    this.show(seq)
  }

  /** The summary was made by a call of its own, which no message tells of. */
  private summary({ compactionId, model, provider, usage: said, llmStreamCall }: Json): void {
    const usage = usageOf(said)
    if (usage === undefined || llmStreamCall === false) return
    this.put('assistant/usage', {
      ...(typeof compactionId === 'string' ? { id: `compaction:${compactionId}` } : {}),
      ...(typeof model === 'string' ? { model } : {}),
      ...(typeof provider === 'string' ? { provider } : {}),
      usage,
    })
  }

  private result(record: Json, data: Json, seq: number): void {
    const message = isObject(data.message) ? data.message : {}
    const blocks = Array.isArray(message.content) ? message.content : []
    for (const block of blocks) {
      if (!isObject(block) || block.type !== 'tool-result') continue
      this.put('tool/result', {
        id: String(block.toolCallId),
        content: contentOf(block.content),
        ...(block.isError === true ? { isError: true } : {}),
        raw: record,
      })
    }
    this.show(seq)
  }

  private show(seq: number): void {
    this.surface = [...this.surface, [seq, `${this.event.seq}.${this.line}`]]
  }
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function chunksIn({ type, data }: Json): number {
  const pieces = isObject(data) ? (data.texts ?? data.args) : undefined
  const isPacked = typeof type === 'string' && type.endsWith('-chunks')
  return isPacked && Array.isArray(pieces) ? pieces.length : 1
}

function argumentsOf(text: unknown): unknown {
  if (typeof text !== 'string') return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function contentOf(content: unknown): Content {
  if (typeof content === 'string') return content
  return (Array.isArray(content) ? content : []).map(partOf)
}

function partOf(block: unknown): Part {
  if (!isObject(block)) return { type: 'other', value: block }
  const { type, text } = block
  if (type === 'text' && typeof text === 'string') return { type, text }
  if (type === 'reasoning' && typeof text === 'string') return { type: 'thinking', text }
  if (type === 'tool-call' && typeof block.arguments === 'string') {
    const { id, name, arguments: written } = block
    const input = argumentsOf(written)
    return { type: 'tool_use', id: String(id), name: String(name), input, arguments: written }
  }
  return { type: 'other', value: block }
}

function count(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : 0
}

/** dsh counts what came from a cache beside the input; here it is part of it. */
function usageOf(usage: unknown): Usage | undefined {
  if (!isObject(usage)) return undefined
  const { cacheReadTokens, cacheWriteTokens, reasoningTokens } = usage
  const read = count(cacheReadTokens)
  const write = count(cacheWriteTokens)
  return {
    inputTokens: count(usage.inputTokens) + read + write,
    outputTokens: count(usage.outputTokens),
    ...(read > 0 ? { cacheReadTokens: read } : {}),
    ...(write > 0 ? { cacheWriteTokens: write } : {}),
    ...(typeof reasoningTokens === 'number' ? { reasoningTokens } : {}),
  }
}
