/**
 * `daglog search TEXT [--regex] [-i] [--type T]... [--run RUN]... [--limit N] [--json | --jsonl]`
 */
import { Search, type SearchHit } from '../store/search.js'
import type { Store } from '../store/store.js'
import type { Call } from './call.js'
import type { ExitCode } from './exit-codes.js'
import type { Output } from './output.js'
import { countText } from './quantity.js'

export async function search(call: Call): Promise<ExitCode> {
  const { out } = call
  const types = call.list('type')
  const options = {
    text: call.argument('TEXT'),
    regex: call.has('regex'),
    ignoreCase: call.has('ignore-case'),
    ...(types.length === 0 ? {} : { types }),
  }
  const searching = new Search(options)
  const store = await call.store()
  const limit = call.number('limit') ?? Number.POSITIVE_INFINITY
  const runs = new Set<string>()
  let count = 0
  if (out.json) out.jsonPart('{"schema":"daglog.search/1","hits":[')
  looking: for (const id of await wantedRuns(call, store)) {
    const view = await store.inspectRun(id)
    for (const found of [searching.run(view), searching.derived(view)]) {
      for await (const hit of found) {
        if (count >= limit) break looking
        print(call, hit, count === 0)
        count += 1
        runs.add(id)
        // The first hit is worth seeing at once.
        if (count === 1) await out.flush()
        else await out.flowing()
      }
    }
  }
  const { redacted, unread } = searching.skips
  const isWhole = unread.length === 0
  if (out.json) {
    const rest = { ok: isWhole, count, runs: runs.size, skipped: { redacted, unread } }
    out.jsonLine(`],${JSON.stringify(rest).slice(1)}`)
  }
  for (const { run, seq, reason } of unread)
    out.alarm(['red', 'not searched: '], `${run}:${seq}: ${reason}`)
  if (redacted > 0) out.note(`${countText(redacted, 'event')} not searched: redacted`)
  if (count > 0) out.note(`${countText(count, 'hit')} in ${countText(runs.size, 'run')}`)
  if (!isWhole) return 3
  return count > 0 ? 0 : 4
}

/** Newest first, as lists show them. */
async function wantedRuns(call: Call, store: Store): Promise<readonly string[]> {
  const asked = call.list('run')
  if (asked.length === 0) return (await store.runs()).map(({ id }) => id)
  const ids: string[] = []
  for (const reference of asked) ids.push(await store.resolve(reference))
  return [...new Set(ids)]
}

function print(call: Call, hit: SearchHit, first: boolean): void {
  const { out } = call
  if (out.json) out.jsonPart(`${first ? '' : ','}${JSON.stringify(hit)}`)
  else if (call.has('jsonl')) out.jsonLine(JSON.stringify(hit))
  else printRow(out, hit)
}

function printRow(out: Output, { run, seq, line, type, before, match, after }: SearchHit): void {
  const place = `${run}:${seq}${line === undefined ? '' : `.${line}`}`
  out.line(['cyan', place], '  ', ['dim', type], '  ', before, ['bold', match], after)
}
