/**
 * Numbers with their units, for people.
 */

const UNITS = ['kB', 'MB', 'GB', 'TB'] as const

/** `512 B`, `2.0 MB`. */
export function bytesText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  let value = bytes / 1000
  let at = 0
  while (value >= 999.95 && at < UNITS.length - 1) {
    value /= 1000
    at += 1
  }
  return `${value.toFixed(1)} ${UNITS[at]}`
}

/** `1 event`, `42 events`. */
export function countText(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`
}

/** `11 ms`, `2.5 s`, `3 min 20 s`. */
export function durationText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`
}

/** A moment in ms since 1970, in UTC, to the second; `-` for none. */
export function timeText(ms: number): string {
  if (ms === 0 || !Number.isFinite(ms)) return '-'
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? '-' : `${date.toISOString().slice(0, 19)}Z`
}

/** The beginning of a hash: enough to see that two differ. */
export function hashText(hash: string): string {
  return `${hash.slice(0, 6)}…`
}
