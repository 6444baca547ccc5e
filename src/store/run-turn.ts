/**
 * A turn: one input drained, with everything that reaches a model logged in the right order, and
 * durable before the model is called and before a tool's body runs.
 * Whatever a model sees is in the log: a request that is not what the log says is refused.
 * @see docs/turns.md
 */

import type { Content } from '../core/content.js'
import { errorData } from '../core/error-data.js'
import { DaglogError } from '../core/errors.js'
import type { TurnReason, UserMessage } from '../core/event-map.js'
import { turns } from '../fold/turns.js'
import type { Appended } from './appender.js'
import { callModel, type ModelCall, type ModelOptions, type ModelReply } from './model-call.js'
import type { Run } from './run.js'
import {
  callTool,
  type ToolBody,
  type ToolOptions,
  type ToolOutcome,
  type ToolRequest,
} from './tool-call.js'

export interface TurnOptions {
  /** Aborts the turn: its steps are given the signal, and it ends with reason `aborted`. */
  readonly signal?: AbortSignal
}

/** What the body of a turn is given. */
export interface Turn {
  /** One more than the last one in the run. */
  readonly number: number
  readonly run: Run
  readonly signal: AbortSignal
  /** What the user says. Durable on return. */
  user(content: Content, more?: Omit<UserMessage, 'content'>): Promise<Appended>
  /**
   * Ask a model. `request` comes from `run.request`; `call` sends it. Logs the header where it
   * changed, the pieces of a stream as they come, and the message with its usage; a call that fails
   * in the middle leaves what came as an interrupted message, and its error is thrown on.
   * @throws REQUEST_NOT_LOGGED where the request is not what the log says.
   */
  model<R>(request: R, call: ModelCall<R>, options?: ModelOptions): Promise<ModelReply>
  /**
   * Run a tool that the model asked for. The call is durable before `body` begins. An error of
   * `body` does not
   * end the turn: the model is told, and so is the caller.
   */
  tool<T>(call: ToolRequest, body: ToolBody<T>, options?: ToolOptions<T>): Promise<ToolOutcome<T>>
  /** End with this reason instead of `completed`, once the body returns. */
  endWith(
    reason: Exclude<TurnReason, 'interrupted'>,
    why?: { readonly by?: string; readonly cause?: string },
  ): void
}

export type TurnBody<R> = (turn: Turn) => R | Promise<R>

/**
 * @throws TURN_OPEN; what `body` throws, once the turn has ended with reason `error` or `aborted`.
 */
export async function runTurn<R>(
  run: Run,
  body: TurnBody<R>,
  options: TurnOptions = {},
): Promise<R> {
  const number = await begin(run)
  const signal = options.signal ?? new AbortController().signal
  const turn = new OpenTurn(run, number, signal)
  let result: R
  try {
    signal.throwIfAborted()
    result = await body(turn)
  } catch (error) {
    // A writer that failed cannot say how the turn ended; opening the run again will.
    if (error instanceof DaglogError && UNWRITABLE.has(error.code)) throw error
    await turn.end(signal.aborted ? 'aborted' : 'error', error)
    throw error
  }
  await turn.end('completed')
  return result
}

const UNWRITABLE: ReadonlySet<string> = new Set(['WRITE_FAILED', 'WRITER_FENCED', 'CLOSED'])

async function begin(run: Run): Promise<number> {
  const { turn: open } = await run.open()
  if (open !== undefined) {
    throw new DaglogError(
      'TURN_OPEN',
      `run ${run.id} is in turn ${open}, and one turn ends before the next begins; try: wait for it, or run.append('turn/end', { turn: ${open}, reason: 'aborted' })`,
      { run: run.id, turn: open },
    )
  }
  const turn = ((await run.project(turns)).at(-1)?.turn ?? 0) + 1
  await run.append('turn/start', { turn })
  return turn
}

class OpenTurn implements Turn {
  private ending:
    | { readonly reason: TurnReason; readonly by?: string; readonly cause?: string }
    | undefined
  private reply: ModelReply | undefined

  constructor(
    readonly run: Run,
    readonly number: number,
    readonly signal: AbortSignal,
  ) {}

  user(content: Content, more: Omit<UserMessage, 'content'> = {}): Promise<Appended> {
    return this.run.append('user/message', { content, ...more })
  }

  async model<R>(request: R, call: ModelCall<R>, options: ModelOptions = {}): Promise<ModelReply> {
    this.reply = await callModel(this, request, call, options)
    return this.reply
  }

  tool<T>(
    call: ToolRequest,
    body: ToolBody<T>,
    options: ToolOptions<T> = {},
  ): Promise<ToolOutcome<T>> {
    return callTool(this, call, body, options)
  }

  endWith(
    reason: Exclude<TurnReason, 'interrupted'>,
    why: { readonly by?: string; readonly cause?: string } = {},
  ): void {
    this.ending = { reason, ...why }
  }

  async end(reason: 'completed' | 'error' | 'aborted', error?: unknown): Promise<void> {
    const cut = this.reply !== undefined && CUT_REASONS.has(this.reply.message.stopReason ?? '')
    const said =
      reason === 'completed'
        ? (this.ending ?? (cut ? { reason: 'max-tokens' as const } : undefined))
        : undefined
    await this.run.append('turn/end', {
      turn: this.number,
      reason,
      ...said,
      ...(error === undefined ? {} : { error: errorData(error) }),
    })
  }
}

/**
 * How providers say that the answer was cut off by its limit: OpenAI chat and responses, Anthropic,
 * Gemini.
 */
const CUT_REASONS: ReadonlySet<string> = new Set([
  'length',
  'max_output_tokens',
  'max_tokens',
  'MAX_TOKENS',
])
