/**
 * The savers of the bench by name, each at a place of its own.
 */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

/**
 * @typedef {{delta: boolean, open: (place: string) => Promise<{saver: object, close: () => Promise<void>}>}} Kind
 * @type {Record<string, Kind>}
 */
export const SAVERS = {
  daglog: { delta: false, open: openDaglog },
  sqlite: { delta: false, open: (place) => openSqlite(place, 'NORMAL') },
  full: { delta: false, open: (place) => openSqlite(place, 'FULL') },
  delta: { delta: true, open: (place) => openSqlite(place, 'NORMAL') },
  postgres: { delta: false, open: openPostgres },
}

async function openDaglog(place) {
  const [{ openStore }, { DaglogSaver }] = await Promise.all([
    import('../../dist/index.js'),
    import('../../dist/langgraph.js'),
  ])
  const store = await openStore(join(place, 'store'))
  const saver = new DaglogSaver(store)
  const close = async () => {
    await saver.close()
    await store.close()
  }
  return { saver, close }
}

async function openSqlite(place, synchronous) {
  const { SqliteSaver } = await import('@langchain/langgraph-checkpoint-sqlite')
  const saver = SqliteSaver.fromConnString(join(place, 'checkpoints.db'))
  saver.setup()
  saver.db.pragma(`synchronous=${synchronous}`)
  return { saver, close: async () => saver.db.close() }
}

/** `place` is an address here. */
async function openPostgres(place) {
  const { PostgresSaver } = await import('@langchain/langgraph-checkpoint-postgres')
  const saver = PostgresSaver.fromConnString(place)
  await saver.setup()
  return { saver, close: () => saver.end() }
}

/** Bytes of all files below a place; a data base has its own word for it. */
export async function bytesAt(place, saver) {
  if (saver?.pool !== undefined) {
    const { rows } = await saver.pool.query('select pg_database_size(current_database()) as bytes')
    return Number(rows[0].bytes)
  }
  return readdirSync(place, { recursive: true }).reduce((sum, name) => {
    const stat = statSync(join(place, name))
    return sum + (stat.isFile() ? stat.size : 0)
  }, 0)
}
