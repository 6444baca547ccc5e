/**
 * Secrets in bytes: which kind, and where. Never the secret itself, nor any part of it.
 * Finds what has a form of its own; a password in a sentence has none.
 */

export interface SecretPlace {
  readonly kind: string
  /** Of its first byte, from the start of the bytes. */
  readonly at: number
  /** In bytes. */
  readonly length: number
}

/** Enough of any secret to know it for one, in bytes. */
export const SECRET_BYTES_MAX = 512

interface Kind {
  readonly kind: string
  /** Texts of which each one of the kind holds one: they are looked for first, and fast. */
  readonly hints: readonly string[]
  readonly pattern: string
}

/** Of two that fit one place, the first. */
const KINDS: readonly Kind[] = [
  { kind: 'Anthropic key', hints: ['sk-'], pattern: 'sk-ant-[A-Za-z0-9_-]{20,}' },
  { kind: 'OpenAI key', hints: ['sk-'], pattern: 'sk-(?:proj-|svcacct-)?[A-Za-z0-9_-]{32,}' },
  {
    kind: 'GitHub token',
    hints: ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_', 'github_pat_'],
    pattern: 'gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,}',
  },
  { kind: 'GitLab token', hints: ['glpat-'], pattern: 'glpat-[A-Za-z0-9_-]{20,}' },
  {
    kind: 'AWS access key',
    hints: ['AKIA', 'ASIA'],
    pattern: '(?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Za-z])',
  },
  { kind: 'Google key', hints: ['AIza'], pattern: 'AIza[0-9A-Za-z_-]{35}' },
  { kind: 'Slack token', hints: ['xox'], pattern: 'xox[abeprs]-[A-Za-z0-9-]{20,}' },
  { kind: 'npm token', hints: ['npm_'], pattern: 'npm_[A-Za-z0-9]{36}' },
  { kind: 'Hugging Face token', hints: ['hf_'], pattern: 'hf_[A-Za-z0-9]{30,}' },
  { kind: 'Stripe key', hints: ['_live_'], pattern: '(?:sk|rk)_live_[A-Za-z0-9]{20,}' },
  {
    kind: 'private key',
    hints: ['PRIVATE KEY-----'],
    pattern: '-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----',
  },
  {
    kind: 'JSON web token',
    hints: ['eyJ'],
    pattern: 'eyJ[A-Za-z0-9_-]{10,}\\.eyJ[A-Za-z0-9_-]{10,}\\.[A-Za-z0-9_-]{10,}',
  },
  {
    kind: 'password in a URL',
    hints: ['://'],
    pattern: '[a-z][a-z0-9+]{2,12}://[^\\s:/@"\\\\]{1,64}:[^\\s:/@"\\\\$<{*]{3,128}@',
  },
  { kind: 'bearer header', hints: ['earer '], pattern: '[Bb]earer [A-Za-z0-9._~+/-]{24,}' },
]

/** Not inside a longer word: much base64 would look like a key otherwise. */
const NOT_INSIDE = '(?<![A-Za-z0-9_-])'

/** Each hint with the kinds that it may be of, in one expression: the n-th group is the n-th kind. */
const BY_HINT: readonly (readonly [hint: string, kinds: readonly string[], pattern: RegExp])[] = [
  ...new Set(KINDS.flatMap(({ hints }) => hints)),
].map((hint) => {
  const kinds = KINDS.filter(({ hints }) => hints.includes(hint))
  const patterns = kinds.map(({ pattern }) => `(${pattern})`).join('|')
  return [hint, kinds.map(({ kind }) => kind), new RegExp(`${NOT_INSIDE}(?:${patterns})`, 'g')]
})

/** How far in front of its hint a secret may begin, and one more for what it may not be inside of. */
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
    if (start + match[0].length <= by.at) continue
    const kind = match.slice(1).findIndex((group) => group !== undefined)
    return { kind: by.kinds[kind] as string, at: start, length: match[0].length }
  }
  return undefined
}
