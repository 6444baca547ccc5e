/**
 * Records one large body, told in pieces, and says how much memory that took at most.
 * node traffic-child.mjs DIR BYTES
 */
import { openRecorder } from '../dist/http.js'
import { openStore } from '../dist/index.js'

const [dir, size] = process.argv.slice(2)
const store = await openStore(dir)
const run = await store.run('large')
const recorder = await openRecorder(run)
const recording = await recorder.start({ method: 'GET', url: 'http://h/', headers: [] }, 'wire')
recording.requestEnd()
recording.response({ status: 200, headers: [['content-type', 'application/octet-stream']] })
const start = performance.now()
const piece = Buffer.alloc(64 * 1024)
let seed = 42
for (let at = 0; at < Number(size); at += piece.length) {
  for (let n = 0; n < piece.length; n += 4) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
    piece.writeUInt32LE(seed, n)
  }
  await recording.responseBody(piece)
}
await recording.end('complete')
const seconds = (performance.now() - start) / 1000
await store.close()
const rss = process.resourceUsage().maxRSS * 1024
console.log(JSON.stringify({ rss, seconds }))
