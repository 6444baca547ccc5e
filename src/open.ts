/**
 * Opens a store by its place: a directory, a backend, or the nearest `.daglog`.
 * The only file beside the command line that names concrete backends.
 */
import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { againVerbs } from './agent/verbs.js'
import type { Backend } from './backend/backend.js'
import { directory } from './backend/fs.js'
import { DaglogError } from './core/errors.js'
import { type Notice, warnOnNotice } from './store/notices.js'
import type { Run } from './store/run.js'
import type { RunView } from './store/run-view.js'
import { Store, type StoreOptions } from './store/store.js'

export interface OpenStoreOptions extends StoreOptions {
  /** Make a store where there is none; true unless told. */
  readonly create?: boolean
  /** Write although the directory is on a network file system. */
  readonly allowNetwork?: boolean
}

export const STORE_DIR = '.daglog'

/**
 * Open a store: a path of a directory, a backend, or nothing: then `DAGLOG_DIR`, the nearest
 * `.daglog` upward from the working directory, or a new `./.daglog`.
 * @throws STORE_NOT_FOUND (with `create: false`), STORE_INVALID, FORMAT_TOO_NEW, MEDIUM_UNSUITABLE
 */
export async function openStore(
  place?: string | Backend,
  options: OpenStoreOptions = {},
): Promise<Store> {
  const listener = options.onNotice ?? warnOnNotice
  const backend = typeof place === 'object' ? place : openDirectory(place, options, listener)
  const store = await Store.open(backend, { ...options, create: options.create ?? true })
  store.again = againVerbs({ replayingFetch })
  store.recording = recordingFetch
  return store
}

/**
 * Loaded when it is first called: most programs that open a store never ask the network through it.
 */
function recordingFetch(run: Run): typeof fetch {
  let wrapped: Promise<typeof fetch> | undefined
  return async (input, init) => {
    wrapped ??= import('./http/with-replay.js').then(({ withReplay }) =>
      // Looked up at each call, as a plain `fetch` would be.
      withReplay((...call) => globalThis.fetch(...call), { into: run }),
    )
    return (await wrapped)(input, init)
  }
}

/** The same for a run that is a replay: nothing is sent. */
function replayingFetch(run: Run, source: RunView): typeof fetch {
  let wrapped: Promise<typeof fetch> | undefined
  return async (input, init) => {
    wrapped ??= import('./http/with-replay.js').then(({ withReplay }) =>
      withReplay(noNetwork, { from: source, into: run, unknown: 'miss' }),
    )
    return (await wrapped)(input, init)
  }
}

function noNetwork(): Promise<never> {
  throw new DaglogError('INVARIANT', 'a replay asked for the network')
}

function openDirectory(
  place: string | undefined,
  options: OpenStoreOptions,
  listener: (notice: Notice) => void,
): Backend {
  const root = resolve(place ?? findStore(process.cwd()) ?? STORE_DIR)
  return directory(root, {
    allowNetwork: options.allowNetwork ?? false,
    onNotice: (message, cause) =>
      listener({ about: 'objects', message, ...(cause === undefined ? {} : { cause }) }),
  })
}

/** `DAGLOG_DIR`, or the nearest `.daglog` upward from `from`, or undefined. */
export function findStore(from: string): string | undefined {
  const named = process.env.DAGLOG_DIR
  if (named !== undefined && named !== '') return named
  for (let dir = resolve(from); ; dir = dirname(dir)) {
    const candidate = join(dir, STORE_DIR)
    if (existsSync(join(candidate, 'store.json'))) return candidate
    if (dirname(dir) === dir) return undefined
  }
}
