/**
 * What a model was asked then and now, message by message: the step of a model call holds a digest
 * only, since the request is in the log already.
 */
import type { RequestHeader } from '../core/event-map.js'
import { requestHeader } from '../fold/request-header.js'
import type { RunView } from '../store/run-view.js'
import { diffJson, type JsonDiff } from '../value/json-diff.js'

/** A model call that began at `seq`. */
export interface ModelCallAt {
  readonly view: RunView
  readonly seq: number
}

/** Whether an input is what `turn.model` records of a request. */
export function isModelInput(input: unknown): boolean {
  if (typeof input !== 'object' || input === null) return false
  const { provider, request } = input as Record<string, unknown>
  return typeof provider === 'string' && typeof request === 'string'
}

/** Undefined where one of the requests cannot be rebuilt. */
export async function diffRequests(
  recorded: ModelCallAt,
  now: ModelCallAt,
): Promise<JsonDiff | undefined> {
  const [then, today] = [await requestAt(recorded), await requestAt(now)]
  return then === undefined || today === undefined ? undefined : diffJson(then, today)
}

async function requestAt({ view, seq }: ModelCallAt): Promise<unknown> {
  // A header that changed lies right behind the start of the step.
  const next = await view.event(seq + 1)
  const header =
    next?.type === 'request/header'
      ? (next.data as RequestHeader)
      : await view.project(requestHeader, { at: seq })
  return header === null ? undefined : view.request(header, { at: seq })
}
