/**
 * Where Claude Code keeps its transcripts, and which session a file of them holds.
 * The name of a project's directory is lossy, so it is not used: the records say where they were
 * made.
 */
import { basename, dirname, join } from 'node:path'
import { ClaudeSidechains } from './claude-sidechains.js'
import { type Beginning, type Session, type TranscriptFormat, timeOf } from './format.js'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const AGENT = /^agent-[\w-]+$/

const TYPES = new Set(['user', 'assistant', 'system', 'attachment', 'progress', 'summary'])

export const claudeCodeFormat: TranscriptFormat = {
  key: 'claude-code',
  prefix: 'claude',
  neverRecorded: [
    'the deltas of streams',
    'system prompts, tool schemas and request parameters',
    'when the body of a tool began, and how a person was asked for permission',
    'requests that failed before a message came',
  ],
  parting: () => new ClaudeSidechains(),
  identify({ path, records }: Beginning): Session | undefined {
    const own = records.filter(isOwn)
    if (own.length === 0) return undefined
    const said = own.find(({ sessionId }) => typeof sessionId === 'string')?.sessionId as
      | string
      | undefined
    const stem = basename(path).replace(/\.jsonl?$/, '')
    const started = timeOf(own)
    const time = started === undefined ? {} : { started }
    if (AGENT.test(stem)) {
      const parent = parentOf(path) ?? said
      const label = `${short(parent ?? 'unknown')}-${stem.slice(0, 32)}`
      const session = `${parent ?? 'unknown'}/${agentPath(path, stem)}`
      const meta = join(dirname(path), `${stem}.meta.json`)
      return { session, label, ...time, ...(parent && { parent }), beside: [meta] }
    }
    const session = UUID.test(stem) ? stem : (said ?? stem)
    const results = join(dirname(path), stem, 'tool-results')
    return { session, label: short(session), ...time, beside: [results] }
  },
}

type Json = Readonly<Record<string, unknown>>

function isOwn(record: unknown): record is Json {
  if (typeof record !== 'object' || record === null) return false
  const { type, message, sessionId, leafUuid, uuid, snapshot } = record as Json
  if (typeof type !== 'string') return false
  if (typeof sessionId === 'string' || typeof leafUuid === 'string') return true
  if (type === 'file-history-snapshot') return snapshot !== undefined
  return TYPES.has(type) && (typeof message === 'object' || typeof uuid === 'string')
}

/** `<session>/subagents/agent-<id>.jsonl`, with directories between them. */
function parentOf(path: string): string | undefined {
  const parts = path.split(/[\\/]/)
  const at = parts.lastIndexOf('subagents')
  const session = parts[at - 1]
  return at > 0 && session !== undefined && UUID.test(session) ? session : undefined
}

function agentPath(path: string, stem: string): string {
  const parts = path.split(/[\\/]/)
  const at = parts.lastIndexOf('subagents')
  return at < 0 ? stem : [...parts.slice(at + 1, -1), stem].join('/')
}

function short(session: string): string {
  return UUID.test(session) ? session.slice(0, 8) : session.replace(/[^\w-]+/g, '-').slice(0, 24)
}
