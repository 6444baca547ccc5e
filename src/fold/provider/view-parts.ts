/**
 * What the views of all providers do with neutral parts in the same way.
 */
import type { Part, ToolUsePart } from '../../core/content.js'
import type { Message } from '../message.js'
import { sameModel } from './model-name.js'
import { partsOf } from './neutral.js'
import { plainJson } from './plain-json.js'
import { fieldsOf } from './shape.js'
import type { ViewContext } from './view.js'

/** Whether what was signed in this message is of another model than the one that is asked. */
export function isForeign(
  signer: { readonly model?: string },
  provider: string,
  message: Message,
  { model }: ViewContext,
): boolean {
  if (message.provider !== undefined && message.provider !== provider) return true
  const by = signer.model ?? message.model
  return by !== undefined && model !== undefined && !sameModel(by, model)
}

/** Who signed, in words. */
export function signer({ provider, model }: Message): string {
  return [provider, model].filter((name) => name !== undefined).join(' ') || 'an unknown model'
}

/** Says where a message of the system stands in a conversation as the user's. */
export function noteRole(message: Message, { lint }: ViewContext): void {
  const { role } = fieldsOf(message.raw)
  if (message.role !== 'user' || (role !== 'system' && role !== 'developer')) return
  lint.add(message, 'role-changed', `${role} to user`)
}

/**
 * The parts of a message that was cut off, without the calls whose arguments are not whole.
 * Of any other message: all of them.
 */
export function wholeParts(message: Message, { lint }: ViewContext): readonly Part[] {
  const parts = partsOf(message.content)
  if (message.interrupted !== true) return parts
  return parts.filter((part) => {
    if (part.type !== 'tool_use' || !isCut(part)) return true
    lint.add(message, 'call-cut', `call ${part.id} of ${part.name}`)
    return false
  })
}

/** A string where a value was to be: the arguments ended too early. */
function isCut(part: ToolUsePart): boolean {
  return part.arguments !== undefined && part.input === part.arguments
}

/** The string that the model wrote; else the value as JSON. */
export function argumentsOf(
  { arguments: written, input }: ToolUsePart,
  message: Message,
  { lint }: ViewContext,
): string {
  if (written !== undefined) return written
  if (typeof input === 'string') return input
  return JSON.stringify(plainJson(input, message, lint)) ?? '{}'
}

/** Names a part in words, for lint and for what stands in its place. */
export function partName(part: Part): string {
  switch (part.type) {
    case 'image':
    case 'file': {
      const name = part.name === undefined ? '' : ` ${JSON.stringify(part.name)}`
      return `${part.type}${name} (${part.mediaType})`
    }
    case 'other': {
      const { type } = fieldsOf(part.value)
      return typeof type === 'string' ? `part of type ${type}` : 'part of an unknown type'
    }
    default:
      return `part of type ${part.type}`
  }
}

/**
 * What a person or a tool said and the provider cannot take is named in its place, so that the
 * model knows.
 */
export function placeholder(part: Part): string {
  return `[${partName(part)}: not shown]`
}
