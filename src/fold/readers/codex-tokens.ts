/**
 * What calls of the model took, out of a rollout's counts: a running total and the last call's
 * share, said again whenever a rate limit changes, and in newer files a record for each response as
 * well. Each call is derived once, however often it is told. What was copied from a parent is
 * marked, not left out: whether it is counted somewhere else is for whoever adds up.
 * @see docs/usage.md#codex
 */
import type { Usage } from '../../core/event-map.js'
import type { CodexReading, TokenVector } from './codex-state.js'
import { isMembers, type Members, text } from './json-members.js'

/** The order of a `TokenVector`. */
const FIELDS = [
  'input_tokens',
  'cached_input_tokens',
  'cache_write_input_tokens',
  'output_tokens',
  'reasoning_output_tokens',
] as const

const RECORDS_MAX = 16
/** Lines of a copy are written at once; the first call of a session takes longer than this. */
const COPY_PAUSE_MS = 1000

/** `event_msg` of type `token_count`. */
export function readTokenCount(reading: CodexReading, payload: Members): void {
  const { info } = payload
  // Without it, only rate limits were told.
  if (!isMembers(info)) return
  const { tokens } = reading.state
  const total = vectorOf(info.total_token_usage)
  const last = vectorOf(info.last_token_usage)
  const before = tokens.total
  if (total !== undefined && before !== undefined && equal(total, before)) return
  const grown = total === undefined ? undefined : difference(total, before)
  const share = last ?? grown
  if (total !== undefined) reading.set({ tokens: { ...tokens, total } })
  if (share === undefined || share.every((count) => count === 0)) return
  if (last !== undefined && grown !== undefined && before !== undefined && !equal(last, grown))
    reading.other('event_msg/token_count/total-differs', info)
  const known = tokens.records.findIndex((record) => equal(record, share))
  if (known >= 0) {
    const records = tokens.records.toSpliced(known, 1)
    reading.set({ tokens: { ...reading.state.tokens, records } })
    return
  }
  const calls = tokens.calls + 1
  const id = `call-${calls}`
  reading.set({ tokens: { ...reading.state.tokens, calls, counted: [id, share] } })
  outUsage(reading, id, share, payload)
}

/** `token_usage_record`: one for each response, in newer files. */
export function readTokenRecord(reading: CodexReading, payload: Members): void {
  const share = vectorOf(payload.usage)
  if (share === undefined) {
    reading.other('token_usage_record', payload)
    return
  }
  const { counted: _, ...tokens } = reading.state.tokens
  const { counted } = reading.state.tokens
  if (counted !== undefined && equal(counted[1], share)) {
    // Its count came first: the same call, stated anew.
    reading.set({ tokens })
    outUsage(reading, counted[0], share, payload)
    return
  }
  const calls = tokens.calls + 1
  const records = [...tokens.records, share].slice(-RECORDS_MAX)
  reading.set({ tokens: { ...tokens, calls, records } })
  outUsage(reading, text(payload.response_id) ?? `call-${calls}`, share, payload)
}

function outUsage(reading: CodexReading, id: string, share: TokenVector, payload: Members): void {
  const { model, provider } = reading.state
  const copied = copiedBy(reading, payload)
  reading.out('assistant/usage', {
    id,
    ...(model === undefined ? {} : { model }),
    ...(provider === undefined ? {} : { provider }),
    usage: usageOf(share),
    ...(copied === undefined ? {} : { copied }),
  })
}

/** Why a call is known to be a parent's, if it is: `record` says so itself, or its `time` does. */
function copiedBy(reading: CodexReading, payload: Members): 'record' | 'time' | undefined {
  const { session, tokens } = reading.state
  if (session === undefined) return undefined
  const thread = text(payload.thread_id)
  if (thread !== undefined && thread !== session.id) return 'record'
  const { ordinal, time } = reading
  if (session.ownOrdinal !== undefined && ordinal !== undefined)
    return ordinal < session.ownOrdinal ? 'record' : undefined
  if (tokens.copying) return 'time'
  if (session.parent === undefined || session.started === undefined || time === undefined)
    return undefined
  return time < session.started ? 'time' : undefined
}

/**
 * To be told of each record before it is read: a copy ends where its lines are no longer all at
 * once.
 */
export function watchCopy(reading: CodexReading): void {
  const { session, tokens } = reading.state
  const { time } = reading
  if (!tokens.copying || time === undefined) return
  const started = session?.started ?? 0
  const { before } = tokens
  const paused =
    before !== undefined && time >= started && (before < started || time - before > COPY_PAUSE_MS)
  reading.set({ tokens: { ...tokens, copying: !paused, before: time } })
}

/** A turn that began after the session did is no copy, whenever its line was written. */
export function endCopyAt(reading: CodexReading, turnStarted: unknown): void {
  const { session, tokens } = reading.state
  if (!tokens.copying || typeof turnStarted !== 'number' || session?.started === undefined) return
  // Seconds in some versions, milliseconds in others.
  const startedMs = turnStarted < 1e11 ? turnStarted * 1000 : turnStarted
  if (startedMs >= Math.floor(session.started / 1000) * 1000)
    reading.set({ tokens: { ...tokens, copying: false } })
}

function vectorOf(value: unknown): TokenVector | undefined {
  if (!isMembers(value)) return undefined
  return FIELDS.map((field) => {
    const count = value[field]
    return typeof count === 'number' && Number.isFinite(count) && count > 0 ? count : 0
  })
}

function usageOf([
  input = 0,
  cached = 0,
  written = 0,
  output = 0,
  reasoning = 0,
]: TokenVector): Usage {
  return {
    inputTokens: input,
    outputTokens: output,
    cacheReadTokens: cached,
    ...(written === 0 ? {} : { cacheWriteTokens: written }),
    reasoningTokens: reasoning,
  }
}

/** How much the total grew; undefined where it fell: it was begun anew. */
function difference(total: TokenVector, before: TokenVector | undefined): TokenVector | undefined {
  if (before === undefined) return total
  const grown = total.map((count, at) => count - (before[at] as number))
  return grown.every((count) => count >= 0) ? grown : undefined
}

function equal(left: TokenVector, right: TokenVector): boolean {
  return left.every((count, at) => count === right[at])
}
