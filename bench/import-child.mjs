/**
 * One import in a process of its own, so that its memory is its own.
 * Usage: node bench/import-child.mjs STORE PATH; prints JSON.
 */
import { importTranscripts } from '../dist/importers/import-transcripts.js'
import { openStore } from '../dist/index.js'

const [, , place, path] = process.argv
const began = performance.now()
const store = await openStore(place)
const { files, leftOut } = await importTranscripts(store, [path], { program: 'bench' })
const seconds = (performance.now() - began) / 1000
const listing = performance.now()
const runs = (await store.runs()).length
const listMs = performance.now() - listing
const rssBytes = process.resourceUsage().maxRSS * 1024
// Last, so that neither time nor memory of it counts.
const { ok } = await store.verify()
await store.close()
console.log(
  JSON.stringify({
    seconds,
    rssBytes,
    files: files.length,
    leftOut: leftOut.length,
    ok,
    runs,
    listMs,
  }),
)
