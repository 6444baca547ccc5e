/**
 * Calls of several runs, each counted once.
 * Transcripts copy: a fork may begin with its parent's whole history, a sub-agent's file with a
 * part of it, a session that was resumed with messages of the one before. What is the same call is
 * told by the message's own name, or by standing at the same place of the same sequence as in the
 * parent; equal numbers alone say nothing.
 * @see docs/usage.md#once
 */
import type { ModelUsage, UsageCall } from './usage.js'

export interface RunCalls extends ModelUsage {
  readonly run: string
}

/** A call, and the run that it is counted in. */
export interface CountedCall extends UsageCall {
  readonly run: string
}

export interface CountedUsage {
  readonly calls: readonly CountedCall[]
  /** Calls that are not counted, since another run here has them. */
  readonly counted: number
  /**
   * Sessions that are not here, whose calls some run holds copies of: these are counted nowhere.
   */
  readonly missing: readonly MissingSession[]
}

export interface MissingSession {
  readonly session: string
  /** In the run that holds most copies. */
  readonly calls: number
}

/** @param runs In the order in which they began: the first that holds a call counts it. */
export function countOnce(runs: readonly RunCalls[]): CountedUsage {
  const bySession = new Map<string, RunCalls>()
  for (const run of runs) {
    // Of a session with several versions, the newest is what the next ones came from.
    if (run.session !== undefined) bySession.set(run.session, run)
  }
  const messages = new Set<string>()
  const versions = new Map<string, Set<string>>()
  const missing = new Map<string, number>()
  const calls: CountedCall[] = []
  let counted = 0
  for (const run of runs) {
    const parent = run.parent === undefined ? undefined : bySession.get(run.parent.session)
    const shared = parent === undefined || parent === run ? undefined : sharedPrefix(run, parent)
    const known = versions.get(run.session ?? '')
    const own = new Set<string>()
    let lost = 0
    for (const [at, call] of run.calls.entries()) {
      const { message } = call
      if (message !== undefined) {
        const isNew = !messages.has(message)
        messages.add(message)
        if (isNew) calls.push({ ...call, run: run.run })
        else counted += 1
      } else if (isCopied(call, at, shared)) {
        if (parent === undefined) lost += 1
        else counted += 1
      } else if (known?.has(placeOf(call)) === true) counted += 1
      else {
        calls.push({ ...call, run: run.run })
        own.add(placeOf(call))
      }
    }
    if (run.session !== undefined) versions.set(run.session, new Set([...(known ?? []), ...own]))
    const session = run.parent?.session ?? 'unknown'
    if (lost > 0) missing.set(session, Math.max(missing.get(session) ?? 0, lost))
  }
  const gone = Array.from(missing, ([session, calls]) => ({ session, calls }))
  return { calls, counted, missing: gone }
}

/** The same time and the same numbers, in two versions of one session: its file was rewritten. */
function placeOf({ time, usage }: UsageCall): string {
  return `${time} ${JSON.stringify(usage)}`
}

/**
 * @param shared How many calls the run and its parent begin with; undefined where the parent is not
 * here.
 */
function isCopied({ copied }: UsageCall, at: number, shared: number | undefined): boolean {
  if (copied === 'record') return true
  // The parent knows better than the clock.
  return shared === undefined ? copied === 'time' : at < shared
}

/** Two calls of a sub-agent that equal its parent's first two are a copy; one may be chance. */
const CHANCE_MAX = 1

function sharedPrefix(run: RunCalls, parent: RunCalls): number {
  let shared = 0
  for (const [at, call] of run.calls.entries()) {
    const other = parent.calls[at]
    if (other === undefined || !equal(call, other)) break
    shared = at + 1
  }
  const isSaid = run.parent?.kind === 'fork' || run.calls[0]?.copied !== undefined
  return shared > CHANCE_MAX || isSaid ? shared : 0
}

function equal({ usage }: UsageCall, { usage: other }: UsageCall): boolean {
  return (
    usage.inputTokens === other.inputTokens &&
    usage.outputTokens === other.outputTokens &&
    usage.cacheReadTokens === other.cacheReadTokens &&
    usage.cacheWriteTokens === other.cacheWriteTokens &&
    usage.reasoningTokens === other.reasoningTokens
  )
}
