/**
 * An agent of a real openai package, unchanged: a call that is limited once, a tool call, a stream, an
 * upload. Prints what it was given.
 * Usage: openai-agent.mjs openai|openai-7
 */
const { default: OpenAI, toFile } = await import(process.argv[2])

const client = new OpenAI({ apiKey: 'none' })
const asking = { model: 'm', messages: [{ role: 'user', content: 'hi' }] }
const tools = [{ type: 'function', function: { name: 'add', parameters: { type: 'object' } } }]
const limited = { headers: { 'x-case': 'limited' } }
const given = [await client.chat.completions.create(asking, limited)]
given.push(await client.chat.completions.create({ ...asking, tools }))
for await (const chunk of await client.chat.completions.create({ ...asking, stream: true }))
  given.push(chunk)
const file = await toFile(Buffer.from('some\r\nbytes, and \0 more'), 'a.txt')
given.push((await client.files.create({ file, purpose: 'user_data' })).id)
process.stdout.write(JSON.stringify(given))
