/**
 * Codex rollouts: which thread a file holds. The first `session_meta` owns it; a fork repeats its
 * parent's behind that.
 */
import { basename } from 'node:path'
import { type Session, type TranscriptFormat, timeOf } from './format.js'

type Json = Readonly<Record<string, unknown>>

export const codexFormat: TranscriptFormat = {
  key: 'codex',
  prefix: 'codex',
  neverRecorded: [
    'approvals and who gave them',
    'hooks',
    'the deltas of streams, and when the body of a tool began',
    'whole outputs of commands, where Codex cut their middle out',
  ],
  identify({ path, records }) {
    const session = sessionIn(path, records)
    // Nothing but itself can give a packed file back.
    const beside = path.endsWith('.zst') ? { beside: [path] } : {}
    return session && { ...session, ...beside }
  },
}

function sessionIn(path: string, records: readonly unknown[]): Session | undefined {
  const own = records.filter(isObject)
  const first = own.find((record) => record.type === 'session_meta')
  if (first !== undefined && isObject(first.payload)) return sessionOf(first.payload, own)
  // The oldest versions begin with a bare header.
  const [header] = own
  if (header === undefined) return undefined
  if (typeof header.id === 'string' && 'timestamp' in header && header.type === undefined)
    return sessionOf(header, own)
  const isRollout = /^rollout-/.test(basename(path)) && own.some(isWrapped)
  return isRollout ? sessionOf({ id: basename(path).replace(/\.jsonl.*$/, '') }, own) : undefined
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isWrapped({ type, payload }: Json): boolean {
  return typeof type === 'string' && isObject(payload)
}

function sessionOf(meta: Json, records: readonly Json[]): Session {
  const id = String(meta.id ?? meta.session_id)
  const started = timeOf([meta, ...records])
  const parent = parentOf(meta)
  return {
    session: id,
    // Its beginning is the time: so much of it tells threads of one minute apart.
    label: id.replace(/[^\w-]+/g, '-').slice(0, 18),
    ...(started === undefined ? {} : { started }),
    ...(parent === undefined ? {} : { parent }),
  }
}

/** The thread that spawned this one, in each era's own words. */
function parentOf({ source, parent_thread_id: said }: Json): string | undefined {
  const subagent = isObject(source) ? source.subagent : undefined
  const spawn = isObject(subagent) ? subagent.thread_spawn : undefined
  const spawned = isObject(spawn) ? spawn.parent_thread_id : undefined
  if (typeof spawned === 'string') return spawned
  return typeof said === 'string' && subagent !== undefined ? said : undefined
}
