/** An agent of the real Google package, unchanged. Prints the history that it held, as text. */
import { GoogleGenAI } from '@google/genai'

const client = new GoogleGenAI({ apiKey: 'none' })
const contents = [{ role: 'user', parts: [{ text: 'hi' }] }]
const reply = await client.models.generateContent({ model: 'gemini-x', contents })
process.stdout.write(
  JSON.stringify([
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: reply.text },
  ]),
)
