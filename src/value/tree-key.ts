/**
 * Where a key lies in a map: the hex digits of the SHA-256 of its bytes, one for each level.
 * A public, unkeyed and cheap hash would not do: keys come from models and tools, and whoever picks
 * them could make them collide. Nobody can here, so there are no collision buckets.
 */
import { hash } from 'node:crypto'
import { encodeText } from './tree-bytes.js'

/** Digits of a path that fit one number. */
const DIGITS_PACKED = 8
/** Levels below a map's root at most; reached only by whoever breaks SHA-256. */
export const MAP_DEPTH_MAX = 64
const DIGIT_BITS = 4

/**
 * Keys remembered at most, by their UTF-16 units in all; twice this, as there are two generations.
 */
const CACHE_UNITS_MAX = 1024 * 1024
/** What a remembered key counts besides its text, in the same units. */
const CACHE_ENTRY_UNITS = 16

let young = new Map<string, number>()
let old = new Map<string, number>()
let youngUnits = 0

/** The first eight digits of a key's path, as a signed 32-bit number, the first digit on top. */
export function keyPath(key: string): number {
  const known = young.get(key)
  if (known !== undefined) return known
  const path = old.get(key) ?? parseInt(keyDigest(key).slice(0, DIGITS_PACKED), 16) | 0
  const units = key.length + CACHE_ENTRY_UNITS
  if (units > CACHE_UNITS_MAX / 64) return path
  youngUnits += units
  if (youngUnits > CACHE_UNITS_MAX) {
    old = young
    young = new Map()
    youngUnits = units
  }
  young.set(key, path)
  return path
}

/** The bit of a key's place in a node `depth` levels below the root; `path` is its `keyPath`. */
export function placeBit(key: string, path: number, depth: number): number {
  if (depth < DIGITS_PACKED) return 1 << ((path >>> (28 - depth * DIGIT_BITS)) & 15)
  return 1 << parseInt(keyDigest(key)[depth]!, 16)
}

/** Whether a key's path starts with `prefix`, in hex digits. */
export function keyUnder(key: string, prefix: string): boolean {
  if (prefix.length === 0) return true
  if (prefix.length > DIGITS_PACKED) return keyDigest(key).startsWith(prefix)
  return keyPath(key) >>> (32 - prefix.length * DIGIT_BITS) === parseInt(prefix, 16)
}

function keyDigest(key: string): string {
  return hash('sha256', encodeText(key), 'hex')
}
