/**
 * A session of the OpenAI Agents SDK over a run: what the SDK adds, pops, clears and replaces are
 * events, and the items are a fold of them. Nothing is rewritten, so the history before stays
 * visible. Knows the shape of the SDK's interface and not the SDK: nothing of it is imported.
 * @see docs/openai-agents.md
 */
import { valueDigest } from '../core/canonical.js'
import { DaglogError } from '../core/errors.js'
import type { Hash } from '../core/hash.js'
import {
  type AddedItems,
  ITEMS_TYPE,
  openAiHistory,
  REPLACE_TYPE,
  type ReplacedItems,
} from '../fold/openai-agents-history.js'
import type { Appended } from '../store/appender.js'
import type { Run } from '../store/run.js'

/** A change of the history that is applied once, however often it is asked for. */
export type HistoryTransaction<Item> =
  | { readonly type: 'append_items'; readonly items: Item[] }
  | {
      readonly type: 'replace_suffix'
      readonly expectedSuffix: Item[]
      readonly replacement: Item[]
    }

export interface HistoryMutation<Item> {
  readonly type: 'replace_function_call'
  readonly callId: string
  readonly replacement: Item
}

interface Items {
  readonly items: readonly unknown[]
  readonly last: Hash | null
}

/** Another writer came between each of these many tries. */
const TRIES_MAX = 16

/** The SDK's `Session`, with its optional parts for transactions, rewriting and compaction. */
// biome-ignore lint/suspicious/noExplicitAny: the type of items is the SDK's.
export class OpenAiSession<Item extends object = any> {
  constructor(readonly run: Run) {}

  async getSessionId(): Promise<string> {
    return this.run.id
  }

  /**
   * The items, oldest first; with `limit` only so many of the latest. They are the caller's to
   * change.
   */
  async getItems(limit?: number): Promise<Item[]> {
    const { items } = await this.history()
    const from = limit === undefined ? 0 : Math.max(items.length - Math.max(limit, 0), 0)
    return structuredClone(items.slice(from)) as Item[]
  }

  /** Durable once this resolves. @throws VALUE_UNSUPPORTED, and nothing was added */
  async addItems(items: Item[]): Promise<void> {
    if (items.length > 0) await this.run.append(ITEMS_TYPE, { items } satisfies AddedItems)
  }

  /** Take the last item off the history, and return it. */
  async popItem(): Promise<Item | undefined> {
    const before = await this.replace('pop', ({ items }) =>
      items.length === 0 ? undefined : { keep: items.length - 1, items: [] },
    )
    return structuredClone(before?.items.at(-1)) as Item | undefined
  }

  /** From here on the history is empty. Operation ids stay known. */
  async clearSession(): Promise<void> {
    await this.replace('clear', ({ items }) =>
      items.length === 0 ? undefined : { keep: 0, items: [] },
    )
  }

  /** From here on the history is these items. */
  async replaceHistoryWithCompaction(items: Item[]): Promise<void> {
    await this.replace('compaction', () => ({ keep: 0, items }))
  }

  /**
   * @throws EVENT_INVALID where a mutation is of a type that is not known here; nothing is changed
   *   then.
   */
  async applyHistoryMutations(args: {
    readonly mutations: HistoryMutation<Item>[]
  }): Promise<void> {
    for (const { type } of args.mutations) {
      if (type !== 'replace_function_call')
        throw invalid(`a mutation of type "${type}" is not known`)
    }
    await this.replace('mutations', ({ items }) => {
      const mutated = args.mutations.reduce(mutatedBy, items)
      const keep = mutated.findIndex((item, at) => item !== items[at])
      return keep < 0 && mutated.length === items.length
        ? undefined
        : { keep: keep < 0 ? mutated.length : keep, items: keep < 0 ? [] : mutated.slice(keep) }
    })
  }

  /**
   * Change the history once: the same operation again does nothing, also in another process and
   * after a crash that took the answer.
   * @throws OPERATION_CONFLICT where the operation was another transaction, HISTORY_MISMATCH where
   *   the history does not end with `expectedSuffix`; nothing is changed then.
   */
  async applyHistoryTransaction(args: {
    readonly operationId: string
    readonly transaction: HistoryTransaction<Item>
  }): Promise<void> {
    const { operationId: op, transaction } = checked(args)
    // Taken now: the caller may change what it gave while we wait for the lock.
    const digest = valueDigest(transaction)
    const { type } = transaction
    if (await this.isApplied(op, digest)) return
    if (type === 'append_items') {
      const items = structuredClone(transaction.items)
      await this.run.append(ITEMS_TYPE, { items, transaction: digest } satisfies AddedItems, { op })
      return
    }
    const expected = valueDigest(transaction.expectedSuffix)
    const replacement = structuredClone(transaction.replacement)
    const count = transaction.expectedSuffix.length
    const { items, last } = await this.history()
    const keep = items.length - count
    if (keep < 0 || valueDigest(items.slice(keep)) !== expected) throw this.mismatch()
    const data: ReplacedItems = {
      keep,
      items: replacement,
      reason: 'suffix',
      after: last,
      transaction: digest,
    }
    const appended = await this.run
      .append(REPLACE_TYPE, data, { op })
      .catch(async (error: unknown) => {
        // The same operation came from somewhere else at the same time, and may have seen another
        // history.
        if (await this.isApplied(op, digest)) return undefined
        throw error
      })
    if (appended !== undefined && !(await this.counts(appended))) throw this.mismatch()
  }

  private history(): Promise<Items> {
    return this.run.project(openAiHistory)
  }

  /** Whether the operation was done before. @throws OPERATION_CONFLICT, HISTORY_MISMATCH */
  private async isApplied(op: string, transaction: Hash): Promise<boolean> {
    const event = await this.run.operation(op)
    if (event === undefined) return false
    if ((event.data as Partial<AddedItems> | null)?.transaction !== transaction) {
      throw new DaglogError(
        'OPERATION_CONFLICT',
        `run ${this.run.id}: the operation id of a history transaction is that of another, seq ${event.seq}. Try: an id of its own`,
        { run: this.run.id, op, seq: event.seq },
      )
    }
    if (event.type === REPLACE_TYPE && !(await this.counts(event))) throw this.mismatch()
    return true
  }

  /** Write what follows from the history; again where somebody else changed it meanwhile. */
  private async replace(
    reason: ReplacedItems['reason'],
    change: (history: Items) => Pick<ReplacedItems, 'keep' | 'items'> | undefined,
  ): Promise<Items | undefined> {
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const history = await this.history()
      const made = change(history)
      if (made === undefined) return undefined
      const data: ReplacedItems = { ...made, reason, after: history.last }
      if (await this.counts(await this.run.append(REPLACE_TYPE, data))) return history
    }
    throw this.mismatch()
  }

  /** Whether an event became part of the history, or is void. */
  private async counts({ seq, hash }: Appended): Promise<boolean> {
    if ((await this.history()).last === hash) return true
    return (await this.run.project(openAiHistory, { at: seq })).last === hash
  }

  private mismatch(): DaglogError {
    return new DaglogError(
      'HISTORY_MISMATCH',
      `the history of run ${this.run.id} does not end with what was to be replaced; try: read it again, and make the change from there`,
      { run: this.run.id },
    )
  }
}

/** The first call with the id becomes the replacement, further ones go: the SDK's own rule. */
function mutatedBy(
  items: readonly unknown[],
  { callId, replacement }: HistoryMutation<object>,
): readonly unknown[] {
  const isCall = (item: unknown): boolean => {
    const { type, callId: id } = (item ?? {}) as {
      readonly type?: unknown
      readonly callId?: unknown
    }
    return type === 'function_call' && id === callId
  }
  const first = items.findIndex(isCall)
  return items.flatMap((item, at) => (at === first ? [replacement] : isCall(item) ? [] : [item]))
}

function checked<A extends { readonly operationId: string; readonly transaction: unknown }>(
  args: A,
): A {
  const { operationId, transaction } = (args ?? {}) as Partial<A>
  if (typeof operationId !== 'string' || operationId.trim() === '') {
    throw invalid('the id of a history transaction is a string that is not empty')
  }
  const lists = LISTS.get((transaction as { readonly type?: string } | null | undefined)?.type)
  const members = Object.keys(transaction ?? {}).toSorted()
  if (lists === undefined || members.join() !== ['type', ...lists].toSorted().join()) {
    throw invalid('a history transaction appends items or replaces a suffix, and says nothing else')
  }
  for (const name of lists) {
    const items: unknown = (transaction as Record<string, unknown>)[name]
    const whole = Array.isArray(items) && items.every((item) => typeof item === 'object' && item)
    if (!whole) throw invalid(`"${name}" of a history transaction is no list of items`)
  }
  return args
}

const LISTS: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['append_items', ['items']],
  ['replace_suffix', ['expectedSuffix', 'replacement']],
])

function invalid(what: string): DaglogError {
  return new DaglogError('EVENT_INVALID', `${what}; try: what the SDK's Session interface says`)
}

/** The session that a run is. Several over one run are one session. */
// biome-ignore lint/suspicious/noExplicitAny: the type of items is the SDK's.
export function openAiSession<Item extends object = any>(run: Run): OpenAiSession<Item> {
  return new OpenAiSession(run)
}
