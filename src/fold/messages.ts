/**
 * The messages that a model sees, in order: what was compacted is shadowed, nothing else is left
 * out.
 * People who want to see everything read the events.
 */
import type { RunEvent } from '../core/event.js'
import type { Compaction, CompactionMessage } from '../core/event-map.js'
import { type Address, addressOf } from './address.js'
import {
  appendTo,
  EMPTY_LIST,
  fromArray,
  type GrowingList,
  itemAt,
  lengthOf,
  replaceIn,
  toArray,
} from './growing-list.js'
import { deriveMessage, type Message, placeOf } from './message.js'
import type { Projection } from './projection.js'

export interface MessagesState {
  readonly list: GrowingList<Message>
  /**
   * Where the last turn begins in the list: a message that is stated anew is looked for from there.
   */
  readonly turnFrom: number
}

export const messages: Projection<MessagesState, readonly Message[]> = {
  key: 'messages',
  version: 1,
  types: ['turn/start', 'user/message', 'assistant/message', 'tool/result', 'compaction'],
  init: () => ({ list: EMPTY_LIST, turnFrom: 0 }),
  apply(state, event) {
    if (event.type === 'turn/start') return { ...state, turnFrom: lengthOf(state.list) }
    if (event.type === 'compaction') return compacted(state, event)
    const message = deriveMessage(event)
    if (message === undefined) return state
    return restates(event) ? restated(state, message) : added(state, message)
  },
  view: ({ list }) => toArray(list),
}

/** Whether an event says a message anew that is there already. */
export function restates({ type, data }: RunEvent): boolean {
  return (
    type === 'assistant/message' &&
    (data as { restates?: unknown } | null | undefined)?.restates === true
  )
}

function added(state: MessagesState, message: Message): MessagesState {
  return { ...state, list: appendTo(state.list, message) }
}

/** A message of a model that is stated anew takes the place of the first statement. */
function restated(state: MessagesState, message: Message): MessagesState {
  const at = message.id === undefined ? -1 : statedAt(state, message.id)
  if (at < 0) return added(state, message)
  const { line: _, run: __, ...stated } = message
  const place = placeOf(itemAt(state.list, at) as Message)
  return { ...state, list: replaceIn(state.list, at, { ...stated, ...place }) }
}

function statedAt({ list, turnFrom }: MessagesState, id: string): number {
  for (let at = lengthOf(list) - 1; at >= turnFrom; at -= 1) {
    const { role, id: other } = itemAt(list, at) as Message
    if (role === 'assistant' && other === id) return at
  }
  return -1
}

/** What is cited goes; what stands for it comes where the first of it was. */
function compacted(state: MessagesState, event: RunEvent): MessagesState {
  const data = event.data as Compaction | null | undefined
  if (!Array.isArray(data?.replaces)) return state
  const cited = new Set<Address>(data.replaces)
  const all = toArray(state.list)
  const first = all.findIndex((message) => cited.has(addressOf(message)))
  const at = first < 0 ? all.length : first
  const kept = all.slice(at).filter((message) => !cited.has(addressOf(message)))
  const given = (Array.isArray(data.message) ? data.message : [data.message]) as unknown[]
  const standing = given.filter(isObject).map((one) => {
    const { role, content, raw } = one as unknown as CompactionMessage
    return { ...placeOf(event), role, content, ...(raw === undefined ? {} : { raw }) }
  })
  const list = fromArray([...all.slice(0, at), ...standing, ...kept])
  // A turn that is partly shadowed goes on behind what stands for it.
  return { list, turnFrom: Math.min(Math.max(state.turnFrom, at), lengthOf(list)) }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
