/**
 * What a rollout says of its session and of what the model is asked with: `session_meta` and
 * `turn_context`.
 */
import type { RequestHeader, SessionInfo } from '../../core/event-map.js'
import { sha256 } from '../../core/hash.js'
import type { CodexReading, CodexSession } from './codex-state.js'
import { isMembers, type Members, text, timeOf } from './json-members.js'

/** `session_meta`, or the first line of the oldest files. Later ones are copies of a parent's. */
export function readMeta(reading: CodexReading, payload: Members): void {
  const { session, tokens } = reading.state
  if (session !== undefined) {
    if (text(payload.id) !== session.id) reading.set({ tokens: { ...tokens, copying: true } })
    reading.other('session_meta', payload)
    return
  }
  const parent = parentOf(payload)
  const started = timeOf(payload.timestamp) ?? reading.time
  const ownOrdinal = payload.subagent_history_start_ordinal
  const found: CodexSession = {
    id: text(payload.id) ?? text(payload.session_id) ?? '',
    ...(started === undefined ? {} : { started }),
    ...(parent === undefined ? {} : { parent: parent.session }),
    ...(typeof ownOrdinal === 'number' ? { ownOrdinal } : {}),
  }
  const provider = providerOf(text(payload.model_provider))
  const instructions = instructionsOf(payload)
  // A fork copies its parent's records, unless it says where they are.
  const copying = text(payload.forked_from_id) !== undefined && !isMembers(payload.history_base)
  reading.set({
    session: found,
    provider,
    tokens: { ...tokens, copying },
    ...(instructions === undefined ? {} : { instructions }),
  })
  const git = isMembers(payload.git) ? payload.git : {}
  const { info } = reading.state
  reading.describe({
    ...info,
    session: found.id,
    client: text(payload.originator) ?? 'codex',
    ...given('version', text(payload.cli_version)),
    ...given('cwd', text(payload.cwd)),
    ...given('branch', text(git.branch)),
    ...given('parent', parent),
  })
  reading.other('session_meta', payload)
}

/** The session that this one goes on from, or is a sub-agent of. */
export function parentOf(payload: Members): SessionInfo['parent'] {
  const fork = text(payload.forked_from_id)
  const base = isMembers(payload.history_base) ? text(payload.history_base.thread_id) : undefined
  const child = text(payload.parent_thread_id) ?? spawnedBy(payload.source)
  const before = beforeOf(payload.history_base)
  // What it goes on from is named by the reference itself, where there is one.
  if (base !== undefined && before !== undefined)
    return { session: base, kind: child === undefined ? 'fork' : 'child', before }
  if (child !== undefined) return { session: child, kind: 'child' }
  const from = fork ?? base
  return from === undefined ? undefined : { session: from, kind: 'fork' }
}

function beforeOf(
  base: unknown,
): { readonly ordinal?: number; readonly bytes?: number } | undefined {
  if (!isMembers(base)) return undefined
  const { end_ordinal_exclusive: ordinal, end_byte_offset: bytes } = base
  const before = {
    ...(typeof ordinal === 'number' ? { ordinal } : {}),
    ...(typeof bytes === 'number' ? { bytes } : {}),
  }
  return Object.keys(before).length === 0 ? undefined : before
}

function spawnedBy(source: unknown): string | undefined {
  const agent = isMembers(source) ? source.subagent : undefined
  const spawn = isMembers(agent) ? agent.thread_spawn : undefined
  return isMembers(spawn) ? text(spawn.parent_thread_id) : undefined
}

function instructionsOf(payload: Members): string | undefined {
  const base = payload.base_instructions
  return (isMembers(base) ? text(base.text) : text(base)) ?? text(payload.instructions)
}

/** OpenAI's own models speak the Responses API; any other provider goes by its name. */
function providerOf(name: string | undefined): string {
  return name === undefined || name === 'openai' ? 'openai-responses' : name
}

/** `turn_context`, and settings that are applied in between. */
export function readSetup(reading: CodexReading, context: Members): void {
  const model = text(context.model)
  const named = text(context.model_provider) ?? text(context.model_provider_id)
  if (model !== undefined) reading.set({ model })
  if (named !== undefined) reading.set({ provider: providerOf(named) })
  reading.describe({ ...given('cwd', text(context.cwd)), ...given('model', model) })
  outHeader(reading, context)
}

/** The header as far as a rollout says it: it keeps no tools. */
function outHeader(reading: CodexReading, context: Members): void {
  const { model, provider, instructions, header } = reading.state
  if (model === undefined || provider === undefined) return
  const { effort, summary } = context
  const reasoning = {
    ...(typeof effort === 'string' ? { effort } : {}),
    ...(typeof summary === 'string' ? { summary } : {}),
  }
  const next: RequestHeader = {
    model,
    provider,
    ...given('system', instructions),
    ...(Object.keys(reasoning).length === 0 ? {} : { params: { reasoning } }),
  }
  const hash = sha256(Buffer.from(JSON.stringify(next)))
  if (hash === header) return
  reading.set({ header: hash })
  reading.out('request/header', next)
}

function given<K extends string, V>(key: K, value: V | undefined): { [key in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [key in K]?: V })
}
