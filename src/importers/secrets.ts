/**
 * Secrets in bytes: which kind, and where. Never the secret itself, nor any part of it.
 * Finds what has a form of its own; a password in a sentence has none.
 */

import { SECRET_FORMS } from '../core/secret-forms.js'

export interface SecretPlace {
  readonly kind: string
  /** Of its first byte, from the start of the bytes. */
  readonly at: number
}

/** Not inside a longer word: much base64 would look like a key otherwise. */
const PATTERN = new RegExp(
  `(?<![A-Za-z0-9_-])(?:${SECRET_FORMS.map(([, pattern]) => `(${pattern})`).join('|')})`,
  'g',
)

/** What any of the patterns needs; without it there is nothing to look for. */
const HINTS = [
  'sk-',
  'gh',
  'glpat-',
  'AKIA',
  'ASIA',
  'AIza',
  'xox',
  'npm_',
  'hf_',
  '_live_',
  'PRIVATE KEY',
  'eyJ',
  '://',
  'earer ',
]

export function* secretsIn(bytes: Buffer): Generator<SecretPlace> {
  if (!HINTS.some((hint) => bytes.includes(hint))) return
  for (const match of bytes.toString('latin1').matchAll(PATTERN)) {
    const group = match.slice(1).findIndex((found) => found !== undefined)
    yield { kind: (SECRET_FORMS[group] as readonly [string, string])[0], at: match.index }
  }
}
