/**
 * Secrets that have a form of their own, as the sources of patterns over bytes read as latin1.
 * A list; who looks for them, and what becomes of a hit, is decided elsewhere.
 */

/** None has a group that captures, and each is bounded by what a token may hold. */
export const SECRET_FORMS: readonly (readonly [kind: string, pattern: string])[] = [
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
