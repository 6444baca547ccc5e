/**
 * A provider's reply, whole, as a message of the session; and what the messages of a request say.
 */
import type { AssistantMessage, ToolResult, UserMessage } from '../../core/event-map.js'
import { anthropicReply } from './anthropic.js'
import { geminiReply } from './gemini.js'
import { chatReply } from './openai-chat.js'
import { responsesReply } from './openai-responses.js'
import { historyOf, type ReadProvider } from './provider-view.js'

/**
 * What a reply says: a chat completion, a response, an Anthropic message, a Gemini generateContent.
 * Never throws: what is not there is not in the message, and `raw` has what there was.
 */
export function assistantOf(provider: ReadProvider, reply: unknown): AssistantMessage {
  switch (provider) {
    case 'anthropic':
      return anthropicReply(reply)
    case 'openai':
      return chatReply(reply)
    case 'openai-responses':
      return responsesReply(reply)
    case 'gemini':
      return geminiReply(reply)
  }
}

/**
 * What a message of a request says for the user; undefined where it holds nothing but results of
 * tools.
 */
export function userOf(provider: ReadProvider, message: unknown): UserMessage | undefined {
  for (const { type, data } of historyOf(provider, [message])) {
    if (type === 'user/message') return data
  }
  return undefined
}

/** The results of tools that a message of a request holds, in order. */
export function toolResultsOf(provider: ReadProvider, message: unknown): ToolResult[] {
  return historyOf(provider, [message]).flatMap(({ type, data }) =>
    type === 'tool/result' ? [data] : [],
  )
}
