/**
 * One pattern for all that is scrubbed from text: by form, by the name of its field, or because it
 * is known. Over bytes read as latin1; whatever is secret stands at the end of a match.
 */
import { SECRET_FORMS } from '../core/secret-forms.js'
import { SECRET_FIELDS } from './secret-names.js'

/** Longest secret that is looked for, in bytes. */
export const SECRET_BYTES_MAX = 8192

/** What stands for a secret: this, and 16 hex digits. */
export const PLACEHOLDER = 'daglog-scrubbed-'

/**
 * A known value shorter than this is replaced where it is known to be, and not looked for
 * elsewhere.
 */
export const KNOWN_CHARACTERS_MIN = 16

const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')

/**
 * Names in any case; the forms of secrets are in one case only, or words of a language would be.
 */
const caseless = (text: string): string =>
  escaped(text).replaceAll(/[a-z]/gi, (c) => `[${c.toLowerCase()}${c.toUpperCase()}]`)

const NAMES = SECRET_FIELDS.map(caseless).join('|')
const LONG = `{1,${SECRET_BYTES_MAX}}`

/**
 * Open-ended forms get a longest length, so that no match reaches farther than what is held back.
 */
const bounded = (form: string): string =>
  form.replaceAll(/\{(\d+),\}/g, `{$1,${SECRET_BYTES_MAX / 4}}`)

const FORMS = SECRET_FORMS.filter(([kind]) => !/private key|bearer|password/.test(kind))
  .map(([, form]) => bounded(form))
  .join('|')

/** Each captures what is replaced, which is the end of its match. */
const PATTERNS: readonly (readonly [rule: string, pattern: string])[] = [
  ['scrubbed', `(${PLACEHOLDER}[0-9a-f]{16})`],
  ['form', `(?<![A-Za-z0-9_-])(${FORMS})`],
  [
    'private key',
    '-----BEGIN (?:[A-Z]{1,16} ){0,4}PRIVATE KEY-----([\\s\\S]{1,7000}?)(?=-----END)',
  ],
  ['bearer', `[Bb]earer ([A-Za-z0-9._~+/=-]{16,${SECRET_BYTES_MAX / 2}})`],
  ['basic', `[Aa]uthorization["\\\\: ]{1,9}[Bb]asic ([A-Za-z0-9+/=]{8,${SECRET_BYTES_MAX / 2}})`],
  ['json', `"(?:${NAMES})"\\s{0,9}:\\s{0,9}"((?:[^"\\\\]|\\\\[\\s\\S])${LONG})`],
  ['json in text', `\\\\{1,7}"(?:${NAMES})\\\\{1,7}"\\s{0,9}:\\s{0,9}\\\\{1,7}"([^"\\\\]${LONG})`],
  ['field', `(?<![A-Za-z0-9_-])(?:${NAMES})=(?!${PLACEHOLDER})([^&\\s"'<>#\\\\]${LONG})`],
  [
    'part',
    `name="(?:${NAMES})"[^\\r\\n]{0,200}\\r\\n(?:[^\\r\\n]{1,500}\\r\\n){0,4}\\r\\n([^\\r\\n]${LONG})`,
  ],
  ['url', '[a-z][a-z0-9+]{2,12}://[^\\s:/@"\\\\]{1,64}:([^\\s:/@"\\\\$<{*]{3,128})(?=@)'],
]

/**
 * What a text holds wherever a rule that is dear to look for finds something: where it is not
 * there, the rule is left out.
 */
const HINTS: Readonly<Record<string, RegExp>> = {
  field: new RegExp(`=(?<=(?:${NAMES})=)`),
  url: /:\/\/[^\s:/@"\\]{1,64}:[^\s:/@"\\$<{*]{3,128}@/,
}

/** A shorter text is looked through sooner than asked for hints, in characters. */
const HINTED_CHARACTERS_MIN = 256

export interface SecretHit {
  readonly rule: string
  /** Where the match begins and where it ends; the secret from `from` to there. */
  readonly start: number
  readonly from: number
  readonly to: number
}

/** Looks through one text, left to right, without overlaps. */
export interface SecretSearch {
  /** The first one from `at` on; a function of the text alone. */
  next(at: number): SecretHit | undefined
}

const NOTHING: SecretSearch = { next: () => undefined }

type Rules = readonly (readonly [rule: string, pattern: string])[]

export class SecretPattern {
  private readonly known: Rules
  private readonly rules: Rules
  /** By the hints that are missing from a text. */
  private readonly made = new Map<string, SecretSearcher>()

  private static last: { readonly key: string; readonly pattern: SecretPattern } | undefined

  /** @param known Values that are secrets wherever they stand. */
  static of(known: readonly string[]): SecretPattern {
    const key = known.join('\0')
    // Most exchanges know what the one before knew, and a large pattern costs to be made.
    if (SecretPattern.last?.key !== key) {
      SecretPattern.last = { key, pattern: new SecretPattern(known) }
    }
    return SecretPattern.last.pattern
  }

  private constructor(known: readonly string[]) {
    const spelled = new Set(known.flatMap(spellings))
    const words = [...spelled].filter(
      ({ length }) => length >= KNOWN_CHARACTERS_MIN && length <= SECRET_BYTES_MAX,
    )
    const literals = words
      .sort((a, b) => b.length - a.length)
      .map(escaped)
      .join('|')
    this.known = literals === '' ? [] : [['known', `(${literals})`]]
    this.rules = [...this.known, ...PATTERNS]
  }

  /** Whether there is anything to look for in bytes that are no text. */
  get knowsAny(): boolean {
    return this.known.length > 0
  }

  /** @param binary Only what is known is looked for: anything else is a chance hit. */
  search(text: string, binary: boolean): SecretSearch {
    if (binary) {
      if (this.known.length === 0) return NOTHING
      return this.searcher('binary', () => this.known).through(text)
    }
    const missing = text.length < HINTED_CHARACTERS_MIN ? [] : missingHints(text)
    const rules = () => this.rules.filter(([rule]) => !missing.includes(rule))
    return this.searcher(missing.join(), rules).through(text)
  }

  private searcher(key: string, rules: () => Rules): SecretSearcher {
    const made = this.made.get(key) ?? new SecretSearcher(rules())
    this.made.set(key, made)
    return made
  }
}

function missingHints(text: string): string[] {
  return Object.keys(HINTS).filter((rule) => !(HINTS[rule] as RegExp).test(text))
}

/** One expression for some rules; where several match at a place, the first of them counts. */
class SecretSearcher {
  private readonly pattern: RegExp

  constructor(private readonly rules: Rules) {
    this.pattern = new RegExp(rules.map(([, pattern]) => pattern).join('|'), 'g')
  }

  through(text: string): SecretSearch {
    return { next: (at) => this.next(text, at) }
  }

  private next(text: string, at: number): SecretHit | undefined {
    this.pattern.lastIndex = at
    const match = this.pattern.exec(text)
    if (match === null) return undefined
    const group = match.slice(1).findIndex((found) => found !== undefined)
    const secret = match[group + 1] as string
    const to = match.index + match[0].length
    const [rule] = this.rules[group] as Rules[number]
    return { rule, start: match.index, from: to - secret.length, to }
  }
}

/** How a value may stand in a body: as it is, in JSON, in a URL. As latin1, like the text. */
function spellings(value: string): string[] {
  const inJson = JSON.stringify(value).slice(1, -1)
  return [value, inJson, encodeURIComponent(value.toWellFormed())].map((text) =>
    Buffer.from(text).toString('latin1'),
  )
}
