/**
 * Secrets in bytes: which kind, and where. Never the secret itself, nor any part of it.
 * Finds what has a form of its own; a password in a sentence has none.
 */

export interface SecretPlace {
  readonly kind: string
  /** Of its first byte, from the start of the bytes. */
  readonly at: number
}

const KINDS: readonly (readonly [kind: string, pattern: string])[] = [
  ['Anthropic key', 'sk-ant-[A-Za-z0-9_-]{20,}'],
  ['OpenAI key', 'sk-(?:proj-|svcacct-)?[A-Za-z0-9_-]{32,}'],
  ['GitHub token', 'gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,}'],
  ['GitLab token', 'glpat-[A-Za-z0-9_-]{20,}'],
  ['AWS access key', '(?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Za-z])'],
  ['Google key', 'AIza[0-9A-Za-z_-]{35}'],
  ['Slack token', 'xox[abeprs]-[A-Za-z0-9-]{20,}'],
  ['npm token', 'npm_[A-Za-z0-9]{36}'],
  ['Hugging Face token', 'hf_[A-Za-z0-9]{30,}'],
  ['Stripe key', '(?:sk|rk)_live_[A-Za-z0-9]{20,}'],
  ['private key', '-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----'],
  ['JSON web token', 'eyJ[A-Za-z0-9_-]{10,}\\.eyJ[A-Za-z0-9_-]{10,}\\.[A-Za-z0-9_-]{10,}'],
  ['password in a URL', '[a-z][a-z0-9+]{2,12}://[^\\s:/@"\\\\]{1,64}:[^\\s:/@"\\\\$<{*]{3,128}@'],
  ['bearer header', '[Bb]earer [A-Za-z0-9._~+/-]{24,}'],
]

/** Not inside a longer word: much base64 would look like a key otherwise. */
const PATTERN = new RegExp(
  `(?<![A-Za-z0-9_-])(?:${KINDS.map(([, pattern]) => `(${pattern})`).join('|')})`,
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
    yield { kind: (KINDS[group] as readonly [string, string])[0], at: match.index }
  }
}
