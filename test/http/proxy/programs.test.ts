/**
 * Programs as they are, under `daglog record --` and then, with the server gone, under `daglog
 * replay --`.
 */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type CommandOptions, daglog, finished, MAIN, printed, start } from '../../cli/command.js'
import { temporaryDir } from '../../store/temporary.js'
import { type ModelServer, openModelServer } from './model-server.js'

const has = (program: string, ...args: string[]): boolean => {
  const there = spawnSync(program, args, { stdio: 'ignore' }).status === 0
  if (!there) console.warn(`skipped: there is no ${program} here that works`)
  return there
}
const curl = has('curl', '--version')
const python = has('python3', '-c', 'import urllib.request, ssl')
const strace = has('strace', '-f', '-e', 'trace=connect', 'true')

const client = (name: string): string => join(import.meta.dirname, 'clients', `${name}.mjs`)

let server: ModelServer
let options: CommandOptions

beforeEach(async () => {
  server = await openModelServer()
  const cwd = temporaryDir()
  const ca = join(cwd, 'origin.pem')
  writeFileSync(ca, server.certificate)
  options = { cwd, env: { NODE_EXTRA_CA_CERTS: ca, OPENAI_BASE_URL: `${server.https}/v1` } }
})

afterEach(() => server.close())

const PYTHON = `
import sys, urllib.request as u
plain, secure = sys.argv[1:]
print(u.urlopen(secure + '/py').read())
print(u.urlopen(u.Request(plain + '/py', data=b'xyz')).read())
`

interface Client {
  readonly name: string
  readonly there: boolean
  readonly calls: number
  command(server: ModelServer): string[]
}

const CLIENTS: readonly Client[] = [
  {
    name: 'curl',
    there: curl,
    calls: 2,
    command: ({ http, https }) => ['curl', '-sS', '--data', 'x=1', `${https}/c`, `${http}/c`],
  },
  {
    name: 'Python urllib',
    there: python,
    calls: 2,
    command: ({ http, https }) => ['python3', '-c', PYTHON, http, https],
  },
  {
    name: 'Node: fetch, http, https',
    there: true,
    calls: 6,
    command: ({ http, https }) => [process.execPath, client('node-clients'), http, https],
  },
  {
    name: 'the openai package, with a tool, a stream and a retry',
    there: true,
    calls: 4,
    command: () => [process.execPath, client('openai-agent')],
  },
]

describe.each(CLIENTS)('$name', ({ there, calls, command }) => {
  it.skipIf(!there)(
    'is recorded, every call that the server counts, and replayed with it gone (row 29)',
    async () => {
      const recorded = await daglog(['record', '--name', 'live', '--', ...command(server)], options)
      expect(recorded.err).toMatch(new RegExp(`^recorded ${calls} calls into .*-live-....$`, 'm'))
      expect(recorded.err).not.toMatch(/unseen|no answer/)
      expect([recorded.code, server.asked]).toEqual([0, calls])
      const words = command(server)
      await server.close()
      const replayed = await daglog(['replay', '@last', '--', ...words], options)
      expect(replayed.err).toContain(`same: ${calls} of ${calls} calls, 0 tokens`)
      expect(replayed).toMatchObject({ code: 0, out: recorded.out })
      // The replay is a run like any other: it replays alone.
      const runs = JSON.parse((await daglog(['runs', '--json'], options)).out).runs
      const again = runs.find((run: { parent?: { kind: string } }) => run.parent?.kind === 'replay')
      const twice = await daglog(['replay', again.run, '--', ...words], options)
      expect(twice).toMatchObject({ code: 0, out: recorded.out })
      expect((await daglog(['verify', '--all'], options)).code).toBe(0)
    },
  )
})

it('after a bare record, `messages` is the history that the SDK itself held', async () => {
  const { out } = await daglog(['record', '--', process.execPath, client('openai-agent')], options)
  const own = JSON.parse(out)
  const { doc } = await daglog(
    ['messages', '@last', '--provider', 'openai', '--json'],
    options,
  ).then((told) => ({ doc: JSON.parse(told.out) }))
  expect(doc.messages).toEqual(own)
  const { out: usage } = await daglog(['usage', '--by', 'run', '--json'], options)
  expect(JSON.parse(usage).rows).toMatchObject([{ calls: 2, inputTokens: 20, outputTokens: 10 }])
})

describe('a replay', () => {
  it.skipIf(!curl)(
    'with a miss ends with 6, though the program swallowed it (deer-flow PR#3436)',
    async () => {
      const { http } = server
      const ask = (...paths: string[]): string[] => [
        '--',
        'sh',
        '-c',
        `${paths.map((path) => `curl -sS ${http}${path}`).join('; ')}; exit 0`,
      ]
      await daglog(['record', ...ask('/known')], options)
      const { code, err, out } = await daglog(
        ['replay', '@last', ...ask('/known', '/known', '/other')],
        options,
      )
      expect(code).toBe(6)
      expect(err).toContain(`exhausted: 1 recorded, asked for the 2nd time`)
      expect(err).toMatch(/^differs: 1 of 3 calls/m)
      expect(out).toContain('"code":"never-seen"')
      expect(server.asked).toBe(1)
      const { out: events } = await daglog(['runs', '--json'], options)
      const { run } = JSON.parse(events).runs.find((row: { parent?: object }) => row.parent)
      const missed = await daglog(['events', run, '--type', 'http/miss', '--jsonl'], options)
      expect(missed.out.trim().split('\n')).toHaveLength(2)
    },
  )

  it.skipIf(!curl || !strace)(
    'opens no connection but those from the program to the sidecar: strace (mitmproxy#5024)',
    async () => {
      const command = ['--', 'curl', '-sS', `${server.https}/x`, `${server.http}/x`]
      await daglog(['record', ...command], options)
      const log = join(options.cwd as string, 'connects')
      const traced = spawnSync(
        'strace',
        [
          '-f',
          '-e',
          'trace=connect,sendto',
          '-o',
          log,
          process.execPath,
          MAIN,
          'replay',
          '@last',
          ...command,
        ],
        { cwd: options.cwd, env: { PATH: process.env.PATH, ...options.env }, encoding: 'utf8' },
      )
      expect(traced.stderr).toContain('same: 2 of 2 calls')
      const lines = spawnSync('cat', [log], { encoding: 'utf8' }).stdout.split('\n')
      const inet = lines.filter((line) => /AF_INET6?/.test(line))
      const ports = new Set(inet.map((line) => /htons\((\d+)\)/.exec(line)?.[1]))
      // All of them to one port, the sidecar's; and no name was looked up (port 53).
      expect(inet.length).toBeGreaterThan(0)
      expect(inet.every((line) => line.includes('127.0.0.1'))).toBe(true)
      expect(ports.size).toBe(1)
      expect([...ports]).not.toContain(new URL(server.https).port)
      expect([...ports]).not.toContain(new URL(server.http).port)
    },
  )

  it('lets a program reach nothing beside the sidecar, or says that this is not enforced (row 23)', async () => {
    const direct = `require('net').connect(${new URL(server.http).port}, '127.0.0.1').on('connect', () => process.exit(9)).on('error', () => process.exit(0))`
    await daglog(['record', '--', process.execPath, '-e', '0'], options)
    const { code, err } = await daglog(
      ['replay', '@last', '--', process.execPath, '-e', direct],
      options,
    )
    if (err.includes('not enforced')) expect(code).toBe(9)
    else expect(code).toBe(0)
  })
})

describe('the program', () => {
  it('keeps its exit code', async () => {
    const { code } = await daglog(['record', '--', 'sh', '-c', 'exit 42'], options)
    expect(code).toBe(42)
    expect((await daglog(['runs', '--json'], options)).out).toContain('"status":"error"')
  })

  it('is sent on what signals come, and waited for', async () => {
    const code = `process.on('SIGTERM', () => { console.log('bye'); process.exit(9) }); console.log('up'); setInterval(() => {}, 1000)`
    const child = start(['record', '--', process.execPath, '-e', code], options)
    const end = finished(child)
    await printed(child)('up')
    child.kill('SIGTERM')
    expect(await end).toMatchObject({ code: 9, out: 'up\nbye\n' })
    expect((await daglog(['verify', '@last'], options)).code).toBe(0)
  })

  it('finds what it needs in its environment (row 38), and nothing of ours is left behind', async () => {
    const { out } = await daglog(
      ['record', '--name', 'e', '--', process.execPath, '-p', 'JSON.stringify(process.env)'],
      options,
    )
    const env = JSON.parse(out)
    expect(env.HTTPS_PROXY).toMatch(/^http:\/\/daglog:[0-9a-f]{32}@127\.0\.0\.1:\d+$/)
    for (const name of ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'all_proxy', 'DAGLOG_PROXY'])
      expect(env[name]).toBe(env.HTTPS_PROXY)
    expect([env.NO_PROXY, env.no_proxy]).toEqual(['', ''])
    expect(env.OPENAI_BASE_URL).toMatch(new RegExp(`/https/${new URL(server.https).host}/v1$`))
    expect(env.ANTHROPIC_BASE_URL).toMatch(/\/https\/api\.anthropic\.com$/)
    expect(env).toMatchObject({
      DAGLOG_MODE: 'record',
      DAGLOG_DIR: join(options.cwd as string, '.daglog'),
    })
    expect(env.DAGLOG_RUN).toMatch(/-e-/)
    // What is read at the start of a process is of no use in a file of settings.
    expect(env.NODE_EXTRA_CA_CERTS).toMatch(/\.pem$/)
    expect(spawnSync('ls', [env.SSL_CERT_FILE]).status).not.toBe(0)
  })

  it.skipIf(!curl)('may run beside another one: each is recorded by itself (row 44)', async () => {
    const record = (path: string): Promise<{ err: string }> =>
      daglog(['record', '--name', path, '--', 'curl', '-sS', `${server.http}/${path}`], options)
    const told = await Promise.all([record('one'), record('two'), record('three')])
    for (const { err } of told) expect(err).toContain('recorded 1 call into')
  })
})

it.skipIf(!curl)('--host records one host and says what went by', async () => {
  const { https, http } = server
  const ca = join(options.cwd as string, 'origin.pem')
  const command = ['curl', '-sS', '--cacert', ca, `${https}/x`]
  const { code, err, out } = await daglog(
    ['record', '--host', 'api.example', '--', ...command],
    options,
  )
  expect([code, out]).toEqual([0, 'GET /x 0'])
  expect(err).toContain('recorded 0 calls')
  expect(err).toContain(`unseen ${new URL(https).host} went by unseen`)
  expect(http).toBeTruthy()
})

it.skipIf(!curl)(
  'a sidecar that stands alone tells what to set, and sums up when it is stopped',
  async () => {
    const child = start(['proxy'], options)
    const end = finished(child)
    await printed(child)('export DAGLOG_PROXY=')
    child.kill('SIGINT')
    const { code, out, err } = await end
    expect(code).toBe(0)
    expect(out).toMatch(/^export HTTPS_PROXY='http:/m)
    expect(err).toContain('0 calls recorded, 0 replayed')
  },
)
