/** `daglog export RUN [--format FORMAT] [-o FILE] [--force] [--refs] [--allow-secrets]` */
import { DaglogError } from '../core/errors.js'
import { harPieces } from '../http/har-export.js'
import { rawBytes } from '../importers/stored-lines.js'
import { type DagFormat, dagText } from '../store/dag-text.js'
import { ednEvents } from '../store/edn.js'
import { jsonlEvents } from '../store/jsonl.js'
import { flowOf } from '../store/run-flow.js'
import type { RunView } from '../store/run-view.js'
import type { Store } from '../store/store.js'
import type { Call } from './call.js'
import type { ExitCode } from './exit-codes.js'
import { writeNewFile } from './output-file.js'
import { bytesText, countText } from './quantity.js'
import { readable } from './readable.js'
import { type SecretFinding, secretsOf } from './secret-scan.js'
import { version } from './version.js'

export async function exportRun(call: Call): Promise<ExitCode> {
  const { out } = call
  const store = await call.store()
  const id = await store.resolve(call.argument('RUN'))
  const format = call.text('format') ?? 'jsonl'
  const path = call.text('output')
  if (path === undefined && out.json)
    throw call.usage('--json says what was exported, so that needs a file', '--output FILE')
  if (path === undefined && out.terminal && format === 'bundle')
    throw call.usage(
      'a bundle is not for a terminal',
      `daglog export ${id} --format bundle -o FILE`,
    )
  if (!call.has('allow-secrets')) await refuseSecrets(await store.inspectRun(id))
  let left = 0
  const pieces = await exported(store, { id, format, refs: call.has('refs') }, (what) => {
    left += 1
    out.alarm(['red', 'left out: '], what)
  })
  if (path === undefined) {
    // The same bytes as in a file, but for what a terminal would obey.
    for await (const piece of pieces)
      await (out.terminal ? out.text(Buffer.from(piece).toString()) : out.bytes(piece))
  } else {
    const bytes = await writeNewFile(path, pieces, { replace: call.has('force') })
    out.note(`${bytesText(bytes)} in ${path}`)
    if (out.json)
      out.document('daglog.export/1', { ok: left === 0, run: id, format, file: path, bytes })
  }
  return left === 0 ? 0 : 5
}

/** Places of secrets that an error names. */
const NAMED_MAX = 20

/** Before a byte is written: what went out cannot be called back. @throws SECRETS_FOUND */
async function refuseSecrets(view: RunView): Promise<void> {
  const secrets: SecretFinding[] = []
  let count = 0
  for await (const secret of secretsOf(view)) {
    count += 1
    if (secrets.length < NAMED_MAX) secrets.push(secret)
  }
  if (count === 0) return
  const places = secrets.map(
    ({ kind, seq, pointer = '' }) => `${kind} at ${view.id}:${seq}:${pointer}`,
  )
  const more = count > secrets.length ? `, and ${count - secrets.length} more` : ''
  throw new DaglogError(
    'SECRETS_FOUND',
    `${countText(count, 'secret')} would leave the store with run ${view.id}: ${places.join(', ')}${more}; try: --allow-secrets to write them as they are`,
    { run: view.id, count, secrets },
  )
}

async function exported(
  store: Store,
  what: { readonly id: string; readonly format: string; readonly refs: boolean },
  onLeftOut: (what: string) => void,
): Promise<AsyncIterable<Uint8Array>> {
  if (what.format === 'bundle') return watched(await store.exportBundle(what.id), onLeftOut)
  if (what.format === 'har') {
    const view = { id: what.id, ...readable(await store.inspectRun(what.id), onLeftOut) }
    return harPieces(view, { program: version(), onLeftOut })
  }
  if (what.format === 'raw') return rawLines(await store.inspectRun(what.id))
  const view = await store.inspectRun(what.id)
  if (what.format === 'mermaid' || what.format === 'dot') return drawn(view, what.format, onLeftOut)
  const events = readable(view, onLeftOut)
  const options = { refs: what.refs }
  return lines(what.format === 'edn' ? ednEvents(events, options) : jsonlEvents(events, options))
}

async function drawn(
  view: RunView,
  format: DagFormat,
  onLeftOut: (what: string) => void,
): Promise<AsyncIterable<Uint8Array>> {
  const { flow, problems } = await flowOf(view)
  for (const { seq, message } of problems) onLeftOut(`payloads of seq ${seq}: ${message}`)
  for (const { seq, type, why } of flow.odd) onLeftOut(`seq ${seq} ${type}: ${why}`)
  return lines(dagText(flow, format))
}

/** @throws USAGE of a run that was not imported */
async function rawLines(view: RunView): Promise<AsyncIterable<Uint8Array>> {
  if ((await view.summary()).imported !== undefined) return rawBytes(view)
  throw new DaglogError(
    'USAGE',
    `run ${view.id} was not imported, so it has no raw form; try: --format jsonl`,
    { run: view.id },
  )
}

const PIECE_LENGTH_MIN = 64 * 1024

/** Lines as larger pieces: one write for many events. */
async function* lines(texts: AsyncIterable<string> | Iterable<string>): AsyncGenerator<Uint8Array> {
  let piece = ''
  for await (const text of texts) {
    piece += `${text}\n`
    if (piece.length < PIECE_LENGTH_MIN) continue
    yield Buffer.from(piece)
    piece = ''
  }
  if (piece !== '') yield Buffer.from(piece)
}

/**
 * The line with which a bundle says that an object was not to be had; nothing else in it begins so.
 */
const MISSING = Buffer.from('{"section":"missing"')

async function* watched(
  pieces: AsyncIterable<Buffer>,
  onLeftOut: (what: string) => void,
): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    if (piece.subarray(0, MISSING.length).equals(MISSING))
      onLeftOut(`object ${JSON.parse(piece.toString()).object} is not in the store`)
    yield piece
  }
}
