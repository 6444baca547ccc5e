/**
 * Messages as a log may have them: in any order, of any provider, with reused ids and broken text.
 */
import fc from 'fast-check'
import type { Part } from '../../../src/core/content.js'
import type { Message } from '../../../src/fold/message.js'

const text = fc.oneof(
  fc.constantFrom('', ' ', 'hello', 'half \ud83d of a character', 'é😀'),
  fc.string({ maxLength: 8 }),
)
const id = fc.constantFrom('call_1', 'call_2', 'toolu_3', 'with.dot', '')
const provider = fc.constantFrom('openai', 'openai-responses', 'anthropic', 'gemini', undefined)
const model = fc.constantFrom('gpt-5', 'gpt-5-2025-08-07', 'claude-x-1', undefined)

const textPart = text.map((value): Part => ({ type: 'text', text: value }))
const mediaPart = fc.constantFrom<Part>(
  { type: 'image', mediaType: 'image/png', data: new Uint8Array([1, 2, 3]) },
  { type: 'image', mediaType: 'image/tiff', data: new Uint8Array([1]) },
  { type: 'file', mediaType: 'application/pdf', url: 'https://a.example/b.pdf', name: 'b.pdf' },
  { type: 'file', mediaType: 'text/plain', data: new Uint8Array([104, 105]) },
)
const otherPart = fc.constant<Part>({ type: 'other', value: { type: 'odd', big: 1n } })
const thinkingPart = fc
  .record({ text, signature: fc.constantFrom('sig', '', undefined), model })
  .map((part): Part => withoutUndefined({ type: 'thinking', ...part }) as unknown as Part)
const callPart = fc
  .record({ id, written: fc.constantFrom('{"a":1}', '{"a', '', '[1]', '"\ud800"') })
  .map(({ id: call, written }): Part => {
    const input = jsonOr(written)
    return { type: 'tool_use', id: call, name: 'look.up', input, arguments: written }
  })

function jsonOr(written: string): unknown {
  try {
    return JSON.parse(written)
  } catch {
    return written
  }
}

function withoutUndefined(fields: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

const userContent = fc.oneof(
  text,
  fc.array(fc.oneof(textPart, mediaPart, otherPart), { maxLength: 3 }),
)

const user = fc.record({ content: userContent }).map(({ content }) => ({ role: 'user', content }))
const assistant = fc
  .record({
    content: fc.oneof(
      text,
      fc.array(fc.oneof(textPart, callPart, callPart, thinkingPart, otherPart), { maxLength: 4 }),
    ),
    provider,
    model,
    interrupted: fc.constantFrom(true, undefined, undefined),
  })
  .map((message) => withoutUndefined({ role: 'assistant', ...message }))
const tool = fc
  .record({ id, content: userContent, isError: fc.constantFrom(true, undefined) })
  .map(({ id: call, content, isError }) => ({
    role: 'tool',
    content: [withoutUndefined({ type: 'tool_result', id: call, content, isError })],
  }))

/** Raw messages of the providers, as they come out of requests and replies. */
const rawAssistant = fc
  .record({ calls: fc.array(id, { maxLength: 2 }), said: text, model })
  .chain(({ calls, said, model: by }) =>
    fc.constantFrom(
      withoutUndefined({
        role: 'assistant',
        provider: 'anthropic',
        model: by,
        content: calls.map((call) => ({ type: 'tool_use', id: call, name: 'f', input: {} })),
        raw: {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: 'sig' },
            { type: 'text', text: said },
            ...calls.map((call) => ({ type: 'tool_use', id: call, name: 'f', input: {} })),
          ],
        },
      }),
      withoutUndefined({
        role: 'assistant',
        provider: 'openai',
        model: by,
        content: said,
        raw: {
          role: 'assistant',
          content: said,
          refusal: null,
          ...(calls.length === 0
            ? {}
            : {
                tool_calls: calls.map((call) => ({
                  id: call,
                  type: 'function',
                  function: { name: 'f', arguments: '{}' },
                })),
              }),
        },
      }),
      withoutUndefined({
        role: 'assistant',
        provider: 'openai-responses',
        model: by,
        content: said,
        raw: [
          { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' },
          ...calls.map((call) => ({
            type: 'function_call',
            id: `fc_${call}`,
            call_id: call,
            name: 'f',
            arguments: '{}',
          })),
        ],
      }),
    ),
  )

export const anyMessages = fc
  .array(fc.oneof(user, assistant, tool, tool, rawAssistant), { maxLength: 14 })
  .map((all) => all.map((message, seq) => ({ seq, ...message }) as unknown as Message))
