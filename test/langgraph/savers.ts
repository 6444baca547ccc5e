/**
 * The savers that tests run against: ours, and the peers' own, so that where they differ is a known
 * fact.
 * Their types are told here in our words: the packages are there only where they are installed.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { openStore, type Store } from '../../src/index.js'
import { realPackages } from '../real/real-packages.js'
import { temporaryDir } from '../store/temporary.js'

export interface Config {
  readonly configurable?: Readonly<Record<string, unknown>>
  readonly metadata?: Readonly<Record<string, unknown>>
}

export type Versions = Record<string, number | string>

export interface Checkpoint {
  v: number
  id: string
  ts: string
  channel_values: Record<string, unknown>
  channel_versions: Versions
  versions_seen: Record<string, Versions>
}

export type PendingWrite = [taskId: string, channel: string, value: unknown]

export interface Tuple {
  config: Config
  checkpoint: Checkpoint
  metadata: Record<string, unknown>
  parentConfig?: Config
  pendingWrites: PendingWrite[]
}

export interface ListOptions {
  readonly limit?: number
  readonly before?: Config
  readonly filter?: Readonly<Record<string, unknown>>
}

/** What LangGraph asks of a saver. */
export interface Saver {
  getTuple(config: Config): Promise<Tuple | undefined>
  list(config: Config, options?: ListOptions): AsyncGenerator<Tuple>
  put(
    config: Config,
    checkpoint: Checkpoint,
    metadata: Record<string, unknown>,
    newVersions: Versions,
  ): Promise<Config>
  putWrites(
    config: Config,
    writes: [channel: string, value: unknown][],
    taskId: string,
    taskPath?: string,
  ): Promise<void>
  deleteThread(threadId: string): Promise<void>
  getNextVersion(current: number | string | undefined): number | string
  getDeltaChannelHistory(options: {
    config: Config
    channels: string[]
  }): Promise<Record<string, { seed?: unknown; writes: PendingWrite[] }>>
}

export interface OurSaver extends Saver {
  close(): Promise<void>
}

export interface Opened {
  /** The saver as it stands; `reopen` puts another in its place. */
  readonly saver: Saver
  /** As a process that comes later would find it. The in-memory saver has no later. */
  reopen(): Promise<Saver>
}

/** One of ours: with its store, which verifies when the test is done. */
export interface OpenedDaglog extends Opened {
  readonly saver: OurSaver
  readonly store: Store
  readonly dir: string
}

export type SaverName = 'DaglogSaver' | 'MemorySaver' | 'SqliteSaver'

export interface Contender {
  readonly name: SaverName
  open(): Promise<Opened>
}

export const real = await realPackages('langgraph')

/**
 * The graphs of the topic; they are modules of their own, so that they import what is installed
 * there.
 */
// biome-ignore lint/suspicious/noExplicitAny: their types are there only where they are installed.
export const graphs: any =
  real.skip === undefined
    ? await import(/* @vite-ignore */ new URL('../real/langgraph/graphs.mjs', import.meta.url).href)
    : undefined

/** Its base class is a package's that is there only where it is installed. */
export async function saverOver(store: Store, options: object = {}): Promise<OurSaver> {
  const { DaglogSaver } = await import('../../src/langgraph.js')
  return new DaglogSaver(store, options) as unknown as OurSaver
}

export async function openDaglog(
  dir = join(temporaryDir(), 'store'),
  options: object = {},
): Promise<OpenedDaglog> {
  const opening = async () => {
    const store = await openStore(dir, { onNotice: () => {} })
    const saver = await saverOver(store, options)
    const close = async () => {
      await saver.close()
      await store.close()
    }
    return { store, close, saver }
  }
  let now = await opening()
  onTestFinished(async () => {
    const report = await now.store.verify()
    expect([report.ok, report.runs.filter(({ ok }) => !ok)]).toEqual([true, []])
    await now.close()
  })
  return {
    dir,
    get store() {
      return now.store
    },
    get saver() {
      return now.saver
    },
    async reopen() {
      await now.close()
      now = await opening()
      return now.saver
    },
  }
}

export async function openMemory(): Promise<Opened> {
  const { MemorySaver } = await real.load('@langchain/langgraph-checkpoint')
  const saver = new MemorySaver()
  return { saver, reopen: async () => saver }
}

/**
 * Whether the native part of SQLite's saver was built; `npm rebuild better-sqlite3` in the topic
 * builds it.
 */
const hasSqlite = existsSync(
  fileURLToPath(
    new URL(
      '../real/langgraph/node_modules/better-sqlite3/build/Release/better_sqlite3.node',
      import.meta.url,
    ),
  ),
)

export async function openSqlite(): Promise<Opened> {
  const { SqliteSaver } = await real.load('@langchain/langgraph-checkpoint-sqlite')
  const path = join(temporaryDir(), 'sqlite.db')
  let saver = SqliteSaver.fromConnString(path)
  onTestFinished(() => saver.db.close())
  return {
    get saver() {
      return saver
    },
    async reopen() {
      saver.db.close()
      saver = SqliteSaver.fromConnString(path)
      return saver
    },
  }
}

export const contenders: readonly Contender[] = [
  { name: 'DaglogSaver', open: openDaglog },
  { name: 'MemorySaver', open: openMemory },
  ...(hasSqlite ? [{ name: 'SqliteSaver', open: openSqlite } as const] : []),
]

/**
 * A promise, held against each saver. A peer that `differs` is shown to: the same body must fail on
 * it.
 */
export function promise(
  name: string,
  body: (opened: Opened) => Promise<void>,
  differs: Partial<Record<SaverName, string>> = {},
): void {
  for (const contender of contenders) {
    const why = differs[contender.name]
    it(`${name} (${contender.name}${why === undefined ? '' : ` differs: ${why}`})`, async () => {
      const opened = await contender.open()
      if (why === undefined) await body(opened)
      else await expect(body(opened), 'it does not differ any more').rejects.toThrow()
    })
  }
}

/** The saver as it is, and as it is found later. */
export async function* lives(opened: Opened): AsyncGenerator<Saver> {
  yield opened.saver
  yield await opened.reopen()
}

export const configOf = (thread: string, id?: string, ns = ''): Config => ({
  configurable: {
    thread_id: thread,
    checkpoint_ns: ns,
    ...(id === undefined ? {} : { checkpoint_id: id }),
  },
})

/** Ids in the order of their numbers, as uuid6 would give them. */
export const idOf = (n: number): string =>
  `1f0c0de0-${n.toString(16).padStart(4, '0')}-6000-8000-000000000000`

/** A checkpoint whose channels have these values, all at version 1 unless told. */
export function checkpointOf(
  n: number,
  values: Record<string, unknown>,
  versions: Versions = Object.fromEntries(Object.keys(values).map((name) => [name, 1])),
): Checkpoint {
  return {
    v: 4,
    id: idOf(n),
    ts: new Date(1_790_000_000_000 + n).toISOString(),
    channel_values: values,
    channel_versions: versions,
    versions_seen: {},
  }
}

export const metadataOf = (step: number, more: object = {}): Record<string, unknown> => ({
  source: 'loop',
  step,
  parents: {},
  ...more,
})

/** Put a checkpoint whose every channel is new, after the one numbered `parent`. */
export async function putAll(
  saver: Saver,
  thread: string,
  checkpoint: Checkpoint,
  { parent, ns = '', metadata = metadataOf(1) }: PutOptions = {},
): Promise<Config> {
  const config = configOf(thread, parent === undefined ? undefined : idOf(parent), ns)
  return saver.put(config, checkpoint, metadata, { ...checkpoint.channel_versions })
}

interface PutOptions {
  readonly parent?: number
  readonly ns?: string
  readonly metadata?: Record<string, unknown>
}

export async function listed(
  saver: Saver,
  config: Config,
  options?: ListOptions,
): Promise<Tuple[]> {
  const found: Tuple[] = []
  for await (const tuple of saver.list(config, options)) found.push(tuple)
  return found
}

export async function listedIds(
  saver: Saver,
  config: Config,
  options?: ListOptions,
): Promise<unknown[]> {
  return (await listed(saver, config, options)).map(({ checkpoint }) => checkpoint.id)
}

export async function valuesOf(
  saver: Saver,
  thread: string,
  n?: number,
  ns?: string,
): Promise<Record<string, unknown> | undefined> {
  const tuple = await saver.getTuple(configOf(thread, n === undefined ? undefined : idOf(n), ns))
  return tuple?.checkpoint.channel_values
}
