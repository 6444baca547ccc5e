/**
 * Which events a model sees, and as what: one rule for an event, used by caches and outsiders
 * alike.
 * Knows the neutral form only; `fold/provider/` makes of it what a provider wants.
 */
import type { Content } from '../core/content.js'
import type { RunEvent } from '../core/event.js'
import type { AssistantMessage, ToolResult, UserMessage } from '../core/event-map.js'
import type { Hash } from '../core/hash.js'

/** One message of the model view. */
export interface Message {
  /** The event that it comes from. */
  readonly seq: number
  /** Its place inside that event, where a reader derived it. */
  readonly line?: number
  /** Where it comes from before a fork: the identity of the run that it is in. */
  readonly run?: Hash
  readonly role: 'user' | 'assistant' | 'tool'
  /** Of a tool: one part of type `tool_result`. */
  readonly content: Content
  readonly id?: string
  readonly model?: string
  readonly provider?: string
  readonly interrupted?: boolean
  /** The provider's own form, exactly, where there was one. */
  readonly raw?: unknown
}

/**
 * What a model sees of an event; undefined where it sees nothing: chunks, and whatever is no
 * message.
 * A compaction is not one message but a change of the view: see the projection `messages`.
 */
export function deriveMessage(event: RunEvent): Message | undefined {
  if (event.redacted === true) return undefined
  const data = event.data as Record<string, unknown> | null | undefined
  if (typeof data !== 'object' || data === null) return undefined
  const at = placeOf(event)
  const raw = data.raw === undefined ? {} : { raw: data.raw }
  switch (event.type) {
    case 'user/message':
      return { ...at, role: 'user', content: (data as unknown as UserMessage).content, ...raw }
    case 'assistant/message': {
      const { content, id, model, provider, interrupted } = data as unknown as AssistantMessage
      return {
        ...at,
        role: 'assistant',
        content,
        ...(id === undefined ? {} : { id }),
        ...(model === undefined ? {} : { model }),
        ...(provider === undefined ? {} : { provider }),
        ...(interrupted === undefined ? {} : { interrupted }),
        ...raw,
      }
    }
    case 'tool/result': {
      const { id, content, isError } = data as unknown as ToolResult
      const error = isError === undefined ? {} : { isError }
      return {
        ...at,
        role: 'tool',
        content: [{ type: 'tool_result', id, content, ...error }],
        ...raw,
      }
    }
    default:
      return undefined
  }
}

/** The members of a message that say where it comes from. */
export function placeOf({ seq, line, run }: Place): Place {
  return {
    seq,
    ...(line === undefined ? {} : { line }),
    ...(run === undefined ? {} : { run }),
  }
}

type Place = Pick<Message, 'seq' | 'line' | 'run'>
