/**
 * A run as digests: enough to see where two runs differ without holding what they recorded.
 * Ids, seqs, times, salts and step keys are left out of every digest, so they never make a
 * difference.
 */
import { valueDigest } from '../core/canonical.js'
import { DaglogError } from '../core/errors.js'
import type { RunEvent } from '../core/event.js'
import type { Hash } from '../core/hash.js'
import { type Payload, type PayloadMember, StepGraph } from '../fold/step-graph.js'
import {
  EXCHANGE_BODY,
  EXCHANGE_TYPE,
  type ExchangePrint,
  exchangePrint,
} from './exchange-outline.js'
import type { RunView } from './run-view.js'

/**
 * A payload by its digest. The digests of equal payloads may differ where keys are in another
 * order.
 */
export interface PayloadPrint {
  readonly digest: string
  /** Of its exact bytes, where it lies out of line. */
  readonly sha256?: Hash
}

/** An event that is about no step. */
export interface OutlineEvent {
  readonly seq: number
  readonly type: string
  readonly digest: string
  /** Of one that is an exchange. */
  readonly exchange?: ExchangePrint
}

export interface RunOutline {
  readonly graph: StepGraph<PayloadPrint>
  /** Events that count, in order; steps and the store's own are not among them. */
  readonly events: readonly OutlineEvent[]
  /** The last `run/end`. */
  readonly end: OutlineEvent | undefined
}

export type OutlinedView = Pick<RunView, 'id' | 'events' | 'event'>

/**
 * What says nothing of what the run did (what was drawn shows where it is used); chunks are given
 * whole by the message they make up, and what a request began by the exchange.
 */
const UNCOUNTED =
  /^(?:step|run|log|writer)\/|^redaction$|^tick$|^assistant\/chunk$|^http\/(?:start|import)$/

/** Read a run once, without its large values. */
export async function outlineOf(view: OutlinedView): Promise<RunOutline> {
  const graph = StepGraph.of(printOf)
  const events: OutlineEvent[] = []
  let end: OutlineEvent | undefined
  for await (const read of view.events({ refs: true })) {
    const light = LIGHT[read.type]
    const event = light === undefined ? read : await completed(view, read, light)
    graph.apply(event)
    if (event.type === 'run/end') end = outlineEvent(event)
    else if (!UNCOUNTED.test(event.type)) events.push(outlineEvent(event))
  }
  return { graph, events, end }
}

const PAYLOAD = /^\/(?:input|output)(?:\/|$)/

/** What of a type may lie out of line, since its digest says enough. */
const LIGHT: Readonly<Record<string, RegExp>> = {
  'step/start': PAYLOAD,
  'step/end': PAYLOAD,
  [EXCHANGE_TYPE]: EXCHANGE_BODY,
}

/**
 * The event whole, where more of it than that lies out of line: a long name, error or header may.
 */
async function completed(view: OutlinedView, event: RunEvent, light: RegExp): Promise<RunEvent> {
  if (event.refs?.every(({ pointer }) => light.test(pointer)) ?? true) return event
  const whole = await view.event(event.seq).catch((error: unknown) => {
    // The graph takes it as it is, and says what does not fit.
    if (error instanceof DaglogError && error.kind === 'damage') return undefined
    throw error
  })
  return whole ?? event
}

function printOf({ value, refs }: Payload, member: PayloadMember): PayloadPrint {
  const large = refs.map(({ pointer, sha256, kind }) => [pointer, sha256, kind])
  const digest = valueDigest([member === 'error' ? withoutStack(value) : value, large])
  const [all] = refs
  return all?.pointer === '' && refs.length === 1 ? { digest, sha256: all.sha256 } : { digest }
}

function outlineEvent(event: RunEvent): OutlineEvent {
  const { seq, type, refs = [] } = event
  const exchange = event.redacted === true ? undefined : exchangePrint(event)
  if (exchange !== undefined)
    return { seq, type, digest: `${exchange.request} ${exchange.response}`, exchange }
  const large = refs.map(({ pointer, sha256, kind }) => [pointer, sha256, kind])
  const data = event.redacted === true ? 'redacted' : [comparable(type, event.data), large]
  return { seq, type, digest: valueDigest([type, data]) }
}

/** The data of an event without what never counts: ids that providers mint, and stacks. */
export function comparable(type: string, data: unknown): unknown {
  switch (type) {
    case 'tool/call':
    case 'tool/result':
      return withoutId(data)
    case 'user/message':
    case 'assistant/message':
      return isRecord(data) && Array.isArray(data.content)
        ? { ...data, content: data.content.map(withoutId) }
        : data
    case 'run/end':
    case 'turn/end':
      return isRecord(data) && isRecord(data.error)
        ? { ...data, error: withoutStack(data.error) }
        : data
    default:
      return data
  }
}

function withoutId(value: unknown): unknown {
  if (!isRecord(value)) return value
  const { id: _, ...rest } = value
  return rest
}

/** Causes deeper than this are compared as they are. */
const CAUSES_MAX = 64

/**
 * An error without its stack and those of its causes: a stack is an annotation, not what happened.
 */
export function withoutStack(error: unknown, depth = 0): unknown {
  if (!isRecord(error) || depth === CAUSES_MAX) return error
  const { stack: _, ...rest } = error
  return isRecord(rest.cause) ? { ...rest, cause: withoutStack(rest.cause, depth + 1) } : rest
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
  )
}
