/**
 * The label of a run that was given none: `2026-08-26-score-3f2a`.
 */
import { randomBytes } from 'node:crypto'

const NAME_LENGTH_MAX = 40

/** Date (UTC), name and 4 hex digits drawn at random; a clash is for the caller to draw again. */
export function newRunId({ name, time }: { readonly name: string; readonly time: number }): string {
  const date = new Date(time).toISOString().slice(0, 10)
  const slug = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, NAME_LENGTH_MAX)
    .replace(/^-+|-+$/g, '')
  return `${date}-${slug || 'run'}-${randomBytes(2).toString('hex')}`
}
