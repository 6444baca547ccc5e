/**
 * Heavy packages that only tests need: each `test/real/<topic>/` has a package.json and a lockfile of its
 * own, so that `npm ci` of the project stays small. They are installed when a test first asks for them,
 * once for each lockfile; where the registry does not answer, their tests skip and say so.
 *
 * Their types are checked by a tsconfig.json of the topic; the project's own looks into no topic.
 *
 * node test/real/install.mjs [TOPIC...]   installs these (all unless told), for work without a network
 * DAGLOG_REAL=skip      asks no registry: what is installed is used, the rest skips
 * DAGLOG_REAL=require   fails where a test would skip
 */
import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { copyFile, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('.', import.meta.url))

/** What of a topic decides about its packages; npm reads settings of the topic in `.npmrc`. */
const SETTINGS = ['package.json', 'package-lock.json', '.npmrc']
/** Lies among the packages, so that what it imports is resolved as for a file of the topic. */
const LOADER = join('node_modules', '.daglog', 'load.mjs')
const STAMP = join('node_modules', '.daglog', 'stamp')
const INSTALL_MS_MAX = 600_000

/** npm errors that say that there is no registry to be had, and nothing about our lockfile. */
const UNREACHABLE =
  /\b(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTCACHED|ERR_SOCKET_TIMEOUT|FETCH_ERROR|E403|E407|E429|E5\d\d)\b/

/**
 * Make the packages of a topic ready.
 * @returns the path of a module whose `load(specifier)` imports them, or why they cannot be had.
 * @throws where npm refuses the lockfile, or anything else is wrong that is ours.
 */
export async function install(topic, { dir = join(root, topic), env = process.env } = {}) {
  const stamp = stampOf(dir)
  const loader = join(dir, LOADER)
  if (isInstalled(dir, stamp)) return { loader }
  const skip =
    env.DAGLOG_REAL === 'skip'
      ? 'not installed, and DAGLOG_REAL=skip'
      : await fetchInto(dir, stamp, env)
  if (skip === undefined) return { loader }
  const reason = `the packages of test/real/${topic} are not here: ${skip}`
  if (env.DAGLOG_REAL === 'require') throw new Error(reason)
  return { skip: reason }
}

function isInstalled(dir, stamp) {
  const path = join(dir, STAMP)
  return existsSync(path) && readFileSync(path, 'utf8') === stamp
}

/** Packages with compiled parts also depend on the machine and on Node's ABI. */
function stampOf(dir) {
  const hash = createHash('sha256')
  hash.update(JSON.stringify([process.platform, process.arch, process.versions.modules]))
  for (const name of SETTINGS) {
    const path = join(dir, name)
    hash.update(`\0${name}\0`)
    if (existsSync(path)) hash.update(readFileSync(path))
  }
  return hash.digest('hex')
}

/**
 * Install beside the place and move it there whole: a killed install leaves nothing half, and two at once
 * do not meet. The directory that it happens in is called node_modules, so every tool looks away.
 */
async function fetchInto(dir, stamp, env) {
  const work = join(dir, '..', 'node_modules', `${basename(dir)}-${randomBytes(4).toString('hex')}`)
  await mkdir(work, { recursive: true })
  try {
    for (const name of SETTINGS) {
      if (existsSync(join(dir, name))) await copyFile(join(dir, name), join(work, name))
    }
    const skip = await npmCi(work, env)
    if (skip !== undefined) return skip
    await mkdir(join(work, 'node_modules', '.daglog'), { recursive: true })
    await writeFile(join(work, LOADER), 'export const load = (specifier) => import(specifier)\n')
    await writeFile(join(work, STAMP), stamp)
    await moveIn(work, dir, stamp)
    return undefined
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

async function moveIn(work, dir, stamp) {
  const place = join(dir, 'node_modules')
  try {
    if (existsSync(place)) await rename(place, join(work, 'replaced'))
    await rename(join(work, 'node_modules'), place)
  } catch (error) {
    // Another process was faster.
    if (!isInstalled(dir, stamp)) throw error
  }
}

/** Scripts of packages are not run, unless the topic's `.npmrc` says something about them itself. */
function npmCi(work, env) {
  const npmrc = join(work, '.npmrc')
  const says = existsSync(npmrc) && /^\s*ignore-scripts\s*=/m.test(readFileSync(npmrc, 'utf8'))
  const args = ['ci', '--prefix', work, '--prefer-offline', '--no-audit', '--no-fund']
  args.push('--loglevel=error', '--fetch-timeout=30000')
  args.push('--fetch-retries=2', '--fetch-retry-mintimeout=500', '--fetch-retry-maxtimeout=2000')
  if (!says) args.push('--ignore-scripts')
  const windows = process.platform === 'win32'
  return new Promise((resolve, reject) => {
    const options = { cwd: work, env, shell: windows, timeout: INSTALL_MS_MAX }
    const child = spawn('npm', args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] })
    let said = ''
    child.stderr.on('data', (chunk) => {
      said += chunk
    })
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (code === 0) resolve(undefined)
      else if (signal !== null) resolve(`npm ci was ended by ${signal}`)
      else if (UNREACHABLE.test(said))
        resolve(`the registry does not answer (${UNREACHABLE.exec(said)[0]})`)
      else reject(new Error(`npm ci failed in ${work}:\n${said}`))
    })
  })
}

/** Names of all topics. */
export function topics() {
  return readdirSync(root).filter((name) => existsSync(join(root, name, 'package-lock.json')))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const asked = process.argv.slice(2)
  for (const topic of asked.length > 0 ? asked : topics()) {
    const { skip } = await install(topic)
    console.log(skip ?? `${topic}: installed`)
    if (skip !== undefined) process.exitCode = 1
  }
}
