/** `daglog trace-get --method M --url U [--header K:V]... [--body FILE|-] [--include] ...` */

import { DaglogError } from '../core/errors.js'
import { passingFingerprint } from '../http/fingerprint.js'
import { type IdentifiedRequest, identify } from '../http/identify.js'
import { missOf } from '../http/miss.js'
import { ExchangeScrub } from '../http/scrub.js'
import type { LoadedExchange } from '../store/exchange-index.js'
import { exchangesOf, type FoundExchange, loadExchange } from '../store/exchange-index.js'
import type { Store } from '../store/store.js'
import { printable } from '../value/preview.js'
import type { Call } from './call.js'
import type { ExitCode } from './exit-codes.js'
import { isShowable } from './showable.js'
import { traceRequest } from './trace-request.js'

export async function traceGet(call: Call): Promise<ExitCode> {
  const { out } = call
  const request = await traceRequest(call)
  const store = await call.store()
  const named = call.text('run')
  // The key is made of what is scrubbed, and fingerprints do not count in it.
  const scrub = new ExchangeScrub({ fingerprint: passingFingerprint() })
  const asked = await identify(request, scrub, [])
  const all = await exchangesIn(call, store, named)
  const stored = await newest(all.filter(({ row: [key] }) => key === asked.identity.key))
  if (stored === undefined) return missed(call, asked, all)
  const { run, seq, data } = stored
  const bytes = await whole(stored)
  const { response, end } = data
  if (response === undefined) return missed(call, asked, all)
  if (end !== 'complete') out.alarm(['yellow', 'incomplete: '], `it ended as ${end}`)
  const exit = end === 'complete' ? 0 : 5
  if (out.json) {
    const { status, headers, form } = response
    const body = bytes.toString('base64')
    const fields = { run, seq, key: data.key, status, headers, form, end, body, encoding: 'base64' }
    out.document('daglog.trace-get/1', { ok: exit === 0, ...fields })
    return exit
  }
  if (out.terminal && !isShowable(bytes)) {
    const what = `${bytes.length} bytes that are no plain text are not for a terminal`
    throw call.usage(what, `daglog cat --decoded ${run}:${seq}:/response/body`)
  }
  if (call.has('include')) {
    const head = [
      `HTTP/1.1 ${response.status} ${response.statusText ?? ''}`.trimEnd(),
      ...response.headers.map(([name, value]) => `${name}: ${value}`),
    ]
    await out.bytes(Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'))
  }
  await out.bytes(bytes)
  return exit
}

async function exchangesIn(
  call: Call,
  store: Store,
  named: string | undefined,
): Promise<readonly FoundExchange[]> {
  const ids = named === undefined ? (await store.runs()).map(({ id }) => id) : [named]
  const found: FoundExchange[] = []
  for (const id of ids) {
    try {
      found.push(...(await exchangesOf(await store.inspectRun(id))))
    } catch (error) {
      if (named !== undefined || !(error instanceof DaglogError)) throw error
      // One that cannot be read hides no other.
      call.out.alarm(['red', 'cannot be read: '], `run ${id}: ${error.message}`)
    }
  }
  return found
}

/** Of those with a response the one that began last; a whole one before a cut one. */
async function newest(found: readonly FoundExchange[]): Promise<LoadedExchange | undefined> {
  let best: LoadedExchange | undefined
  for (const one of found) {
    const loaded = await loadExchange(one)
    if (loaded.data.response === undefined) continue
    if (best === undefined || isBetter(loaded, best)) best = loaded
  }
  return best
}

function isBetter({ data: a }: LoadedExchange, { data: b }: LoadedExchange): boolean {
  const [whole, other] = [a.end === 'complete', b.end === 'complete']
  if (whole !== other) return whole
  return a.timing.started >= b.timing.started
}

async function whole(loaded: LoadedExchange): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of loaded.body('response').bytes()) pieces.push(Buffer.from(piece))
  return Buffer.concat(pieces)
}

/** What is recorded and near, on standard error. */
async function missed(
  { out }: Call,
  asked: IdentifiedRequest,
  all: readonly FoundExchange[],
): Promise<ExitCode> {
  const { key, miss, nearest } = await missOf({ asked, recorded: 0, times: 1, all })
  const { method, url } = asked.head
  out.alarm(['red', 'missed: '], `nothing is stored under ${method} ${url}  (${miss})`)
  for (const near of nearest) {
    out.alarm(['dim', 'nearest: '], `${near.run}:${near.seq} ${near.method} ${near.url}`)
    for (const { part, at = '', recorded, asked: wanted } of near.differences) {
      const [a, b] = [recorded ?? 'nothing', wanted ?? 'nothing'].map((text) => printable(text))
      out.alarm(['dim', '  '], `${part} ${at}: stored ${a}, asked ${b}`)
    }
    if (near.more > 0) out.alarm(['dim', '  '], `${near.more} more differences`)
  }
  if (out.json) out.document('daglog.trace-get/1', { ok: false, key, miss, nearest })
  return 6
}
