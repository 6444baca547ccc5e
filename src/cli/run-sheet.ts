/**
 * What `show` says of a run around its events: the header above, and below where it ended.
 */
import type { Hash } from '../core/hash.js'
import type { Damage, Torn } from '../store/log-tail.js'
import type { RunView } from '../store/run-view.js'
import type { Store } from '../store/store.js'
import { runOf } from '../store/whole-history.js'
import type { EventRow, EventRows, OpenRequest } from './event-rows.js'
import { statusPiece } from './event-words.js'
import type { Output, Piece } from './output.js'
import { bytesText, countText, durationText, timeText } from './quantity.js'

/** Members of `daglog.show/1`. */
export interface RunSheetData {
  readonly run: string
  readonly name?: string
  /** The event it is shown as of; absent for the whole run. */
  readonly at?: number
  /** In ms since 1970, like `updated`. */
  readonly started: number
  readonly updated: number
  readonly status: string
  readonly head?: { readonly seq: number; readonly hash: Hash }
  readonly parent?: {
    readonly kind: string
    /** Hash of its frame 0. */
    readonly identity: string
    /** Its id, where it is in this store. */
    readonly run?: string
    readonly seq: number
  }
  /** The session that it goes on from without a copy, and its run, where that is in this store. */
  readonly begins?: { readonly session: string; readonly run?: string }
  readonly totals: EventRows['totals'] & { readonly bytes: number }
  readonly open: {
    readonly turn?: string
    readonly steps: readonly { readonly id: string; readonly name: string }[]
    /** Requests without an end; absent where there are none. */
    readonly requests?: readonly OpenRequest[]
  }
  readonly lastError?: { readonly seq: number }
  readonly torn?: Torn
  readonly damage?: Damage
}

export class RunSheet {
  private readonly typeWidth = 16

  private constructor(
    readonly data: RunSheetData,
    private readonly rows: EventRows,
  ) {}

  static async of(
    store: Store,
    shown: { readonly view: RunView; readonly at: number | undefined; readonly rows: EventRows },
  ): Promise<RunSheet> {
    const { view, at, rows } = shown
    const { status, turn, steps, requests, lastError } = rows
    const summary = await view.summary()
    // Of an imported run, times are those of the transcript, and numbers its reader's.
    const whole = summary.imported !== undefined && at === undefined ? summary : undefined
    const name = whole?.name ?? rows.name
    const { turns, tokensIn, tokensOut } = whole ?? rows.totals
    const totals = { ...rows.totals, turns, tokensIn, tokensOut }
    const head = at === undefined ? await view.head() : await view.headAt(at)
    const condition = at === undefined ? await view.condition() : {}
    const parent = await parentOf(store, view)
    const begins = await beginsOf(view, rows)
    const bytes = (await view.log.segments()).reduce((sum, segment) => sum + segment.bytes, 0)
    const data: RunSheetData = {
      run: view.id,
      ...(name === undefined ? {} : { name }),
      ...(at === undefined ? {} : { at }),
      started: whole?.started ?? rows.started,
      updated: whole?.updated ?? rows.last?.time ?? 0,
      status,
      ...(head === undefined ? {} : { head }),
      ...(parent === undefined ? {} : { parent }),
      ...(begins === undefined ? {} : { begins }),
      totals: { ...totals, bytes },
      open: {
        ...(turn === undefined ? {} : { turn }),
        steps,
        ...(requests.length === 0 ? {} : { requests }),
      },
      ...(lastError === undefined ? {} : { lastError: { seq: lastError.seq } }),
      ...condition,
    }
    return new RunSheet(data, rows)
  }

  printHead(out: Output): void {
    const { run, name, at, started, updated, status, head, parent, begins, totals } = this.data
    const field = (label: string, ...pieces: Piece[]): void =>
      out.line(['dim', label.padEnd(8)], ...pieces)
    field('run', ['bold', run], at === undefined ? '' : `  as of seq ${at}`)
    if (name !== undefined) field('name', name)
    field('started', timeText(started), `  lasted ${durationText(updated - started)}`)
    field('status', statusPiece(status))
    if (head !== undefined) field('head', `${head.seq}:${head.hash}`)
    if (parent !== undefined)
      field('parent', `${parent.kind} of ${parent.run ?? parent.identity} at seq ${parent.seq}`)
    if (begins !== undefined) {
      const from = begins.run === undefined ? 'which is not here' : `run ${begins.run}`
      field('begins', `in session ${begins.session}, ${from}`)
    }
    const { events, turns, calls, steps, exchanges, misses, tokensIn, tokensOut, bytes } = totals
    const counts = [countText(events, 'event'), countText(turns, 'turn'), countText(steps, 'step')]
    if (calls > 0) counts.splice(2, 0, countText(calls, 'call'))
    if (exchanges > 0) counts.push(countText(exchanges, 'exchange'))
    if (misses > 0) counts.push(`${misses} missed`)
    const tokens = `${countText(tokensIn, 'token')} in  ${countText(tokensOut, 'token')} out`
    field('totals', `${counts.join('  ')}  ${tokens}  ${bytesText(bytes)}`)
    out.line()
  }

  printRow(out: Output, { address, type, sinceMs, depth, words }: EventRow): void {
    const indent = '  '.repeat(depth)
    const label = `${indent}${type}`.padEnd(this.typeWidth)
    out.line(
      ['dim', `${String(address).padStart(5)}  ${durationText(sinceMs).padStart(9)}  `],
      `${label} `,
      ...words,
    )
  }

  printEnd(out: Output): void {
    const { status, head, open, torn, damage } = this.data
    const { lastError } = this.rows
    out.line()
    if (status !== 'open') out.line('ended: ', statusPiece(status), ` at seq ${head?.seq ?? 0}`)
    if (open.turn !== undefined) out.line(['yellow', 'open: '], `turn ${open.turn}`)
    for (const { id, name } of open.steps) out.line(['yellow', 'open: '], `step ${id} ${name}`)
    const { requests = [] } = open
    for (const { ordinal, method, url } of requests)
      out.line(['yellow', 'open: '], `exchange ${ordinal} ${method} ${url}`)
    const isOpen = open.turn !== undefined || open.steps.length + requests.length > 0
    if (status === 'open' && !isOpen)
      out.line(`no run/end yet; the last event is seq ${head?.seq ?? 'none'}`)
    if (lastError !== undefined)
      out.line(['red', 'last error: '], `seq ${lastError.seq} `, ...lastError.words)
    if (torn !== undefined)
      out.line(['yellow', 'torn: '], `${torn.bytes} bytes at ${torn.offset} are no whole event`)
    if (damage !== undefined)
      out.line(
        ['red', 'damaged: '],
        `seq ${damage.seq}, segment ${damage.place.segment}, byte ${damage.place.from}: ${damage.reason}`,
      )
  }
}

async function beginsOf(view: RunView, { begins }: EventRows): Promise<RunSheetData['begins']> {
  if (begins === undefined) return undefined
  const format = (await view.last('import/source'))?.data.format
  const run = format === undefined ? undefined : await runOf(view.context, format, begins)
  return { session: begins, ...(run === undefined ? {} : { run }) }
}

async function parentOf(store: Store, view: RunView): Promise<RunSheetData['parent']> {
  const { parent } = await view.summary()
  if (parent === undefined) return undefined
  const id = (await store.context.heads.refresh()).idOf(parent.run)
  return {
    kind: parent.kind,
    identity: parent.run,
    ...(id === undefined ? {} : { run: id }),
    seq: parent.seq,
  }
}
