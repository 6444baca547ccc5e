/**
 * A model asked, as a step: its request checked against the log, header and step durable before the
 * call, the message in one atomic append with the step's end.
 */
import { valueDigest } from '../core/canonical.js'
import type { AssistantMessage } from '../core/event-map.js'
import { type ToolCall, toolCallsOf } from '../fold/provider/neutral.js'
import type { ReadProvider } from '../fold/provider/provider-view.js'
import { assistantOf } from '../fold/provider/reply.js'
import { assembleStream } from '../fold/provider/stream.js'
import type { StreamAssembly } from '../fold/provider/stream-assembly.js'
import { requestHeader } from '../fold/request-header.js'
import { ChunkLog } from './chunk-log.js'
import { checkedRequest } from './model-request.js'
import type { NewEvent } from './new-event.js'
import type { Run } from './run.js'
import type { StepOutcome } from './step-outcome.js'
import { runStep } from './step-runner.js'
import type { Step } from './steps.js'

/** Where it happens. */
export interface ModelScope {
  readonly run: Run
  readonly signal: AbortSignal
}

/**
 * Sends the request; gives what the provider's SDK gives: a reply, or an async iterable of a
 * stream's events.
 */
export type ModelCall<R> = (request: R, step: Step) => unknown

export interface ModelOptions {
  /** In whose form the request is; needed only where it did not come from `run.request`. */
  readonly provider?: string
  /** Told of each event of a stream as it comes. */
  readonly onEvent?: (event: unknown) => void
}

/** What the model said. */
export interface ModelReply {
  readonly message: AssistantMessage
  /** The text of the message. */
  readonly text: string
  readonly toolCalls: readonly ToolCall[]
  /** What the call gave; undefined for a stream, which is used up. */
  readonly raw: unknown
}

/** @throws REQUEST_NOT_LOGGED, USAGE; what `call` throws. */
export async function callModel<R>(
  { run, signal }: ModelScope,
  request: R,
  call: ModelCall<R>,
  options: ModelOptions,
): Promise<ModelReply> {
  const header = await checkedRequest(run, request, options.provider)
  const known = await run.project(requestHeader)
  const changed = known === null || valueDigest(known) !== valueDigest(header)
  const { model } = header
  const provider = header.provider as ReadProvider
  let raw: unknown
  let partial: AssistantMessage | undefined
  const message = await runStep<AssistantMessage>({
    run,
    name: 'model',
    input: { provider, model, request: valueDigest(request) },
    hasInput: true,
    options: { signal, effect: 'read' },
    events: {
      start: changed ? [{ type: 'request/header', data: header }] : [],
      ended: said,
    },
    partial: () => partial,
    body: async (step) => {
      const reply = await call(request, step)
      if (!isStream(reply)) {
        raw = reply
        return assistantOf(provider, reply)
      }
      const stream = assembleStream(provider)
      try {
        await logStream(run, step, reply, stream, options.onEvent)
      } catch (error) {
        const came = stream.finish()
        if (came.content.length > 0) partial = came
        throw error
      }
      return stream.finish()
    },
  })
  return { message, text: textOf(message), toolCalls: toolCallsOf(message), raw }
}

async function logStream(
  run: Run,
  step: Step,
  events: AsyncIterable<unknown>,
  stream: StreamAssembly,
  onEvent: ModelOptions['onEvent'],
): Promise<void> {
  const chunks = new ChunkLog(run, step.id)
  try {
    for await (const event of events) {
      const pieces = stream.push(event)
      for (const piece of pieces ?? []) await chunks.add(piece)
      onEvent?.(event)
    }
  } finally {
    await chunks.flush()
  }
}

function isStream(reply: unknown): reply is AsyncIterable<unknown> {
  return (
    typeof (reply as { [Symbol.asyncIterator]?: unknown } | null)?.[Symbol.asyncIterator] ===
    'function'
  )
}

/** What is logged of the outcome: the message, or what came of it before it broke off. */
function said(outcome: StepOutcome<AssistantMessage>): NewEvent[] {
  const message = outcome.status === 'ok' ? outcome.output : outcome.partial
  return message === undefined ? [] : [{ type: 'assistant/message', data: message }]
}

function textOf({ content }: AssistantMessage): string {
  if (typeof content === 'string') return content
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('')
}
