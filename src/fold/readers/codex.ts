/**
 * Codex rollouts as session events: every era, every record type that is known, and any other kept.
 * Knows how a line is wrapped; what each kind of record means is beside this file.
 * @see docs/codex.md
 */
import { faultEvent, linesOf } from '../import-lines.js'
import type { Reader } from '../reader.js'
import { readEvent } from './codex-events.js'
import { readCompacted, readItem } from './codex-items.js'
import { readMeta, readSetup } from './codex-session.js'
import { CODEX_START, CodexReading, type CodexState } from './codex-state.js'
import { readTokenRecord, watchCopy } from './codex-tokens.js'
import { isMembers, type Members, text, timeOf } from './json-members.js'

export const codex: Reader<CodexState> = {
  key: 'codex',
  version: 2,
  types: ['import/lines'],
  init: () => CODEX_START,
  read(state, event) {
    const reading = new CodexReading(state, event.seq)
    const { from, items } = linesOf(event.data)
    for (const item of items) {
      reading.line = item.line
      if (item.fault !== undefined) reading.events.push(faultEvent(item, from))
      else readRecord(reading, item.value)
    }
    return { state: reading.end(), events: reading.events }
  },
}

/**
 * One line: `{timestamp, ordinal?, type, payload}`, or what the oldest versions wrote without it.
 */
function readRecord(reading: CodexReading, record: unknown): void {
  if (!isMembers(record)) {
    reading.other('value', record)
    return
  }
  const time = timeOf(record.timestamp)
  if (time !== undefined) reading.set({ time })
  // A line that does not say when is as old as the one before it.
  reading.time = time ?? reading.state.time
  reading.ordinal = typeof record.ordinal === 'number' ? record.ordinal : undefined
  watchCopy(reading)
  const { payload } = record
  if (isMembers(payload)) readWrapped(reading, text(record.type) ?? 'unknown', payload)
  else readBare(reading, record)
}

type ReadPayload = (reading: CodexReading, payload: Members) => void

/** A map: a type may be called `constructor`. */
const RECORDS: ReadonlyMap<string, ReadPayload> = new Map<string, ReadPayload>([
  ['session_meta', readMeta],
  ['response_item', readItem],
  ['event_msg', readEvent],
  ['compacted', readCompacted],
  ['turn_context', readTurnContext],
  ['token_usage_record', readTokenRecord],
])

function readWrapped(reading: CodexReading, type: string, payload: Members): void {
  const read = RECORDS.get(type)
  if (read === undefined) reading.other(type, payload)
  else read(reading, payload)
}

/** It says more than the header can hold: policies, directories, dates. */
function readTurnContext(reading: CodexReading, payload: Members): void {
  readSetup(reading, payload)
  reading.other('turn_context', payload)
}

/** Items of the Responses API that the first versions wrote as lines of their own. */
const BARE_ITEMS =
  /^(?:message|reasoning|(?:function|custom_tool|local_shell|web_search)_call(?:_output)?)$/

function readBare(reading: CodexReading, record: Members): void {
  const type = text(record.type)
  const isFirst = reading.state.session === undefined && type === undefined
  if (type !== undefined && BARE_ITEMS.test(type)) readItem(reading, record)
  else if (isFirst && typeof record.id === 'string' && 'timestamp' in record)
    readMeta(reading, record)
  else reading.other(type ?? text(record.record_type) ?? 'unknown', record)
}
