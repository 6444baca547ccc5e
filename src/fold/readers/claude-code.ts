/**
 * Claude Code transcripts as session events: all record types and eras that are known, and any
 * other kept.
 * Knows order, turns and compaction; what is inside a message is for `claude-content.ts`.
 * @see docs/import.md#claude-code
 */
import type { RunEvent } from '../../core/event.js'
import type { SessionInfo, SourceRecord, TurnReason } from '../../core/event-map.js'
import { faultEvent, type LineItem, linesOf } from '../import-lines.js'
import { anthropicUsage } from '../provider/usage.js'
import type { Derived, Reader } from '../reader.js'
import {
  blocksOf,
  contentOf,
  isObject,
  type Json,
  laterUsage,
  partOf,
  textKind,
  textOf,
  toolResultOf,
} from './claude-content.js'
import { errorText, titleOf } from './claude-records.js'
import {
  type ClaudeState,
  firstState,
  keptFilter,
  MESSAGES_OPEN_MAX,
  type OpenMessage,
  preservedOf,
} from './claude-state.js'

export const claudeCode: Reader<ClaudeState> = {
  key: 'claude-code',
  version: 1,
  types: ['import/source', 'import/lines'],
  init: firstState,
  read(state, event) {
    const reading = new Reading(structuredClone(state), event)
    reading.run()
    return { state: reading.state, events: reading.events }
  },
}

/** One raw event being read. Its state is a copy that may be changed. */
class Reading {
  readonly events: Derived[] = []
  private line = 0
  private time: number | undefined
  private item: LineItem | undefined

  constructor(
    readonly state: ClaudeState,
    private readonly event: RunEvent,
  ) {}

  run(): void {
    const { event, state } = this
    if (event.type === 'import/source') {
      const part = isObject(event.data) ? textOf(event.data.part) : undefined
      if (part !== undefined) state.part = part
      return
    }
    const { from, items } = linesOf(event.data)
    for (const item of items) {
      this.line = item.line
      this.item = item
      this.time = undefined
      if (item.fault === undefined) this.value(item.value)
      else this.events.push(faultEvent(item, from))
    }
  }

  private value(value: unknown): void {
    // A file that is one list of records holds them all the same.
    if (Array.isArray(value) && value.some((one) => isObject(one) && 'type' in one))
      for (const one of value) this.record(one)
    else this.record(value)
  }

  private put(type: string, data: object): void {
    const { line, time } = this
    this.events.push({ line, ...(time === undefined ? {} : { time }), type, data })
  }

  private record(value: unknown): void {
    if (!isObject(value)) {
      this.other('value', value)
      return
    }
    const time = Date.parse(textOf(value.timestamp) ?? '')
    // What says no time happened about when the record before it did.
    this.time = Number.isNaN(time) ? this.state.time : time
    if (this.time !== undefined) this.state.time = this.time
    // A sub-agent's file is all sidechain: there it is the main thing.
    if (typeof value.isSidechain === 'boolean') this.state.alone ??= value.isSidechain
    if (value.isSidechain === true && this.state.part === undefined && !this.state.alone) {
      this.other(`sidechain/${textOf(value.type) ?? 'unknown'}`, value)
      return
    }
    this.describe(value)
    switch (value.type) {
      case 'user':
        this.user(value)
        return
      case 'assistant':
        this.assistant(value)
        return
      case 'system':
        this.system(value)
        return
      case 'attachment':
        this.attachment(value)
        return
      default:
        this.other(textOf(value.type) ?? 'unknown', value)
    }
  }

  private other(record: string, value: unknown): void {
    const source = isObject(value) ? this.sourceOf(value) : undefined
    this.put('session/record', { record, value, ...(source === undefined ? {} : { source }) })
  }

  private sourceOf(record: Json, marks: Json = {}): SourceRecord {
    const parent = record.parentUuid
    return {
      ...(typeof record.uuid === 'string' ? { id: record.uuid } : {}),
      ...(typeof parent === 'string' || parent === null ? { parent } : {}),
      ...(record.isMeta === true ? { meta: true } : {}),
      ...(typeof record.agentId === 'string' ? { agent: record.agentId } : {}),
      ...(typeof record.requestId === 'string' ? { request: record.requestId } : {}),
      ...(isObject(record.forkedFrom) ? { forkedFrom: record.forkedFrom } : {}),
      ...(this.item?.approximate === undefined ? {} : { approximate: this.item.approximate }),
      ...marks,
    }
  }

  /** What the session is, as far as this record says something else than those before. */
  private describe(record: Json): void {
    const { info } = this.state
    const model = isObject(record.message) ? textOf(record.message.model) : undefined
    const found: SessionInfo = {
      ...(typeof record.sessionId === 'string' && info.session === undefined
        ? { session: record.sessionId }
        : {}),
      ...(typeof record.cwd === 'string' ? { cwd: record.cwd } : {}),
      ...(typeof record.gitBranch === 'string' && record.gitBranch !== ''
        ? { branch: record.gitBranch }
        : {}),
      ...(typeof record.version === 'string'
        ? { client: 'claude-code', version: record.version }
        : {}),
      ...(model === undefined || model === SYNTHETIC ? {} : { model }),
      ...titleOf(record, info.title !== undefined),
    }
    const isNews = Object.entries(found).some(
      ([key, value]) => info[key as keyof SessionInfo] !== value,
    )
    if (!isNews) return
    this.state.info = { ...info, ...found }
    this.put('session/info', this.state.info)
  }

  private user(record: Json): void {
    const { message } = record
    if (!isObject(message)) {
      this.other('user', record)
      return
    }
    if (record.isCompactSummary === true) {
      this.compacted(record, message.content)
      return
    }
    if (record.isVisibleInTranscriptOnly === true) {
      this.other('user', record)
      return
    }
    const blocks = blocksOf(message.content)
    const results = blocks.filter((block) => isObject(block) && block.type === 'tool_result')
    for (const block of results as Json[]) {
      // The details belong to one result; where a record has several, nobody knows which.
      const details = results.length === 1 ? record.toolUseResult : undefined
      this.put('tool/result', { ...toolResultOf(block, details), source: this.sourceOf(record) })
    }
    if (results.length > 0) this.show(record)
    const rest = blocks.filter((block) => !results.includes(block))
    if (rest.length > 0) this.said(record, message, rest)
    else if (results.length === 0) this.other('user', record)
  }

  private said(record: Json, message: Json, rest: readonly unknown[]): void {
    const whole = rest.length === blocksOf(message.content).length
    const content = whole ? contentOf(message.content) : rest.map((block) => partOf(block))
    const first = rest.find((block) => isObject(block) && block.type === 'text') as Json | undefined
    const kind = textKind(textOf(first?.text) ?? '')
    if (kind === 'interrupted') this.endTurn('aborted', { by: 'user' })
    else if (kind === 'prompt' && record.isMeta !== true && whole) {
      this.endTurn()
      this.startTurn()
    }
    this.put('user/message', {
      content,
      ...(whole ? { raw: message } : {}),
      source: this.sourceOf(record, kind === 'prompt' ? {} : { [kind]: true }),
    })
    this.show(record)
  }

  private assistant(record: Json): void {
    const { message } = record
    if (!isObject(message)) {
      this.other('assistant', record)
      return
    }
    if (record.isApiErrorMessage === true) {
      this.state.stop = 'error'
      this.other('assistant/api-error', record)
      return
    }
    if (!this.state.open) this.startTurn()
    const id = textOf(message.id)
    const known = id === undefined ? undefined : this.state.messages.find((open) => open.id === id)
    const uuid = textOf(record.uuid)
    const isReplay =
      known === undefined
        ? id !== undefined && this.state.left.includes(id)
        : uuid !== undefined && known.uuids.includes(uuid)
    if (isReplay) {
      this.other('assistant/replayed', record)
      return
    }
    const open = known ?? this.open(id)
    if (uuid !== undefined) open.uuids.push(uuid)
    const model = textOf(message.model)
    for (const block of blocksOf(message.content)) open.content.push(partOf(block, model))
    open.raw.push(...blocksOf(message.content))
    const usage = laterUsage(
      open.usage,
      model === SYNTHETIC ? undefined : anthropicUsage(message.usage),
    )
    if (usage !== undefined) open.usage = usage
    const stop = textOf(message.stop_reason) ?? open.stop
    if (stop !== undefined) open.stop = stop
    this.state.stop = stop ?? 'unsaid'
    this.put('assistant/message', {
      content: [...open.content],
      ...(id === undefined ? {} : { id }),
      ...(model === undefined ? {} : { model }),
      provider: 'anthropic',
      ...(usage === undefined ? {} : { usage }),
      ...(stop === undefined ? {} : { stopReason: stop }),
      ...(known === undefined ? {} : { restates: true }),
      raw: { ...message, content: [...open.raw] },
      source: this.sourceOf(record, model === SYNTHETIC ? { synthetic: true } : {}),
    })
    this.show(record)
    this.todos(message.content)
  }

  private open(id: string | undefined): OpenMessage {
    const open: OpenMessage = {
      content: [],
      raw: [],
      uuids: [],
      ...(id === undefined ? {} : { id }),
    }
    if (id === undefined) return open
    const { messages, left } = this.state
    messages.push(open)
    if (messages.length > MESSAGES_OPEN_MAX) {
      const oldest = messages.shift()
      if (oldest?.id !== undefined) left.push(oldest.id)
    }
    return open
  }

  private todos(content: unknown): void {
    for (const block of blocksOf(content)) {
      if (!isObject(block) || block.type !== 'tool_use' || block.name !== 'TodoWrite') continue
      const items = isObject(block.input) ? block.input.todos : undefined
      if (Array.isArray(items)) this.put('todo/write', { items })
    }
  }

  private system(record: Json): void {
    const subtype = textOf(record.subtype)
    if (subtype === 'compact_boundary') this.state.kept = preservedOf(record.compactMetadata)
    if (subtype === 'api_error')
      this.put('retry', {
        of: 'model',
        attempt: Number(record.retryAttempt ?? 0),
        reason: errorText(record.error),
        ...(typeof record.retryInMs === 'number' ? { delayMs: record.retryInMs } : {}),
        source: this.sourceOf(record),
      })
    this.other(subtype === undefined ? 'system' : `system/${subtype}`, record)
    if (subtype === 'turn_duration') this.endTurn()
  }

  private attachment(record: Json): void {
    const attachment = isObject(record.attachment) ? record.attachment : {}
    const type = textOf(attachment.type)
    const { prompt } = attachment
    if (type !== 'queued_command' || !(typeof prompt === 'string' || Array.isArray(prompt))) {
      this.other(type === undefined ? 'attachment' : `attachment/${type}`, record)
      return
    }
    // Said in the middle of a turn, to which it belongs.
    const source = this.sourceOf(record, { queued: true })
    this.put('user/message', { content: contentOf(prompt), raw: attachment, source })
    this.show(record)
  }

  /**
   * From here on the model sees the summary instead of what was before, but for what was kept
   * beside it.
   */
  private compacted(record: Json, content: unknown): void {
    const { shown, kept } = this.state
    const isKept = keptFilter(kept, shown)
    const gone = shown.filter((one) => !isKept(one))
    const message = { role: 'user', content: contentOf(content), raw: record.message }
    const replaces = [...new Set(gone.map(([seq, line]) => `${seq}.${line}`))]
    this.put('compaction', { replaces, message, source: this.sourceOf(record) })
    this.state.shown = shown.filter(isKept)
    this.state.kept = []
    this.show(record)
  }

  /** The events of this line are seen by the model, until a compaction. */
  private show(record: Json): void {
    const id = textOf(record.uuid)?.slice(0, 8) ?? ''
    this.state.shown.push([this.event.seq, this.line, id])
  }

  private startTurn(): void {
    const { state } = this
    state.turn += 1
    state.open = true
    state.stop = ''
    // A message id is good inside one turn.
    state.messages = []
    state.left = []
    this.put('turn/start', { turn: state.turn })
  }

  private endTurn(reason?: TurnReason, why: object = {}): void {
    const { state } = this
    if (!state.open) return
    state.open = false
    const { turn, stop } = state
    const ended = reason ?? TURN_ENDS[stop] ?? 'aborted'
    const cause =
      reason === undefined && ended === 'aborted' ? { cause: 'the model had not finished' } : {}
    this.put('turn/end', { turn, reason: ended, ...why, ...cause })
  }
}

const SYNTHETIC = '<synthetic>'

/**
 * How a turn ended, by the last thing that is known of its last message. Old versions say nothing.
 */
const TURN_ENDS: Readonly<Record<string, TurnReason>> = {
  end_turn: 'completed',
  stop_sequence: 'completed',
  unsaid: 'completed',
  max_tokens: 'max-tokens',
  refusal: 'blocked',
  error: 'error',
}
