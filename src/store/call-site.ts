/**
 * Where in a program daglog was called.
 */
import { dirname, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Our own files: `src/` or `dist/`. */
const OWN = dirname(dirname(fileURLToPath(import.meta.url)))
/** The first line of a stack that is not ours is near its top. */
const FRAMES_MAX = 12

/**
 * `agent.ts:12:5`, relative to the working directory where it lies below it; undefined where
 * nobody knows.
 */
export function callSite(): string | undefined {
  const before = Error.stackTraceLimit
  Error.stackTraceLimit = FRAMES_MAX
  const { stack } = new Error('here')
  Error.stackTraceLimit = before
  for (const line of (stack ?? '').split('\n').slice(1)) {
    const place = /\(?((?:file:\/\/)?[^() ]+:\d+:\d+)\)?$/.exec(line)?.[1]
    if (place === undefined || place.startsWith('node:')) continue
    const path = place.startsWith('file://') ? pathIn(place) : place
    if (!path.startsWith(OWN)) return shortened(path)
  }
  return undefined
}

function pathIn(place: string): string {
  const [, url = '', at = ''] = /^(.*?)((?::\d+){2})$/.exec(place) ?? []
  return `${fileURLToPath(url.replace(/\?.*$/, ''))}${at}`
}

function shortened(path: string): string {
  const short = relative(process.cwd(), path)
  return short.startsWith('..') ? path : short
}
