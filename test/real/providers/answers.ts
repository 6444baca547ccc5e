/** What the model APIs answer in these tests: a call of a tool, then words. */
type Loose = Record<string, unknown>

const CHAT = { id: 'chatcmpl-1', created: 1, model: 'gpt-5-2025-08-07' }
const chatUsage = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 }

export const chatCall: Loose = {
  ...CHAT,
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      finish_reason: 'tool_calls',
      logprobs: null,
      message: {
        role: 'assistant',
        content: null,
        refusal: null,
        tool_calls: [
          { id: 'call_a', type: 'function', function: { name: 'f', arguments: '{"a": "é😀"}' } },
          { id: 'call_b', type: 'function', function: { name: 'f', arguments: '{}' } },
        ],
      },
    },
  ],
  usage: chatUsage,
}

function chatChunk(delta: Loose, finish_reason: string | null = null): Loose {
  const choices = [{ index: 0, delta, logprobs: null, finish_reason }]
  return { ...CHAT, object: 'chat.completion.chunk', system_fingerprint: 'fp', choices }
}

const chatTool = (index: number, fields: Loose): Loose =>
  chatChunk({ tool_calls: [{ index, ...fields }] })

export const chatCallEvents: Loose[] = [
  chatChunk({ role: 'assistant', content: 'Let me ', refusal: null }),
  chatChunk({ content: 'see 😀' }),
  chatTool(0, { id: 'call_a', type: 'function', function: { name: 'f', arguments: '' } }),
  chatTool(0, { function: { arguments: '{"a": ' } }),
  chatTool(0, { function: { arguments: '"é😀"}' } }),
  chatTool(1, { id: 'call_b', type: 'function', function: { name: 'f', arguments: '{}' } }),
  chatChunk({}, 'tool_calls'),
  { ...CHAT, object: 'chat.completion.chunk', choices: [], usage: chatUsage },
]

export const chatWords: Loose = {
  ...CHAT,
  id: 'chatcmpl-2',
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      finish_reason: 'stop',
      logprobs: null,
      message: { role: 'assistant', content: 'Done.', refusal: null, annotations: [] },
    },
  ],
  usage: chatUsage,
}

const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'zz' }
const functionCall = {
  type: 'function_call',
  id: 'fc_1',
  call_id: 'call_a',
  name: 'f',
  arguments: '{"a": "é😀"}',
  status: 'completed',
}

function response(output: readonly Loose[], status = 'completed'): Loose {
  return {
    id: `resp_${output.length}`,
    object: 'response',
    created_at: 1,
    model: 'gpt-5-2025-08-07',
    status,
    error: null,
    incomplete_details: null,
    output,
    tools: [],
    usage: {
      input_tokens: 9,
      input_tokens_details: { cached_tokens: 3 },
      output_tokens: 4,
      output_tokens_details: { reasoning_tokens: 1 },
      total_tokens: 13,
    },
  }
}

export const responsesCall = response([reasoning, functionCall])

function words(text: string): Loose {
  return {
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
  }
}

export const responsesWords = response([words('Done.')])

/** Cut before the last event when `whole` is false. */
export function responsesEvents(whole: boolean): Loose[] {
  const open = words('')
  const part = { type: 'output_text', text: '', annotations: [], logprobs: [] }
  const events: Loose[] = [
    { type: 'response.created', response: response([], 'in_progress') },
    { type: 'response.output_item.added', output_index: 0, item: { ...reasoning } },
    { type: 'response.output_item.done', output_index: 0, item: reasoning },
    {
      type: 'response.output_item.added',
      output_index: 1,
      item: { ...open, status: 'in_progress', content: [] },
    },
    {
      type: 'response.content_part.added',
      output_index: 1,
      content_index: 0,
      item_id: 'msg_1',
      part,
    },
    ...['Do', 'ne 😀'].map((delta) => ({
      type: 'response.output_text.delta',
      output_index: 1,
      content_index: 0,
      item_id: 'msg_1',
      delta,
    })),
    {
      type: 'response.output_item.added',
      output_index: 2,
      item: { ...functionCall, arguments: '', status: 'in_progress' },
    },
    ...['{"a": ', '"é😀"}'].map((delta) => ({
      type: 'response.function_call_arguments.delta',
      output_index: 2,
      item_id: 'fc_1',
      delta,
    })),
  ]
  if (whole) {
    events.push({
      type: 'response.completed',
      response: response([reasoning, words('Done 😀'), functionCall]),
    })
  }
  return events.map((event, sequence_number) => ({ ...event, sequence_number }))
}

const anthropicUsage = {
  input_tokens: 3,
  output_tokens: 4,
  cache_creation_input_tokens: 2,
  cache_read_input_tokens: 5,
}

function anthropicMessage(content: readonly Loose[], stop_reason: string): Loose {
  return {
    id: `msg_${stop_reason}`,
    type: 'message',
    role: 'assistant',
    model: 'claude-x-1-20260101',
    content,
    stop_reason,
    stop_sequence: null,
    usage: anthropicUsage,
  }
}

export const anthropicCall = anthropicMessage(
  [
    { type: 'thinking', thinking: 'hm', signature: 'sig' },
    { type: 'text', text: 'Let me see' },
    { type: 'tool_use', id: 'toolu_a', name: 'f', input: { a: 'é😀' } },
    { type: 'tool_use', id: 'toolu_b', name: 'f', input: {} },
  ],
  'tool_use',
)

export const anthropicWords = anthropicMessage([{ type: 'text', text: 'Done.' }], 'end_turn')

export function anthropicEvents(): Loose[] {
  const delta = (index: number, fields: Loose): Loose => ({
    type: 'content_block_delta',
    index,
    delta: fields,
  })
  const start = (index: number, content_block: Loose): Loose => ({
    type: 'content_block_start',
    index,
    content_block,
  })
  const stop = (index: number): Loose => ({ type: 'content_block_stop', index })
  return [
    {
      type: 'message_start',
      message: {
        ...anthropicMessage([], 'tool_use'),
        stop_reason: null,
        usage: { ...anthropicUsage, output_tokens: 1 },
      },
    },
    start(0, { type: 'thinking', thinking: '', signature: '' }),
    delta(0, { type: 'thinking_delta', thinking: 'hm' }),
    delta(0, { type: 'signature_delta', signature: 'sig' }),
    stop(0),
    { type: 'ping' },
    start(1, { type: 'text', text: '' }),
    delta(1, { type: 'text_delta', text: 'Let me ' }),
    delta(1, { type: 'text_delta', text: 'see' }),
    stop(1),
    start(2, { type: 'tool_use', id: 'toolu_a', name: 'f', input: {} }),
    delta(2, { type: 'input_json_delta', partial_json: '{"a": ' }),
    delta(2, { type: 'input_json_delta', partial_json: '"é😀"}' }),
    stop(2),
    start(3, { type: 'tool_use', id: 'toolu_b', name: 'f', input: {} }),
    delta(3, { type: 'input_json_delta', partial_json: '' }),
    stop(3),
    {
      type: 'message_delta',
      delta: { stop_reason: 'tool_use', stop_sequence: null },
      usage: { output_tokens: 4 },
    },
    { type: 'message_stop' },
  ]
}

function gemini(parts: readonly Loose[], finishReason?: string): Loose {
  const content = { role: 'model', parts }
  return {
    candidates: [{ content, index: 0, ...(finishReason === undefined ? {} : { finishReason }) }],
    modelVersion: 'gemini-x',
    responseId: 'r1',
    usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 4, totalTokenCount: 13 },
  }
}

export const geminiCall = gemini(
  [{ functionCall: { name: 'f', args: { a: 'é😀' } }, thoughtSignature: 'c2ln' }],
  'STOP',
)
export const geminiWords: Loose[] = [
  gemini([{ text: 'Do' }]),
  gemini([{ text: 'ne 😀' }]),
  gemini([{ text: '.' }], 'STOP'),
]
