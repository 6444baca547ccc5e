/**
 * The messages of a run with those of the session that it goes on from, where a transcript refers
 * to that one instead of holding a copy (`history_base` of Codex).
 * @see docs/codex.md#forks-by-reference
 */
import type { ImportLines } from '../core/event-map.js'
import { readLines } from '../fold/import-lines.js'
import type { Message } from '../fold/message.js'
import { messages } from '../fold/messages.js'
import { builtInReaders } from '../fold/readers.js'
import { type Referred, referred } from '../fold/referred.js'
import { Registry } from '../fold/registry.js'
import type { StoreContext } from './context.js'
import { RunView } from './run-view.js'

type Before = NonNullable<Referred['from']>['before']

/** Where a history begins that is in another session. */
export interface HistoryBeginning {
  readonly session: string
  /**
   * The run that holds it; undefined where that is not in this store: then its messages are
   * missing.
   */
  readonly run: string | undefined
}

export interface WholeHistory {
  readonly messages: readonly Message[]
  /** Nearest first; empty for a run that holds all of its history. */
  readonly begins: readonly HistoryBeginning[]
}

/** @throws OBJECT_MISSING, OBJECT_CORRUPT where lines of the other session cannot be read. */
export async function wholeHistory(
  view: RunView,
  options: { readonly at?: number } = {},
): Promise<WholeHistory> {
  const own = await view.project(messages, options)
  const begins = await view.project(referred, options)
  return before(view, { own, begins, seen: [view.id] })
}

interface Known {
  readonly own: readonly Message[]
  readonly begins: Referred
  /** Runs on the way here: references may lead in a circle. */
  readonly seen: readonly string[]
}

async function before(view: RunView, { own, begins, seen }: Known): Promise<WholeHistory> {
  const { from, replaced } = begins
  if (from === null || replaced) return { messages: own, begins: [] }
  const { session } = from
  const format = (await view.last('import/source'))?.data.format
  const run = format === undefined ? undefined : await runOf(view.context, format, session)
  if (run === undefined || seen.includes(run))
    return { messages: own, begins: [{ session, run: undefined }] }
  const parent = new RunView(view.context, run)
  const part = await beginningOf(parent, from.before)
  const above = await before(parent, { ...part, seen: [...seen, run] })
  return {
    messages: [...above.messages, ...own],
    begins: [{ session, run }, ...above.begins],
  }
}

/** The newest run of a session, by the store's log alone. */
export async function runOf(
  context: StoreContext,
  format: string,
  session: string,
): Promise<string | undefined> {
  let found: string | undefined
  for (const { id, summary } of (await context.heads.refresh()).all())
    if (summary.imported?.format === format && summary.imported.session === session) found = id
  return found
}

/** What a session said before a place in it. */
async function beginningOf(view: RunView, limit: Before): Promise<Omit<Known, 'seen'>> {
  const readers = await builtInReaders()
  const registry = new Registry(readers)
  registry.add(messages)
  registry.add(referred)
  const types = [...new Set(readers.flatMap((reader) => reader.types))]
  for await (const event of view.events({ types })) {
    const data = event.data as ImportLines
    const end = event.type === 'import/lines' ? endIn(data, limit) : undefined
    const cut = end === undefined ? event : { ...event, data: { ...data, bytes: end } }
    registry.apply(cut)
    if (end !== undefined) break
  }
  const run = await view.identity()
  const own = registry.view(messages).map((message) => ({
    ...(run === undefined ? {} : { run }),
    ...message,
  }))
  return { own, begins: registry.view(referred) }
}

/** The bytes of lines before the limit; undefined where it is not in them. */
function endIn(
  { from, bytes }: ImportLines,
  { ordinal, bytes: offset }: Before,
): Uint8Array | undefined {
  for (const item of readLines(bytes)) {
    const number = (item.value as { readonly ordinal?: unknown } | null | undefined)?.ordinal
    const isBehind =
      ordinal !== undefined && typeof number === 'number'
        ? number >= ordinal
        : offset !== undefined && from + item.from >= offset
    if (isBehind) return bytes.subarray(0, item.from)
  }
  return undefined
}
