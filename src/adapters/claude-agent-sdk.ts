/**
 * Transcripts of the Claude Agent SDK in a store: each session is a run, each sub-agent's
 * transcript a run below it, each entry an event. Nothing is rewritten, and a deletion is an event
 * too. Knows the shape of the SDK's interface and not the SDK: nothing of it is imported.
 * @see docs/claude-agent-sdk.md
 */
import { valueDigest } from '../core/canonical.js'
import { DaglogError } from '../core/errors.js'
import type { RunEvent } from '../core/event.js'
import { DELETE_TYPE, ENTRY_TYPE } from '../fold/readers/claude-agent-sdk.js'
import type { NewEvent } from '../store/new-event.js'
import type { Run } from '../store/run.js'
import type { RunView } from '../store/run-view.js'
import type { Store } from '../store/store.js'
import { keyOfRun, namesOf, runIdOf, type SessionKey } from './claude-session-key.js'
import { OpenRuns } from './open-runs.js'

export type { SessionKey }

/** One line of a transcript: an object that JSON can say, with whatever is in it. */
export interface SessionEntry {
  type: string
  uuid?: string
  timestamp?: string
  [member: string]: unknown
}

/** What the SDK keeps of a session for lists; `data` is its own. */
export interface SessionSummary {
  sessionId: string
  /** In ms since 1970, by the store's clock. */
  mtime: number
  data: Record<string, unknown>
}

export type FoldSessionSummary = (
  before: SessionSummary | undefined,
  key: SessionKey,
  entries: SessionEntry[],
  options?: { mtime?: number },
) => SessionSummary

export interface ClaudeSessionStoreOptions {
  /** The SDK's own `foldSessionSummary`: with it, lists of sessions need not load them. */
  readonly foldSessionSummary?: FoldSessionSummary
  /** Erase a deleted session instead of saying in its run that it is deleted. */
  readonly erase?: boolean
}

/** Entries in one atomic append. */
const APPEND_ENTRIES_MAX = 4096

export class ClaudeSessionStore {
  /**
   * Only where the SDK's fold was given: without this member the SDK makes the summaries itself.
   */
  readonly listSessionSummaries?: (projectKey: string) => Promise<SessionSummary[]>
  private readonly runs: OpenRuns

  constructor(
    readonly store: Store,
    private readonly options: ClaudeSessionStoreOptions = {},
  ) {
    this.runs = new OpenRuns(store)
    const fold = options.foldSessionSummary
    if (fold !== undefined) {
      this.listSessionSummaries = (projectKey) => this.summaries(projectKey, fold)
    }
  }

  /**
   * Keep entries, durably, as one atomic unit up to 4,096. One that has a `uuid` and is there
   * already is not kept again; another entry under the same `uuid` takes the place of the first.
   * @throws VALUE_UNSUPPORTED, RUN_LOCKED where another process appends to the session for too long
   */
  async append(key: SessionKey, entries: SessionEntry[]): Promise<void> {
    // Taken now: the caller may change them while we wait for the lock.
    const given = structuredClone(entries)
    await this.runs.use(key, async (run) => {
      const generation = (await run.last(DELETE_TYPE))?.seq ?? 0
      for (let from = 0; from < given.length; from += APPEND_ENTRIES_MAX) {
        const some = given.slice(from, from + APPEND_ENTRIES_MAX)
        await run.appendAll(some.map((entry) => entryEvent(entry, generation)))
      }
      // From now on it is folded as entries come, so that lists find it.
      const fold = this.options.foldSessionSummary
      if (fold !== undefined && key.subpath === undefined) await summaryOf(run, key, fold)
    })
  }

  /** All entries in order; null where there never was one, or the session was deleted. */
  async load(key: SessionKey): Promise<SessionEntry[] | null> {
    const view = await this.viewOf(runIdOf(key))
    const live = view === undefined ? undefined : await liveFrom(view)
    if (view === undefined || live === undefined) return null
    const entries: SessionEntry[] = []
    const places = new Map<string, number>()
    for await (const event of view.events({ from: live, types: [ENTRY_TYPE] })) {
      const entry = entryOf(view, event)
      const { uuid } = entry
      const place = typeof uuid === 'string' ? places.get(uuid) : undefined
      if (typeof uuid === 'string' && place === undefined) places.set(uuid, entries.length)
      if (place === undefined) entries.push(entry)
      else entries[place] = entry
    }
    return entries
  }

  /** In ms since 1970, when something was last kept of each session. */
  async listSessions(projectKey: string): Promise<{ sessionId: string; mtime: number }[]> {
    const found = await this.live(projectKey)
    return Promise.all(
      found.map(async ({ key, view }) => ({
        sessionId: key.sessionId,
        mtime: await mtimeOf(view),
      })),
    )
  }

  /** The subpaths of a session that has any, such as those of its sub-agents. */
  async listSubkeys(key: { projectKey: string; sessionId: string }): Promise<string[]> {
    const found = await this.live(key.projectKey, key.sessionId)
    return found.flatMap(({ key: { subpath } }) => (subpath === undefined ? [] : [subpath]))
  }

  /**
   * Delete a session, and without a `subpath` all that is below it. What was kept stays in the log,
   * where people can see it, unless the store was told to erase.
   * @throws RUN_LOCKED; RUN_HAS_FORKS where others begin in it and it is to be erased
   */
  async delete(key: SessionKey): Promise<void> {
    const id = runIdOf(key)
    const below = key.subpath === undefined ? await this.live(key.projectKey, key.sessionId) : []
    for (const { key: sub } of below) if (sub.subpath !== undefined) await this.delete(sub)
    const view = await this.viewOf(id)
    if (view === undefined) return
    if (this.options.erase === true) {
      await this.runs.close(id)
      await this.store.deleteRun(id, { children: true })
    } else if ((await liveFrom(view)) !== undefined) {
      await this.runs.use(key, (run) => run.append(DELETE_TYPE, {}))
    }
  }

  /** Let go of all sessions; the store stays open. */
  close(): Promise<void> {
    return this.runs.closeAll()
  }

  private async summaries(projectKey: string, fold: FoldSessionSummary): Promise<SessionSummary[]> {
    const found = await this.live(projectKey)
    const summaries = await Promise.all(
      found.map(async ({ key, view }) => {
        const summary = await summaryOf(view, key, fold)
        // By the same clock as in `listSessions`, or the SDK takes it for stale.
        return summary === undefined ? [] : [{ ...summary, mtime: await mtimeOf(view) }]
      }),
    )
    return summaries.flat()
  }

  /** Sessions that have entries, or with `sessionId` the runs below that one. */
  private async live(projectKey: string, sessionId?: string): Promise<LiveSession[]> {
    const names = namesOf({ projectKey, ...(sessionId === undefined ? {} : { sessionId }) })
    const live: LiveSession[] = []
    for (const { id } of await this.store.runs()) {
      if (!names.holds(id)) continue
      const view = await this.store.inspectRun(id)
      const key = await keyOfRun(view)
      const isSub = key?.subpath !== undefined
      if (key === undefined || isSub !== (sessionId !== undefined)) continue
      if ((await liveFrom(view)) !== undefined) live.push({ key, view })
    }
    return live
  }

  private async viewOf(id: string): Promise<RunView | undefined> {
    return (await this.store.context.backend.hasRun(id)) ? this.store.inspectRun(id) : undefined
  }
}

interface LiveSession {
  readonly key: SessionKey
  readonly view: RunView
}

/** The same entry again is the same event, until the session is deleted. */
function entryEvent(entry: SessionEntry, generation: number): NewEvent {
  const op = typeof entry.uuid === 'string' ? valueDigest([generation, entry]) : undefined
  return { type: ENTRY_TYPE, data: entry, op }
}

/** @throws BODY_REDACTED: a transcript with a hole would be another one. */
function entryOf(view: RunView, event: RunEvent): SessionEntry {
  if (event.type === ENTRY_TYPE && event.redacted !== true) return event.data as SessionEntry
  const { seq } = event
  const [code, what] =
    event.redacted === true
      ? (['BODY_REDACTED', 'was redacted'] as const)
      : (['CHAIN_BROKEN', 'cannot be read'] as const)
  throw new DaglogError(
    code,
    `run ${view.id}, seq ${seq}: an entry of the session ${what}. Try: daglog show ${view.id}`,
    { run: view.id, seq },
  )
}

/** The seq from which on entries count; undefined where there is none since the last deletion. */
async function liveFrom(view: RunView): Promise<number | undefined> {
  const [entry, deletion] = [await view.last(ENTRY_TYPE), await view.last(DELETE_TYPE)]
  const from = (deletion?.seq ?? -1) + 1
  return entry !== undefined && entry.seq >= from ? from : undefined
}

async function mtimeOf(view: RunView): Promise<number> {
  return (await view.summary()).updated
}

function summaryOf(
  run: RunView | Run,
  { projectKey, sessionId }: SessionKey,
  fold: FoldSessionSummary,
): Promise<SessionSummary | undefined> {
  return run.project<SessionSummary | null, SessionSummary | undefined>({
    key: 'claude-agent-sdk/summary',
    version: 1,
    types: [ENTRY_TYPE, DELETE_TYPE],
    init: () => null,
    apply(state, event) {
      if (event.type === DELETE_TYPE) return null
      if (event.redacted === true) return state
      const entry = event.data as SessionEntry
      return fold(state ?? undefined, { projectKey, sessionId }, [entry], { mtime: event.time })
    },
    view: (state) => state ?? undefined,
  })
}

/**
 * A `SessionStore` for the SDK's option `sessionStore`. The store stays the caller's to close.
 */
export function claudeSessionStore(
  store: Store,
  options: ClaudeSessionStoreOptions = {},
): ClaudeSessionStore {
  return new ClaudeSessionStore(store, options)
}
