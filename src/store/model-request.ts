/**
 * The next request to a model, out of the log alone; and the check that what is sent is that.
 */
import { isDeepStrictEqual } from 'node:util'
import { valueDigest } from '../core/canonical.js'
import { DaglogError } from '../core/errors.js'
import type { RequestHeader } from '../core/event-map.js'
import { messages } from '../fold/messages.js'
import { type ReadProvider, requestBody, splitBody } from '../fold/provider/provider-view.js'
import { requestHeader } from '../fold/request-header.js'
import { diffJson } from '../value/json-diff.js'
import type { ProjectedRun } from './projecting.js'

/** Of each body that `nextRequest` gave out, the header that it was made with. */
const given = new WeakMap<object, RequestHeader>()

/**
 * The whole body of the next request, in the form of its provider: what `header` says (the last one
 * in the log unless given), and the messages that the log holds for a model.
 * @throws USAGE where neither says which model.
 */
export async function nextRequest(
  run: ProjectedRun,
  header: RequestHeader | undefined,
  at: number | undefined,
  // biome-ignore lint/suspicious/noExplicitAny: the shape is the provider's; SDKs have types.
): Promise<any> {
  const options = at === undefined ? {} : { at }
  const used = header ?? (await run.project(requestHeader, options))
  if (used === null) {
    throw new DaglogError(
      'USAGE',
      `run ${run.id} has no request/header yet; try: run.request({ provider: 'openai', model: '...' })`,
      { run: run.id },
    )
  }
  const from = await run.project(messages, options)
  const { body } = requestBody(used, from)
  given.set(body as object, used)
  return body
}

/** The header of a request that is about to be sent. @throws REQUEST_NOT_LOGGED, USAGE */
export async function checkedRequest(
  run: ProjectedRun,
  request: unknown,
  provider: string | undefined,
): Promise<RequestHeader> {
  const known = typeof request === 'object' && request !== null ? given.get(request) : undefined
  const form = provider ?? known?.provider
  if (form === undefined) {
    throw new DaglogError(
      'USAGE',
      `the request did not come from run.request, so nobody knows whose form it has; try: turn.model(request, call, { provider: 'openai' })`,
      { run: run.id },
    )
  }
  const from = await run.project(messages)
  // The caller may have changed what it was given, so it is compared in any case; cheaply at first.
  if (known !== undefined && isDeepStrictEqual(requestBody(known, from).body, request)) return known
  const { header } = splitBody(form as ReadProvider, request)
  const { body } = requestBody(header, from)
  if (valueDigest(body) === valueDigest(request)) return header
  const [first] = diffJson(body, request, { limit: 1 }).changes
  throw new DaglogError(
    'REQUEST_NOT_LOGGED',
    `the request differs at ${first?.pointer || 'its top'} from what run ${run.id} has in its log; try: log it first (turn.user, turn.append, a compaction), then take the request from run.request`,
    { run: run.id, pointer: first?.pointer },
  )
}
