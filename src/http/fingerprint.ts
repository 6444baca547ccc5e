/**
 * What stands for a secret: equal for equal secrets of one store, and good for nothing else.
 * @see docs/format.md#secrets
 */
import { createHmac, randomBytes } from 'node:crypto'
import type { Backend } from '../backend/backend.js'
import { PLACEHOLDER } from './scrub-pattern.js'

const KEY_BYTES = 32
const CACHE_KEY = 'http/fingerprint-key'

/** A shorter secret could be guessed, so its fingerprint says nothing. */
const FINGERPRINTED_CHARACTERS_MIN = 20

/** An agent sends the same few secrets with each call: theirs are not worked out anew. */
const REMEMBERED_MAX = 64
const REMEMBERED_CHARACTERS_MAX = 1024

/** What stands for a secret in this store. */
export type Fingerprint = (secret: string) => string

/** With the store's key, which is made where there is none. */
export async function storeFingerprint(
  backend: Pick<Backend, 'readCache' | 'writeCache'>,
): Promise<Fingerprint> {
  let key = await backend.readCache(CACHE_KEY)
  if (key?.length !== KEY_BYTES) {
    await backend.writeCache(CACHE_KEY, randomBytes(KEY_BYTES))
    // Another process may have made one too: the last one is everybody's.
    key = await backend.readCache(CACHE_KEY)
  }
  return fingerprintWith(key ?? randomBytes(KEY_BYTES))
}

/** With a key that nobody keeps: for whoever only asks. */
export function passingFingerprint(): Fingerprint {
  return fingerprintWith(randomBytes(KEY_BYTES))
}

function fingerprintWith(key: Uint8Array): Fingerprint {
  const made = new Map<string, string>()
  return (secret) => {
    if (secret.length < FINGERPRINTED_CHARACTERS_MIN) return `${PLACEHOLDER}${'0'.repeat(16)}`
    const known = made.get(secret)
    if (known !== undefined) return known
    const digest = createHmac('sha256', key).update(secret, 'latin1').digest('hex')
    const fingerprint = `${PLACEHOLDER}${digest.slice(0, 16)}`
    if (made.size >= REMEMBERED_MAX) made.clear()
    if (secret.length <= REMEMBERED_CHARACTERS_MAX) made.set(secret, fingerprint)
    return fingerprint
  }
}
