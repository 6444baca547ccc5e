/**
 * An agent of the real openai package, unchanged: rounds with a tool, a stream, and a retry. Prints its history.
 */
import OpenAI from 'openai'

const client = new OpenAI({ apiKey: 'sk-none' })
const messages = [{ role: 'user', content: 'Wie viele Häuser?' }]
const ask = () => client.chat.completions.create({ model: 'gpt-5', messages })

for (;;) {
  const { message } = (await ask()).choices[0]
  messages.push(message)
  if (!message.tool_calls) break
  for (const call of message.tool_calls)
    messages.push({ role: 'tool', tool_call_id: call.id, content: '{"houses":3}' })
}
messages.push({ role: 'user', content: 'again, as a stream' })
const stream = client.chat.completions.stream({ model: 'gpt-5', messages })
// `parsed` is the helper's own, and no part of a message.
const { parsed: _, ...message } = (await stream.finalChatCompletion()).choices[0].message
messages.push(message)
process.stdout.write(JSON.stringify(messages))
