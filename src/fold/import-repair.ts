/**
 * Records in bytes that are no JSON as a whole: after a torn one, beside another, over several
 * lines.
 * Knows brackets and strings. Its work is bounded: what would cost more than a few passes is left
 * as a fault.
 */

/**
 * `torn`: begins like a record and does not end. `fused`: several records share a line. `zeros`: a run of
 * NUL bytes, which a file system leaves after a crash. `not-utf8`: read with replacement
 * characters.
 * `not-json`: anything else.
 */
export type LineFault = 'torn' | 'fused' | 'zeros' | 'not-utf8' | 'not-json'

/** A record that was found, or a place where none was. */
export interface Found {
  readonly from: number
  readonly to: number
  readonly fault?: LineFault
  /** False where it is JSON only once `NaN` and the like are read as null. */
  readonly exact: boolean
}

/** Most places of one line where a record is looked for behind a torn one. */
const CANDIDATES_MAX = 4096
/** Most bytes that are walked for that, beyond a few times the line itself. */
const WALKED_BYTES_MAX = 32 * 1024 * 1024

const LF = 0x0a
const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const OPEN_BRACKET = 0x5b

/**
 * What can be read of `[from..to)`, which is a line, and of the lines after it that one value
 * covers.
 */
export function recordsIn(buffer: Buffer, from: number, to: number): Found[] {
  const printed = overLines(buffer, from, to)
  if (printed !== undefined) return [{ from, to: printed, exact: isJson(buffer, from, printed) }]
  const found: Found[] = []
  for (const part of partsBetweenZeros(buffer, from, to)) {
    if (part.fault !== undefined) found.push(part)
    else found.push(...recordsInPart(buffer, part.from, part.to))
  }
  const records = found.filter(({ fault }) => fault === undefined).length
  if (records < 2) return found
  return [{ from, to, fault: 'fused', exact: true }, ...found]
}

/** Runs of zeros, and what lies between them. */
function partsBetweenZeros(buffer: Buffer, from: number, to: number): Found[] {
  const parts: Found[] = []
  let at = from
  while (at < to) {
    const zero = buffer.indexOf(0, at)
    const end = zero < 0 || zero >= to ? to : zero
    if (end > at) parts.push({ from: at, to: end, exact: true })
    at = end
    while (at < to && buffer[at] === 0) at += 1
    if (at > end) parts.push({ from: end, to: at, fault: 'zeros', exact: true })
  }
  return parts
}

function recordsInPart(buffer: Buffer, from: number, to: number): Found[] {
  const found: Found[] = []
  const budget = { bytes: (to - from) * 4 + WALKED_BYTES_MAX, candidates: CANDIDATES_MAX }
  let at = from
  while (at < to) {
    if (isBlank(buffer[at])) {
      at += 1
      continue
    }
    const whole = wholeAt(buffer, at, to)
    if (whole !== undefined) {
      found.push(whole)
      at = whole.to
      continue
    }
    const next = nextRecord(buffer, at, to, budget)
    const fault = opens(buffer[at]) ? 'torn' : 'not-json'
    found.push({ from: at, to: next?.from ?? to, fault, exact: true })
    if (next === undefined) break
    found.push(next)
    at = next.to
  }
  return found
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0d
}

function opens(byte: number | undefined): boolean {
  return byte === OPEN_BRACE || byte === OPEN_BRACKET
}

/** The value that begins at `at` and ends by `to`, if one does. */
function wholeAt(buffer: Buffer, at: number, to: number): Found | undefined {
  const end = closeOf(buffer, at, to)
  if (end === undefined) return undefined
  if (isJson(buffer, at, end)) return { from: at, to: end, exact: true }
  return isJson(buffer, at, end, escaped) ? { from: at, to: end, exact: false } : undefined
}

/**
 * The first record behind a torn one. The torn one's own inner objects end as whole values too;
 * they stand where a value may stand, and do not look like records.
 */
function nextRecord(
  buffer: Buffer,
  at: number,
  to: number,
  budget: { bytes: number; candidates: number },
): Found | undefined {
  let from = buffer.indexOf('{"', at + 1)
  for (; from >= 0 && from < to; from = buffer.indexOf('{"', from + 1)) {
    budget.candidates -= 1
    if (budget.candidates < 0 || budget.bytes < 0) return undefined
    const end = closeOf(buffer, from, to)
    budget.bytes -= (end ?? to) - from
    if (end === undefined || !isJson(buffer, from, end)) continue
    const inner = /[:,[]/.test(String.fromCharCode(buffer[from - 1] as number))
    if (!inner || looksLikeRecord(buffer, from, end)) return { from, to: end, exact: true }
  }
  return undefined
}

const RECORD_KEYS = ['timestamp', 'uuid', 'sessionId', 'payload', 'seq']

function looksLikeRecord(buffer: Buffer, from: number, to: number): boolean {
  const value = JSON.parse(buffer.toString('utf8', from, to)) as Record<string, unknown>
  return typeof value.type === 'string' && RECORD_KEYS.some((key) => Object.hasOwn(value, key))
}

function isJson(
  buffer: Buffer,
  from: number,
  to: number,
  change: (text: string) => string = (text) => text,
): boolean {
  try {
    JSON.parse(change(buffer.toString('utf8', from, to)))
    return true
  } catch {
    return false
  }
}

/** The end of the container that opens at `at`; undefined where it does not close by `to`. */
function closeOf(buffer: Buffer, at: number, to: number): number | undefined {
  if (!opens(buffer[at])) return undefined
  let depth = 0
  let inString = false
  for (let i = at; i < to; i++) {
    const byte = buffer[i]
    if (inString) {
      if (byte === BACKSLASH) i += 1
      else if (byte === QUOTE) inString = false
    } else if (byte === QUOTE) inString = true
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth += 1
    else if (byte === 0x7d || byte === 0x5d) {
      depth -= 1
      if (depth === 0) return i + 1
    }
  }
  return undefined
}

/**
 * The end of a value that is printed over several lines and begins with this one. A line end inside
 * a string, or an object that begins a line inside an object, says that this line is torn instead.
 */
function overLines(buffer: Buffer, from: number, to: number): number | undefined {
  if (!opens(buffer[from])) return undefined
  const inList = buffer[from] === OPEN_BRACKET
  let depth = 0
  let inString = false
  for (let i = from; i < buffer.length; i++) {
    const byte = buffer[i]
    if (byte === LF) {
      if (inString) return undefined
      if (!inList && buffer[i + 1] === OPEN_BRACE) return undefined
    } else if (inString) {
      if (byte === BACKSLASH) i += 1
      else if (byte === QUOTE) inString = false
    } else if (byte === QUOTE) inString = true
    else if (byte === 0) return undefined
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth += 1
    else if (byte === 0x7d || byte === 0x5d) {
      depth -= 1
      if (depth > 0) continue
      const end = i + 1
      if (end <= to) return undefined
      const good = isJson(buffer, from, end) || isJson(buffer, from, end, escaped)
      return good ? end : undefined
    }
  }
  return undefined
}

const NOT_JSON = /"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b/gs

/** The same text with the numbers that JSON does not have (Python writes them) as null. */
export function escaped(text: string): string {
  return text.replace(NOT_JSON, (token) => (token.startsWith('"') ? token : 'null'))
}
