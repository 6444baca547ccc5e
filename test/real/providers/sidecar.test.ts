/**
 * The official SDKs in programs of their own, under `daglog record --` and, with the server gone,
 * `daglog replay --`.
 */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { daglog } from '../../cli/command.js'
import { temporaryDir } from '../../store/temporary.js'
import { realPackages } from '../real-packages.js'

const real = await realPackages('providers')

const usage = { input_tokens: 3, output_tokens: 2 }
const message = {
  id: 'm',
  type: 'message',
  role: 'assistant',
  model: 'claude-x',
  stop_sequence: null,
}

function anthropic(res: ServerResponse, streams: boolean): void {
  const text = { type: 'text', text: 'Grüße' }
  if (!streams) {
    res.setHeader('content-type', 'application/json')
    res.end(JSON.stringify({ ...message, content: [text], stop_reason: 'end_turn', usage }))
    return
  }
  res.setHeader('content-type', 'text/event-stream')
  const events = [
    {
      type: 'message_start',
      message: { ...message, id: 'm2', content: [], stop_reason: null, usage },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'ping' },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Tschüß' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage },
    { type: 'message_stop' },
  ]
  const bytes = Buffer.from(
    events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''),
  )
  for (let at = 0; at < bytes.length; at += 11) res.write(bytes.subarray(at, at + 11))
  res.end()
}

function gemini(res: ServerResponse): void {
  const content = { role: 'model', parts: [{ text: 'hello' }] }
  const usageMetadata = { promptTokenCount: 4, candidatesTokenCount: 2, totalTokenCount: 6 }
  res.setHeader('content-type', 'application/json')
  const candidates = [{ content, finishReason: 'STOP', index: 0 }]
  res.end(JSON.stringify({ candidates, usageMetadata, modelVersion: 'gemini-x', responseId: 'g' }))
}

const AGENTS = [
  ['@anthropic-ai/sdk', 'anthropic-agent', 2, ['--provider', 'anthropic']],
  ['@google/genai', 'genai-agent', 1, []],
] as const

describe.skipIf(real.skip !== undefined)('an agent of', () => {
  it.each(AGENTS)(
    '%s is recorded, replayed with the server gone, and its messages are its own',
    async (_, agent, calls, view) => {
      const server = createServer(async (req, res) => {
        const chunks: Buffer[] = []
        for await (const chunk of req) chunks.push(chunk as Buffer)
        if (req.url?.includes('generateContent')) gemini(res)
        else anthropic(res, JSON.parse(Buffer.concat(chunks).toString()).stream === true)
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      const env = { ANTHROPIC_BASE_URL: base, GOOGLE_GEMINI_BASE_URL: base }
      const options = { cwd: temporaryDir(), env }
      const command = ['--', process.execPath, join(import.meta.dirname, `${agent}.mjs`)]
      const recorded = await daglog(['record', ...command], options)
      expect(recorded.err).toContain(`recorded ${calls} call`)
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      const own = JSON.parse(recorded.out)
      const told = JSON.parse((await daglog(['messages', '@last', ...view, '--json'], options)).out)
      expect(told.messages).toMatchObject(own)
      expect(told.messages).toHaveLength(own.length)
      const replayed = await daglog(['replay', '@last', ...command], options)
      expect(replayed.err).toContain(`same: ${calls} of ${calls} call`)
      expect(replayed).toMatchObject({ code: 0, out: recorded.out })
    },
  )
})
