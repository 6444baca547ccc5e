/**
 * What goes from step to step through a session's messages: a request is a function of the log, so
 * a call of a model has been given every message before it, and a tool what a model asked for.
 * A message belongs to the step that it is one with: it stands right before its end, a tool's call
 * right behind its start.
 */
import type { Content } from '../core/content.js'
import type { RunEvent } from '../core/event.js'
import { isHash } from '../core/hash.js'
import { toolCallsOf } from './provider/neutral.js'

/** Types of events, beside those of steps, that say something here. */
export const SESSION_FLOW_TYPES = [
  'user/message',
  'assistant/message',
  'tool/result',
  'tool/call',
  'compaction',
] as const

/** A step that another one uses: places of steps in their graph. */
export interface SessionUse {
  readonly giver: number
  readonly user: number
  readonly to: string
}

interface Said {
  readonly seq: number
  readonly calls: readonly string[]
}

export class SessionFlow {
  /** A message, until the event behind it says whose it is. */
  #said: Said | undefined
  #started: { readonly seq: number; readonly place: number } | undefined
  /** Steps that gave a message since a model was asked last, and that one itself. */
  #givers: number[] = []
  readonly #callers = new Map<string, number>()

  /** Take in an event about no step. @returns What it says that the step before it uses. */
  message(event: RunEvent): SessionUse | undefined {
    const { seq, type, data } = event
    if (type === 'tool/call') return this.#called(seq, data)
    if (type !== 'assistant/message' && type !== 'tool/result') return undefined
    this.#said = { seq, calls: type === 'tool/result' ? [] : callsIn(data) }
    return undefined
  }

  /** A step has begun; what it uses of the messages before it. */
  begun(seq: number, place: number, input: unknown): readonly SessionUse[] {
    this.#started = { seq, place }
    if (!isHash((input as { request?: unknown } | null | undefined)?.request)) return []
    const givers = this.#givers
    this.#givers = []
    return givers.map((giver) => ({ giver, user: place, to: '/input/request' }))
  }

  /** A step has ended; the message right before that is its own. */
  ended(seq: number, place: number): void {
    const said = this.#said
    this.#said = undefined
    if (said?.seq !== seq - 1) return
    this.#givers.push(place)
    for (const call of said.calls) this.#callers.set(call, place)
  }

  #called(seq: number, data: unknown): SessionUse | undefined {
    const id = (data as { id?: unknown } | null)?.id
    const started = this.#started
    if (typeof id !== 'string' || started?.seq !== seq - 1) return undefined
    const giver = this.#callers.get(id)
    return giver === undefined ? undefined : { giver, user: started.place, to: '/input' }
  }
}

/** Ids of the tools that a message asks for; users may have appended anything under its type. */
function callsIn(data: unknown): readonly string[] {
  const content = (data as { content?: unknown } | null)?.content
  if (!Array.isArray(content)) return []
  const parts = content.filter((part) => typeof part === 'object' && part !== null)
  return toolCallsOf({ content: parts as Content })
    .map(({ id }) => id)
    .filter((id) => typeof id === 'string')
}
