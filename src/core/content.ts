/**
 * What messages are made of, in one neutral form for all providers. Types only.
 * It need not be complete: what a provider sent is kept exactly beside it (`raw`), and what has no
 * neutral form is a part of type `other`.
 * @see docs/format.md#events
 */

export interface TextPart {
  readonly type: 'text'
  readonly text: string
}

/** A model asks for a tool. */
export interface ToolUsePart {
  readonly type: 'tool_use'
  /** As the provider gave it. Providers use ids again: a pair is known by (turn, id). */
  readonly id: string
  readonly name: string
  /** The arguments as a value; the string itself where they are no JSON. */
  readonly input: unknown
  /** The exact string that the model wrote, where the provider gives one. */
  readonly arguments?: string
}

export interface ToolResultPart {
  readonly type: 'tool_result'
  readonly id: string
  readonly content: Content
  readonly isError?: boolean
}

export interface ThinkingPart {
  readonly type: 'thinking'
  readonly text: string
  /** Proof for the provider that it wrote this; worthless to any other model. */
  readonly signature?: string
  /** What only the provider can read (`redacted_thinking`, `encrypted_content`). */
  readonly encrypted?: string
  readonly model?: string
}

/** An image or a file: its bytes, or where they are. */
export interface MediaPart {
  readonly type: 'image' | 'file'
  readonly mediaType: string
  readonly data?: Uint8Array
  readonly url?: string
  readonly name?: string
}

/** What has no neutral form, as it was given. */
export interface OtherPart {
  readonly type: 'other'
  readonly value: unknown
}

export type Part = TextPart | ToolUsePart | ToolResultPart | ThinkingPart | MediaPart | OtherPart

export type Content = string | readonly Part[]
