/**
 * A Postgres of the bench's own, on the loopback, where one is installed. It refuses to run as root, so as
 * root it runs as the user `postgres`.
 */
import { execFile } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** @returns {Promise<{skip: string} | {place: (name: string) => Promise<string>, stop: () => Promise<void>}>} */
export async function startPostgres() {
  const bin = programs()
  if (bin === undefined) return { skip: 'no Postgres is installed' }
  // Below a directory that the other user may enter.
  const home = mkdtempSync(join(process.env.DAGLOG_BENCH_DIR ?? tmpdir(), 'daglog-bench-pg-'))
  const data = join(home, 'data')
  mkdirSync(data)
  const user = await owner(home, data)
  const call = (program, ...args) => run(join(bin, program), args, { ...user, cwd: home })
  const port = await freePort()
  try {
    await call('initdb', '-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8')
    const options = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=''`
    await call('pg_ctl', '-D', data, '-w', '-l', join(data, 'server.log'), '-o', options, 'start')
  } catch (error) {
    rmSync(home, { recursive: true, force: true })
    return { skip: `Postgres does not start: ${error.message.split('\n')[0]}` }
  }
  const base = `postgresql://postgres@127.0.0.1:${port}`
  return {
    async place(name) {
      await call('psql', '-q', `${base}/postgres`, '-c', `create database ${name}`)
      return `${base}/${name}`
    },
    async stop() {
      await call('pg_ctl', '-D', data, '-m', 'immediate', 'stop')
      rmSync(home, { recursive: true, force: true })
    },
  }
}

function programs() {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian)
    ? readdirSync(debian).sort((a, b) => Number(b) - Number(a))
    : []
  const places = [
    ...versions.map((one) => join(debian, one, 'bin')),
    ...(process.env.PATH ?? '').split(':'),
  ]
  return places.find((dir) => existsSync(join(dir, 'initdb')) && existsSync(join(dir, 'pg_ctl')))
}

async function owner(...dirs) {
  if (process.getuid() !== 0) return {}
  const idOf = async (flag) => Number((await run('id', [flag, 'postgres'])).stdout)
  const [uid, gid] = [await idOf('-u'), await idOf('-g')]
  for (const dir of dirs) chownSync(dir, uid, gid)
  return { uid, gid }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.on('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}
