/**
 * Secrets in bytes: which kind, and where. Never the secret itself, nor any part of it.
 * Finds what has a form of its own; a password in a sentence has none.
 */

import { SECRET_FORMS } from '../core/secret-forms.js'

export interface SecretPlace {
  readonly kind: string
  /** Of its first byte, from the start of the bytes. */
  readonly at: number
  /** In bytes. */
  readonly length: number
}

/** Enough of any secret to know it for one, in bytes. */
export const SECRET_BYTES_MAX = 512

/** Of each form texts of which a secret holds one: they are looked for first, and fast. */
const HINTS: Readonly<Record<string, readonly string[]>> = {
  'Anthropic key': ['sk-'],
  'OpenAI key': ['sk-'],
  'GitHub token': ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_', 'github_pat_'],
  'GitLab token': ['glpat-'],
  'AWS access key': ['AKIA', 'ASIA'],
  'Google key': ['AIza'],
  'Slack token': ['xox'],
  'npm token': ['npm_'],
  'Hugging Face token': ['hf_'],
  'Stripe key': ['_live_'],
  'private key': ['PRIVATE KEY-----'],
  'JSON web token': ['eyJ'],
  'password in a URL': ['://'],
  'bearer header': ['earer '],
}

/** Not inside a longer word: much base64 would look like a key otherwise. */
const NOT_INSIDE = '(?<![A-Za-z0-9_-])'

/** What a recorder put in a secret's place is none. */
const SCRUBBED = 'daglog-scrubbed-'

/**
 * Each hint with the kinds that it may be of, in one expression: the n-th group is the n-th kind.
 */
const BY_HINT: readonly (readonly [hint: string, kinds: readonly string[], pattern: RegExp])[] = [
  ...new Set(SECRET_FORMS.flatMap(([kind]) => HINTS[kind] ?? [])),
].map((hint) => {
  const forms = SECRET_FORMS.filter(([kind]) => HINTS[kind]?.includes(hint))
  const patterns = forms.map(([, pattern]) => `(${pattern})`).join('|')
  return [hint, forms.map(([kind]) => kind), new RegExp(`${NOT_INSIDE}(?:${patterns})`, 'g')]
})

/**
 * How far in front of its hint a secret may begin, and one more for what it may not be inside of.
 */
const BEFORE_BYTES = 64

/** In the order of the bytes; of two that overlap, the one that begins first. */
export function* secretsIn(bytes: Buffer): Generator<SecretPlace> {
  const found = BY_HINT.flatMap(([hint, kinds, pattern]) => [
    ...hinted(bytes, { hint, kinds, pattern }),
  ])
  found.sort((a, b) => a.at - b.at || b.length - a.length)
  let end = 0
  for (const place of found) {
    if (place.at < end) continue
    end = place.at + place.length
    yield place
  }
}

function* hinted(
  bytes: Buffer,
  by: { readonly hint: string; readonly kinds: readonly string[]; readonly pattern: RegExp },
): Generator<SecretPlace> {
  const { hint, kinds, pattern } = by
  let at = bytes.indexOf(hint, 0, 'latin1')
  while (at >= 0) {
    const place = placeAround(bytes, { at, kinds, pattern })
    if (place !== undefined) yield place
    const end = place === undefined ? 0 : place.at + place.length
    at = bytes.indexOf(hint, Math.max(at + hint.length, end), 'latin1')
  }
}

/** The secret that the hint at `at` is a part of. */
function placeAround(
  bytes: Buffer,
  by: { readonly at: number; readonly kinds: readonly string[]; readonly pattern: RegExp },
): SecretPlace | undefined {
  const from = Math.max(0, by.at - BEFORE_BYTES)
  const text = bytes.toString('latin1', from, by.at + SECRET_BYTES_MAX)
  for (const match of text.matchAll(by.pattern)) {
    const start = from + match.index
    if (start > by.at) return undefined
    if (start + match[0].length <= by.at || match[0].includes(SCRUBBED)) continue
    const kind = match.slice(1).findIndex((group) => group !== undefined)
    return { kind: by.kinds[kind] as string, at: start, length: match[0].length }
  }
  return undefined
}
