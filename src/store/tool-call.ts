/**
 * A tool that a model asked for, as a step: the call durable before the body runs, the result with
 * the step's end in one atomic append.
 */
import type { Content, Part } from '../core/content.js'
import { encodeValue } from '../core/encode.js'
import { errorData } from '../core/error-data.js'
import { DaglogError } from '../core/errors.js'
import type { Effect, ToolResult } from '../core/event-map.js'
import type { NewEvent } from './new-event.js'
import type { Run } from './run.js'
import type { StepOutcome } from './step-outcome.js'
import { runStep } from './step-runner.js'
import type { StepBody } from './steps.js'

/** Where it happens. */
export interface ToolScope {
  readonly run: Run
  readonly signal: AbortSignal
}

/** What the model asked for; `reply.toolCalls` gives these. */
export interface ToolRequest {
  readonly id: string
  readonly name: string
  readonly input: unknown
  /** The exact string that the model wrote. */
  readonly arguments?: string
}

export type ToolBody<T> = StepBody<T>

export interface ToolOptions<T> {
  /**
   * What the model is told of an output; by default a string as it is, parts as they are, else its
   * JSON.
   */
  readonly content?: (output: T) => Content
  /** Files that the tool touched. */
  readonly files?: (output: T) => ToolResult['files']
  readonly effect?: Effect
}

/**
 * How a tool went: `output`, or the `error` that its body threw. `content` is what the model is
 * told.
 */
export interface ToolOutcome<T> {
  readonly content: Content
  readonly isError: boolean
  readonly output?: T
  readonly error?: unknown
}

/** @throws what says that nothing can be recorded any more, or that the turn was aborted. */
export async function callTool<T>(
  scope: ToolScope,
  call: ToolRequest,
  body: ToolBody<T>,
  options: ToolOptions<T>,
): Promise<ToolOutcome<T>> {
  const { id, name, input } = call
  const asked = {
    id,
    name,
    input,
    ...(call.arguments === undefined ? {} : { arguments: call.arguments }),
  }
  const { effect } = options
  try {
    const output = await runStep({
      run: scope.run,
      name,
      input,
      hasInput: true,
      body,
      options: { signal: scope.signal, ...(effect === undefined ? {} : { effect }) },
      events: {
        start: [{ type: 'tool/call', data: asked }],
        ended: (outcome) => [resultOf(id, outcome, options)],
      },
    })
    return { content: contentOf(output, options), isError: false, output }
  } catch (error) {
    // Of our own errors nothing was recorded as a result of the tool.
    if (scope.signal.aborted || error instanceof DaglogError) throw error
    return { content: errorContent(error), isError: true, error }
  }
}

function resultOf<T>(id: string, outcome: StepOutcome<T>, options: ToolOptions<T>): NewEvent {
  if (outcome.status !== 'ok') {
    const data: ToolResult = { id, content: errorContent(outcome.error), isError: true }
    return { type: 'tool/result', data }
  }
  const files = options.files?.(outcome.output)
  const content = contentOf(outcome.output, options)
  return { type: 'tool/result', data: { id, content, ...(files === undefined ? {} : { files }) } }
}

function errorContent(error: unknown): string {
  const { name, message } = errorData(error)
  return message === '' ? name : `${name}: ${message}`
}

const PART_TYPES: ReadonlySet<unknown> = new Set<Part['type']>(['text', 'image', 'file', 'other'])

function contentOf<T>(output: T, { content }: ToolOptions<T>): Content {
  if (content !== undefined) return content(output)
  if (typeof output === 'string') return output
  if (Array.isArray(output) && output.length > 0 && output.every(isPart)) return output as Part[]
  if (output === undefined) return ''
  try {
    return JSON.stringify(output) ?? String(output)
  } catch {
    // What JSON has no word for is said as the log says it.
    return encodeValue(output).text
  }
}

function isPart(value: unknown): boolean {
  return PART_TYPES.has((value as { type?: unknown } | null)?.type)
}
