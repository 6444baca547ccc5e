/**
 * Names of others as parts of run ids, and back. Names may be any text; two are never one part.
 */
import { sha256 } from '../core/hash.js'

/** Longer names, and those that no id can spell, stand in the id as a hash. */
const NAME_BYTES_MAX = 240

/** `%`, `/` and what begins a hash are escaped, so no name runs into the next. */
export function nameInId(name: string): string {
  if (name === '') return '%'
  if (!name.isWellFormed() || Buffer.byteLength(name) > NAME_BYTES_MAX) {
    // Not as UTF-8, where two lone surrogates are one.
    return `~${sha256(Buffer.from(name, 'utf16le'))}`
  }
  return name.replace(/[%/~]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`)
}

/** The name that a part of an id stands for; undefined where it is a hash. */
export function nameOfId(part: string): string | undefined {
  if (part === '%') return ''
  if (part.startsWith('~')) return undefined
  return part.replace(/%(..)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}
