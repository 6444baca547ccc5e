/**
 * Which run a session of the Claude Agent SDK is: keys as run ids, and back.
 * Keys may be any text; two keys are never one id.
 */
import type { RunView } from '../store/run-view.js'
import { nameOfId as decoded, nameInId as encoded } from './run-names.js'

/** As the SDK names a transcript; with a `subpath` one below the session, such as a sub-agent's. */
export interface SessionKey {
  projectKey: string
  sessionId: string
  subpath?: string
}

const PREFIX = 'claude'

export function runIdOf({ projectKey, sessionId, subpath }: SessionKey): string {
  const names = [projectKey, sessionId, ...(subpath === undefined ? [] : [subpath])]
  return [PREFIX, ...names.map(encoded)].join('/')
}

/**
 * Tells by id which runs are sessions of a project, or with `sessionId` which are below that one.
 */
export function namesOf(key: { readonly projectKey: string; readonly sessionId?: string }): {
  holds(id: string): boolean
} {
  const { projectKey, sessionId } = key
  const names = [projectKey, ...(sessionId === undefined ? [] : [sessionId])]
  const start = `${[PREFIX, ...names.map(encoded)].join('/')}/`
  return { holds: (id) => id.startsWith(start) && !id.slice(start.length).includes('/') }
}

/**
 * The key of a run, which says in full what its id has as a hash; undefined where it is none of
 * ours.
 */
export async function keyOfRun(view: RunView): Promise<SessionKey | undefined> {
  const [prefix, ...parts] = view.id.split('/')
  if (prefix !== PREFIX || parts.length < 2 || parts.length > 3) return undefined
  const names = parts.map(decoded)
  if (names.includes(undefined)) {
    const meta = (await view.last('run/meta'))?.data?.meta as Partial<SessionKey> | null | undefined
    const told = [meta?.projectKey, meta?.sessionId, meta?.subpath].slice(0, parts.length)
    if (told.some((name, at) => typeof name !== 'string' || encoded(name) !== parts[at])) {
      return undefined
    }
    return keyOf(told as string[])
  }
  return keyOf(names as string[])
}

function keyOf([projectKey, sessionId, subpath]: readonly string[]): SessionKey {
  const key = { projectKey: projectKey as string, sessionId: sessionId as string }
  return subpath === undefined ? key : { ...key, subpath }
}
