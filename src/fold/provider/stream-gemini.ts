/**
 * The stream of Gemini's generateContent, put together: each event is a reply with the next parts.
 */
import type { AssistantMessage } from '../../core/event-map.js'
import { geminiReply, joined } from './gemini.js'
import { type Fields, fieldsOf, isFields, listOf } from './shape.js'
import type { StreamAssembly } from './stream-assembly.js'
import { StreamRemainder } from './stream-end.js'

interface OpenCandidate {
  fields: Fields
  content: Fields
  parts: unknown[]
}

export class GeminiStream implements StreamAssembly {
  #response: Fields = {}
  readonly #candidates = new Map<number, OpenCandidate>()
  readonly #remainder = new StreamRemainder()

  push(event: unknown): readonly unknown[] | undefined {
    if (!isFields(event)) return this.#remainder.keep(event)
    if (isFields(event.error)) return this.#remainder.fail(event)
    const { candidates, ...rest } = event
    if (candidates === undefined && rest.usageMetadata === undefined) {
      if (rest.promptFeedback === undefined) return this.#remainder.keep(event)
    }
    this.#response = { ...this.#response, ...rest }
    const pieces = listOf(candidates).flatMap((candidate) => this.#candidate(fieldsOf(candidate)))
    return pieces.length === 0 ? undefined : pieces
  }

  #candidate({ index, content, ...rest }: Fields): unknown[] {
    const place = typeof index === 'number' ? index : 0
    const open = this.#candidates.get(place) ?? { fields: {}, content: {}, parts: [] }
    this.#candidates.set(place, open)
    open.fields = { ...open.fields, ...rest, ...(index === undefined ? {} : { index }) }
    const { parts, ...beside } = fieldsOf(content)
    open.content = { ...open.content, ...beside }
    open.parts.push(...listOf(parts))
    return listOf(parts).flatMap((part) => {
      const { text, thought } = fieldsOf(part)
      if (text === '') return []
      return [place === 0 && typeof text === 'string' && thought !== true ? text : part]
    })
  }

  finish(): AssistantMessage {
    const candidates = [...this.#candidates.entries()]
      .sort(([left], [right]) => left - right)
      .map(([, { fields, content, parts }]) => ({
        ...fields,
        content: { ...content, parts: joined(parts) },
      }))
    const message = geminiReply({ ...this.#response, candidates })
    const blocked = fieldsOf(this.#response.promptFeedback).blockReason !== undefined
    const ended = blocked || this.#candidates.get(0)?.fields.finishReason !== undefined
    return this.#remainder.close(message, ended)
  }
}
