/**
 * A folder of files put into a fresh store and read back: what it takes, and whether every byte returns.
 * Usage: node bench/corpus.mjs DIR [--ext jsonl] [--keep STORE]
 * The store lives in the scratch directory and goes away, unless --keep names a place for it.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { openStore } from '../dist/index.js'
import { withScratch } from './scratch.mjs'

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { ext: { type: 'string' }, keep: { type: 'string' } },
})
const [dir] = positionals
if (dir === undefined) {
  console.error('usage: node bench/corpus.mjs DIR [--ext jsonl] [--keep STORE]')
  process.exit(2)
}

const root = resolve(dir)
const files = readdirSync(root, { recursive: true, withFileTypes: true })
  .filter(
    (entry) => entry.isFile() && (flags.ext === undefined || entry.name.endsWith(`.${flags.ext}`)),
  )
  .map((entry) => join(entry.parentPath, entry.name))
  .sort()
const bytesOf = (path) =>
  readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0)
const seconds = async (work) => {
  const from = performance.now()
  await work()
  return (performance.now() - from) / 1000
}

let input = 0

async function measure(place) {
  const digests = new Map()
  const store = await openStore(place)
  const putSeconds = await seconds(async () => {
    const run = await store.run('corpus')
    for (const file of files) {
      const bytes = readFileSync(file)
      input += bytes.length
      digests.set(relative(root, file), createHash('sha256').update(bytes).digest('hex'))
      await run.append('corpus/file', { file: relative(root, file), bytes })
    }
    await run.end()
  })
  const stored = bytesOf(place)
  let exact = 0
  const readSeconds = await seconds(async () => {
    for await (const { data } of (await store.inspectRun('corpus')).events({
      types: ['corpus/file'],
    })) {
      if (createHash('sha256').update(data.bytes).digest('hex') === digests.get(data.file))
        exact += 1
    }
  })
  const verified = await store.verify('corpus')
  await store.close()
  return { stored, putSeconds, readSeconds, exact, ok: verified.ok }
}

const { stored, putSeconds, readSeconds, exact, ok } =
  flags.keep === undefined
    ? await withScratch((scratch) => measure(join(scratch, 'store')))
    : await measure(flags.keep)
const mb = (bytes) => (bytes / 1e6).toFixed(1)
const rate = (time) => `${(input / 1e6 / time).toFixed(0)} MB/s`
console.log(`${files.length} files, ${mb(input)} MB`)
console.log(`stored   ${mb(stored)} MB, all in (${(input / stored).toFixed(1)} times smaller)`)
console.log(`put      ${putSeconds.toFixed(1)} s, ${rate(putSeconds)}`)
console.log(`read     ${readSeconds.toFixed(1)} s, ${rate(readSeconds)}`)
console.log(`peak RSS ${(process.resourceUsage().maxRSS / 1024).toFixed(0)} MB`)
console.log(`exact    ${exact} of ${files.length}; verify ${ok ? 'ok' : 'FAILED'}`)
process.exitCode = exact === files.length && ok ? 0 : 1
