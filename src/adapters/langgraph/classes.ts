/**
 * The classes whose instances are kept: messages, what LangGraph itself stores, and those that the
 * user allows. Nothing else is ever constructed from what is stored.
 */
import { Document } from '@langchain/core/documents'
import * as messages from '@langchain/core/messages'
import { ChatPromptValue, ImagePromptValue, StringPromptValue } from '@langchain/core/prompt_values'
import { DeltaSnapshot } from '@langchain/langgraph-checkpoint'

// biome-ignore lint/suspicious/noExplicitAny: a constructor of anything.
export type Class = new (...args: any[]) => object

const MESSAGE_NAMES = [
  'HumanMessage',
  'HumanMessageChunk',
  'AIMessage',
  'AIMessageChunk',
  'SystemMessage',
  'SystemMessageChunk',
  'ToolMessage',
  'ToolMessageChunk',
  'FunctionMessage',
  'FunctionMessageChunk',
  'ChatMessage',
  'ChatMessageChunk',
  'RemoveMessage',
]

/** What a message of a class has beside what it was made of, and a shape to tell that by. */
export interface MessageClass {
  readonly name: string
  readonly make: Class
  /** Own fields of every instance that say nothing about one. */
  readonly constant: Readonly<Record<string, unknown>>
}

/** Fields that the constructor makes for itself. */
const OF_CONSTRUCTOR = ['lc_serializable', 'lc_kwargs', 'lc_namespace', 'type']

const messageClasses = new Map<string, MessageClass>()
for (const name of MESSAGE_NAMES) {
  const make = (messages as Record<string, unknown>)[name] as Class | undefined
  if (make !== undefined) messageClasses.set(name, { name, make, constant: constantsOf(make) })
}

function constantsOf(make: Class): Record<string, unknown> {
  const sample = new make({ content: '', id: '', tool_call_id: '', name: '', role: '' })
  const fields = Object.entries(sample)
  return Object.fromEntries(fields.filter(([key, value]) => !isAsked(key, value)))
}

/**
 * Whether a field of the sample came from what it was made of, so that it may be any in another.
 */
function isAsked(key: string, value: unknown): boolean {
  if (OF_CONSTRUCTOR.includes(key)) return false
  return value === '' || (typeof value === 'object' && value !== null)
}

export function messageClass(name: string): MessageClass | undefined {
  return messageClasses.get(name)
}

const MESSAGE_NAMESPACE = 'langchain_core/messages'

/**
 * The class of a message, also of one that another copy of `@langchain/core` made. Undefined for
 * all else, such as an instance of a class derived from one.
 */
export function classOfMessage(value: object): MessageClass | undefined {
  const { lc_serializable: is, lc_namespace: space } = value as {
    readonly lc_serializable?: unknown
    readonly lc_namespace?: unknown
  }
  if (is !== true || !Array.isArray(space) || space.join('/') !== MESSAGE_NAMESPACE)
    return undefined
  const id: unknown = (value as { readonly lc_id?: unknown }).lc_id
  const name: unknown = Array.isArray(id) ? id.at(-1) : undefined
  return typeof name === 'string' ? messageClasses.get(name) : undefined
}

export function isDelta(value: object): value is { readonly value: unknown } {
  return value instanceof DeltaSnapshot || isDeltaOfAnotherCopy(value)
}

function isDeltaOfAnotherCopy(value: object): boolean {
  const isMarked = (value as { readonly lg_name?: unknown }).lg_name === 'DeltaSnapshot'
  return isMarked && value.constructor?.name === 'DeltaSnapshot'
}

export function deltaOf(value: unknown): object {
  return new DeltaSnapshot(value)
}

/** Other classes of `@langchain/core` that are found in states. */
const OF_CORE: readonly Class[] = [Document, ChatPromptValue, ImagePromptValue, StringPromptValue]
const CORE_PREFIX = 'langchain_core/'

/** Also of an instance that another copy of `@langchain/core` made. */
function coreNameOf(value: object): string | undefined {
  const { name } = value.constructor ?? {}
  const is = OF_CORE.some(
    (one) => one === value.constructor || (one.name === name && isLike(value)),
  )
  return is ? CORE_PREFIX + name : undefined
}

function isLike(value: object): boolean {
  const { lc_namespace: space } = value as { readonly lc_namespace?: unknown }
  if (Array.isArray(space)) return space.join('/') === 'langchain_core/prompt_values'
  return Object.keys(value).toSorted().join() === 'id,metadata,pageContent'
}

/** Classes that the user allows, by name. */
export class AllowedClasses {
  readonly #byName = new Map<string, Class>()
  readonly #names = new Map<unknown, string>()

  constructor(classes: readonly Class[] = []) {
    for (const one of classes) {
      this.#byName.set(one.name, one)
      this.#names.set(one, one.name)
    }
  }

  nameOf(value: object): string | undefined {
    return this.#names.get(value.constructor) ?? coreNameOf(value)
  }

  get(name: string): Class | undefined {
    return this.#byName.get(name) ?? OF_CORE.find((one) => CORE_PREFIX + one.name === name)
  }
}
