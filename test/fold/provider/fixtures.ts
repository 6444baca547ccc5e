/**
 * Public recordings beside the checkout; tests that need them skip, and say so, where they are not.
 */
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** `/work/shared`, seen from a worktree or from the main checkout. */
const places = ['../../../../shared/', '../../../../../shared/'].map((path) =>
  fileURLToPath(new URL(`${path}fixtures/`, import.meta.url)),
)
const place = places.find((path) => existsSync(path))

export const hasFixtures = place !== undefined
if (!hasFixtures) console.warn('skipped: no ../shared/fixtures beside this checkout')

export function fixture(name: string): Buffer {
  return readFileSync(`${place}${name}`)
}

/** The events of a file with one JSON event a line. */
export function chunksOf(name: string): unknown[] {
  return fixture(name)
    .toString('utf8')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as unknown)
}

/** The bodies of a cassette's streamed responses: YAML block scalars, read by their indent. */
export function cassetteStreams(name: string): string[] {
  const bodies: string[] = []
  let lines: string[] | undefined
  for (const line of fixture(name).toString('utf8').split('\n')) {
    if (/^ {6}string: \|/.test(line)) lines = []
    else if (lines !== undefined && (line === '' || line.startsWith('        '))) {
      lines.push(line.slice(8))
    } else if (lines !== undefined) {
      bodies.push(`${lines.join('\n')}\n`)
      lines = undefined
    }
  }
  return bodies
}
