/**
 * Tokens that calls of models took: one row a call, whatever was said of it how often.
 * Knows calls of one run. Which of them other runs hold as well is for whoever looks at several
 * (`usage-across.ts`); what they cost is in `prices.ts`.
 * @see docs/usage.md
 */
import type { RunEvent } from '../core/event.js'
import type { AssistantMessage, AssistantUsage, SessionInfo, Usage } from '../core/event-map.js'
import {
  appendTo,
  EMPTY_LIST,
  type GrowingList,
  itemAt,
  lengthOf,
  replaceIn,
  toArray,
} from './growing-list.js'
import type { Projection } from './projection.js'

/** One call of a model. Numbers are whole: of a message that grew, the last word on it. */
export interface UsageCall {
  /** When it was first told of, in ms since 1970. */
  readonly time: number
  readonly model?: string
  readonly provider?: string
  /** Directory that the session worked in then. */
  readonly project?: string
  readonly usage: Usage
  /** The provider's name for the message, where a transcript told of it: the same in every copy. */
  readonly message?: string
  /** The call is another session's, whose history this one begins with. */
  readonly copied?: 'record' | 'time'
}

export interface UsageState {
  readonly calls: GrowingList<UsageCall>
  /** Where each call that has a name is in the list: rows in buckets, by a hash of the name. */
  readonly places: readonly (readonly Place[])[]
  readonly turn: number
  readonly session?: string
  readonly parent?: SessionInfo['parent']
  readonly project?: string
  readonly model?: string
}

type Place = readonly [key: string, at: number]

const BUCKETS = 64

/** Only calls that were made by this run itself: a fork begins at nothing. */
export const usage: Projection<UsageState, ModelUsage> = {
  key: 'usage',
  version: 1,
  types: ['turn/start', 'session/info', 'request/header', 'assistant/message', 'assistant/usage'],
  inherits: false,
  init: () => ({ calls: EMPTY_LIST, places: Array.from({ length: BUCKETS }, () => []), turn: 0 }),
  apply(state, event) {
    const data = event.data as Record<string, unknown> | null | undefined
    if (typeof data !== 'object' || data === null) return state
    switch (event.type) {
      case 'turn/start':
        return { ...state, turn: state.turn + 1 }
      case 'session/info':
        return withInfo(state, data as SessionInfo)
      case 'request/header':
        return typeof data.model === 'string' ? { ...state, model: data.model } : state
      default:
        return withCall(state, event, data)
    }
  },
  view: usageOf,
}

/** What one run took. */
export interface ModelUsage {
  /** The source's name of the session, and of the one that it came from, where it was imported. */
  readonly session?: string
  readonly parent?: SessionInfo['parent']
  /** In the order in which they were first told of, copied ones among them. */
  readonly calls: readonly UsageCall[]
}

function usageOf({ session, parent, calls }: UsageState): ModelUsage {
  return {
    ...(session === undefined ? {} : { session }),
    ...(parent === undefined ? {} : { parent }),
    calls: toArray(calls),
  }
}

function withInfo(state: UsageState, { session, parent, cwd }: SessionInfo): UsageState {
  const next = {
    ...state,
    ...(typeof session === 'string' ? { session } : {}),
    ...(typeof parent === 'object' && parent !== null ? { parent } : {}),
    ...(typeof cwd === 'string' ? { project: cwd } : {}),
  }
  return next.session === state.session &&
    next.project === state.project &&
    JSON.stringify(next.parent) === JSON.stringify(state.parent)
    ? state
    : next
}

function withCall(
  state: UsageState,
  event: RunEvent,
  data: Partial<AssistantMessage & AssistantUsage> & { readonly source?: unknown },
): UsageState {
  const counted = countsOf(data.usage)
  if (counted === undefined) return state
  const key = keyOf(state, event, data)
  const bucket = key === undefined ? 0 : bucketOf(key)
  const known =
    key === undefined ? undefined : state.places[bucket]?.findLast(([one]) => one === key)
  // Some providers use ids again: what a run recorded itself is the same only where it says so.
  const isSame = isDerived(event) || data.restates === true
  if (known !== undefined && isSame) return restated(state, known[1], counted)
  const call: UsageCall = {
    time: event.time,
    ...given('model', typeof data.model === 'string' ? data.model : state.model),
    ...given('provider', typeof data.provider === 'string' ? data.provider : undefined),
    ...given('project', state.project),
    usage: counted,
    ...given('message', event.type === 'assistant/message' && isDerived(event) ? key : undefined),
    ...given('copied', data.copied),
  }
  const calls = appendTo(state.calls, call)
  if (key === undefined) return { ...state, calls }
  const row: Place = [key, lengthOf(state.calls)]
  const places = state.places.with(bucket, [...(state.places[bucket] ?? []), row])
  return { ...state, calls, places }
}

/**
 * A message that was told of before: the one that says more output counts, the later where equal.
 */
function restated(state: UsageState, at: number, counted: Usage): UsageState {
  const before = itemAt(state.calls, at) as UsageCall
  if ((counted.outputTokens ?? 0) < (before.usage.outputTokens ?? 0)) return state
  if (JSON.stringify(counted) === JSON.stringify(before.usage)) return state
  return { ...state, calls: replaceIn(state.calls, at, { ...before, usage: counted }) }
}

/**
 * What names a call. Transcripts tell of one message in several lines, and again where a session
 * was resumed; a message that a run recorded itself is named inside its turn only.
 */
function keyOf(
  { turn }: UsageState,
  event: RunEvent,
  { id, source }: { readonly id?: unknown; readonly source?: unknown },
): string | undefined {
  if (typeof id !== 'string') return undefined
  if (!isDerived(event)) return `${turn}/${id}`
  const request = (source as { request?: unknown } | null | undefined)?.request
  return typeof request === 'string' ? `${id}/${request}` : id
}

function isDerived({ line }: RunEvent): boolean {
  return line !== undefined
}

const COUNTS = [
  'inputTokens',
  'outputTokens',
  'cacheReadTokens',
  'cacheWriteTokens',
  'cacheWrite1hTokens',
  'reasoningTokens',
] as const

/** Numbers only, as anybody may append anything; undefined where nothing was counted. */
function countsOf(said: unknown): Usage | undefined {
  if (typeof said !== 'object' || said === null) return undefined
  const counts: Partial<Record<(typeof COUNTS)[number], number>> = {}
  for (const name of COUNTS) {
    const count = (said as Record<string, unknown>)[name]
    if (typeof count === 'number' && Number.isFinite(count) && count > 0) counts[name] = count
  }
  return Object.keys(counts).length === 0 ? undefined : counts
}

function given<K extends string, V>(key: K, value: V | undefined): { [key in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [key in K]?: V })
}

/** FNV-1a over the name's code units. */
function bucketOf(key: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < key.length; at++) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193)
  return (hash >>> 0) % BUCKETS
}
