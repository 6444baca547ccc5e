/**
 * Events that Codex records for people: what was said once more, where turns begin and end, what
 * things took. Most say what items say too; only what is new becomes an event.
 */
import { sayUnpaired } from './codex-items.js'
import { meetEvent, partFrom, textHash } from './codex-pairs.js'
import { contentTexts, imagePart } from './codex-parts.js'
import { readSetup } from './codex-session.js'
import type { CodexReading } from './codex-state.js'
import { endCopyAt, readTokenCount } from './codex-tokens.js'
import { beginByContent, readRolledBack, readTurnEnd, readTurnStart } from './codex-turns.js'
import { isMembers, type Members, text } from './json-members.js'

type ReadEvent = (reading: CodexReading, payload: Members) => void

/** A map: a type may be called `constructor`. */
const EVENTS: ReadonlyMap<string, ReadEvent> = new Map<string, ReadEvent>([
  ['user_message', readUserText],
  ['agent_message', (reading, { message }) => readAnswerText(reading, text(message) ?? '')],
  ['agent_reasoning', (reading, payload) => readThought(reading, text(payload.text) ?? '')],
  [
    'agent_reasoning_raw_content',
    (reading, payload) => readThought(reading, text(payload.text) ?? ''),
  ],
  ['token_count', readTokenCount],
  ['task_started', readStart],
  ['turn_started', readStart],
  ['task_complete', readEnd],
  ['turn_complete', readEnd],
  ['turn_aborted', readEnd],
  ['thread_rolled_back', readRolledBack],
  ['thread_name_updated', readName],
  ['thread_settings_applied', readSettings],
  ['item_completed', readCompletedItem],
  // The mark of a `compacted` record, which says what it is.
  ['context_compacted', () => {}],
])

export function readEvent(reading: CodexReading, payload: Members): void {
  const type = text(payload.type) ?? 'unknown'
  const read = EVENTS.get(type)
  if (read === undefined) reading.other(`event_msg/${type}`, payload)
  else read(reading, payload)
}

function readStart(reading: CodexReading, payload: Members): void {
  endCopyAt(reading, payload.started_at)
  sayUnpaired(reading)
  readTurnStart(reading, payload)
}

function readEnd(reading: CodexReading, payload: Members): void {
  sayUnpaired(reading)
  if (!readTurnEnd(reading, payload)) reading.other(`event_msg/${String(payload.type)}`, payload)
}

function readUserText(reading: CodexReading, payload: Members): void {
  const message = text(payload.message) ?? ''
  sayUnpaired(reading)
  beginByContent(reading, 'event')
  if (isSaid(reading, 'user', message)) return
  const images = [payload.images, payload.local_images].filter(Array.isArray).flat() as unknown[]
  const content =
    images.length === 0
      ? message
      : [{ type: 'text', text: message }, ...images.map((url) => imagePart(String(url)))]
  reading.outVisible('user', 'user/message', { content, raw: payload })
}

/** Whether the model's view has the text already; else it waits for its item. */
function isSaid(reading: CodexReading, kind: 'user' | 'reasoning', said: string): boolean {
  const { pairs, paired } = meetEvent(reading.state.pairs, kind, { hash: textHash(said) })
  reading.set({ pairs })
  return paired
}

/**
 * An answer is told before its item in some versions: until that comes it is a piece of a message.
 */
function readAnswerText(reading: CodexReading, said: string): void {
  reading.set({ pairs: partFrom(reading.state.pairs, ['user']) })
  const pending = { hash: textHash(said), text: said }
  const { pairs, paired } = meetEvent(reading.state.pairs, 'assistant', pending)
  reading.set({ pairs })
  if (paired) return
  beginByContent(reading, 'answer')
  outPiece(reading, said)
}

/** The model sees what it thought only as its item says it: often encrypted. People see this. */
function readThought(reading: CodexReading, said: string): void {
  if (isSaid(reading, 'reasoning', said)) return
  beginByContent(reading, 'answer')
  outPiece(reading, { type: 'thinking', text: said })
}

function outPiece(reading: CodexReading, piece: unknown): void {
  const times = reading.time === undefined ? [] : [reading.time]
  reading.out('assistant/chunk', { message: `event-${reading.address}`, pieces: [piece], times })
}

/**
 * Items as newer versions complete them for people: messages again, and things that have no other
 * record.
 */
function readCompletedItem(reading: CodexReading, payload: Members): void {
  const { item } = payload
  const type = isMembers(item) ? text(item.type) : undefined
  const said = isMembers(item) ? contentTexts(item.content).join('') || text(item.text) : undefined
  if (type === 'UserMessage') readUserText(reading, { ...payload, message: said })
  else if (type === 'AgentMessage') readAnswerText(reading, said ?? '')
  else if (type !== 'ContextCompaction')
    reading.other(`event_msg/item_completed/${type ?? 'unknown'}`, payload)
}

/** What the session goes on with: its model or directory may have changed. */
function readSettings(reading: CodexReading, payload: Members): void {
  if (isMembers(payload.thread_settings)) readSetup(reading, payload.thread_settings)
  reading.other('event_msg/thread_settings_applied', payload)
}

function readName(reading: CodexReading, payload: Members): void {
  const title = text(payload.thread_name)
  if (title === undefined) reading.other('event_msg/thread_name_updated', payload)
  else reading.describe({ title })
}
