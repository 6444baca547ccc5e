/**
 * The words of the provider view: what was changed and why, and the pieces that a view is made of.
 * Types and tables; the rules are in `pairing.ts`, what a provider's form is in `view-*.ts`.
 * @see docs/provider-view.md
 */
import type { Message } from '../message.js'
import type { Fields } from './shape.js'

/** Why a view differs from the log, by kind of change. The set is closed. */
export const VIEW_CHANGES = {
  'call-unanswered': 'providers refuse a call without a result; an error result stands for it',
  'call-cut': 'the message was cut off inside the arguments of this call, so nothing can have run',
  'result-orphan': 'providers refuse a result without its call',
  'result-duplicate': 'providers take one result for a call; the first one stays',
  'result-moved': 'providers want results directly behind the message that asked for them',
  'error-flag': 'the provider has no place for it; the text of the result says it or nothing does',
  surrogate: 'half of a character is no valid Unicode; providers refuse it for ever',
  'not-json': 'the value has no form in JSON',
  'thinking-foreign': 'another model, or another provider, cannot check what this one signed',
  'thinking-unsigned': 'the provider takes back only thinking that it signed',
  'thinking-dangling': 'reasoning must be followed by what it led to',
  'item-id': 'the id ties the item to reasoning that is left out',
  'message-empty': 'providers refuse a message without content',
  'part-empty': 'the provider refuses text without a character in it',
  'part-dropped': 'the provider has no form for it',
  'part-moved': 'a result cannot hold it; it stands in a message behind the results',
  'input-wrapped': 'the provider wants arguments as an object',
  'id-changed': 'the provider refuses this id, or to see it twice',
  'name-changed': 'the provider refuses this name of a tool',
  'role-changed': 'the provider has no such role inside a conversation',
  merged: 'the provider wants roles to alternate',
} as const satisfies Record<string, string>

export type ViewChangeKind = keyof typeof VIEW_CHANGES

/** One thing that a view shows otherwise than the log says it. */
export interface ViewChange {
  /** The event that it concerns, and the place inside where a reader derived it. */
  readonly seq: number
  readonly line?: number
  readonly kind: ViewChangeKind
  /** What was changed: ids, names, types and counts, never content. */
  readonly what: string
  readonly why: string
}

export type Address = Pick<Message, 'seq' | 'line'>

/** Collects what a view changes. */
export class Lint {
  readonly changes: ViewChange[] = []

  add(at: Address, kind: ViewChangeKind, what: string): void {
    const { seq, line } = at
    const place = line === undefined ? { seq } : { seq, line }
    this.changes.push({ ...place, kind, what, why: VIEW_CHANGES[kind] })
  }
}

/** A piece of a message in the provider's own form, and what it is for the rules. */
export interface Block {
  readonly kind: 'content' | 'thinking' | 'call' | 'result'
  readonly value: Fields
  /** Of calls and results: the id by which they find each other. */
  readonly id?: string
  /** What a result cannot hold, as content of a user's message. */
  readonly spill?: readonly Fields[]
  /** Where it comes from. */
  readonly at: Address
}

/** One message on its way into a view. */
export interface Entry {
  readonly at: Address
  readonly role: 'user' | 'assistant'
  readonly blocks: readonly Block[]
  /** The message as it was given, sendable as it is while its blocks stay as they are. */
  readonly whole?: unknown
}

export interface ViewContext {
  /** The model that is asked; undefined: whatever the provider signed is kept. */
  readonly model?: string
  readonly lint: Lint
}

/** What a provider's form of messages is. */
export interface Dialect {
  entryOf(message: Message, context: ViewContext): Entry
  /** A result that says that there is none; undefined where the provider has no form for that. */
  missingResult(call: Block): Block | undefined
  assemble(entries: readonly Entry[], context: ViewContext): unknown[]
}

/** What stands in the place of a result that nobody recorded. */
export const NO_RESULT =
  'No result of this call was recorded. It may have run or not: check before you rely on either.'
