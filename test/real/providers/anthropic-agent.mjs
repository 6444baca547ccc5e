/** An agent of the real Anthropic package, unchanged: a call and a stream. Prints the history that it held. */
import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic({ apiKey: 'none' })
const messages = [{ role: 'user', content: 'hi' }]
const keep = ({ role, content }) => messages.push({ role, content })

keep(await client.messages.create({ model: 'claude-x', max_tokens: 9, messages }))
messages.push({ role: 'user', content: 'more' })
keep(await client.messages.stream({ model: 'claude-x', max_tokens: 9, messages }).finalMessage())
process.stdout.write(JSON.stringify(messages))
