/**
 * JSON that somebody typed, taken exactly or refused with the place.
 * `JSON.parse` alone rounds long numbers, drops repeated keys in silence, and does not always say where
 * it stopped.
 */

/** What is wrong with a JSON text, and at which character (from 0). */
export class JsonFault extends Error {
  constructor(
    what: string,
    readonly at: number,
  ) {
    super(`${what} at character ${at}`)
  }
}

const SIGN = /([{}[\],:])|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)|true|false|null/y
const SPACE = /[\t\n\r ]*/y

/** What may come next. */
type Expected = 'value' | 'value or ]' | 'key' | 'key or }' | ':' | ', or end' | 'the end'

/** Keys seen so far in an open object; undefined for an open array. */
type Open = Set<string> | undefined

/** @throws JsonFault */
export function parseJsonText(text: string): unknown {
  const open: Open[] = []
  let expected: Expected = 'value'
  let at = 0
  for (;;) {
    SPACE.lastIndex = at
    SPACE.exec(text)
    const start = SPACE.lastIndex
    if (start === text.length) {
      if (expected === 'the end') return JSON.parse(text)
      throw new JsonFault(`the text ends where ${expected} should be`, start)
    }
    const token = tokenAt(text, start)
    if (token === undefined) throw new JsonFault(`expected ${expected}`, start)
    expected = step(token, { open, expected, start })
    at = token.end
  }
}

interface Token {
  readonly mark?: string | undefined
  readonly number?: string | undefined
  readonly string?: string
  readonly end: number
}

function tokenAt(text: string, start: number): Token | undefined {
  if (text[start] === '"') return stringAt(text, start)
  SIGN.lastIndex = start
  const found = SIGN.exec(text)
  return found === null ? undefined : { mark: found[1], number: found[2], end: SIGN.lastIndex }
}

/** By hand, since a pattern for a string of many megabytes runs out of stack. */
function stringAt(text: string, start: number): Token {
  for (let end = start; ; ) {
    end = text.indexOf('"', end + 1)
    if (end < 0) throw new JsonFault('a string does not end; it begins', start)
    let backslashes = 0
    while (text[end - 1 - backslashes] === '\\') backslashes += 1
    if (backslashes % 2 === 1) continue
    try {
      return { string: JSON.parse(text.slice(start, end + 1)), end: end + 1 }
    } catch {
      throw new JsonFault('a control character or a wrong escape is in the string', start)
    }
  }
}

function step(
  { mark, string, number }: Token,
  { open, expected, start }: { open: Open[]; expected: Expected; start: number },
): Expected {
  const wrong = new JsonFault(`expected ${expected}`, start)
  const closed = (): Expected => (open.length === 0 ? 'the end' : ', or end')
  const close = (): Expected => {
    open.pop()
    return closed()
  }
  switch (expected) {
    case 'key or }':
    case 'key':
      if (mark === '}' && expected === 'key or }') return close()
      if (string === undefined) throw wrong
      checkKey(open.at(-1) as Set<string>, string, start)
      return ':'
    case ':':
      if (mark !== ':') throw wrong
      return 'value'
    case ', or end': {
      const inObject = open.at(-1) !== undefined
      if (mark === ',') return inObject ? 'key' : 'value'
      if (mark !== (inObject ? '}' : ']')) throw wrong
      return close()
    }
    case 'value':
    case 'value or ]':
      if (mark === ']' && expected === 'value or ]') return close()
      if (mark === '{' || mark === '[') {
        open.push(mark === '{' ? new Set() : undefined)
        return mark === '{' ? 'key or }' : 'value or ]'
      }
      if (mark !== undefined) throw wrong
      if (number !== undefined) checkNumber(number, start)
      return closed()
    case 'the end':
      throw wrong
  }
}

function checkKey(keys: Set<string>, key: string, at: number): void {
  if (keys.has(key)) throw new JsonFault(`the key ${JSON.stringify(key)} is there twice`, at)
  keys.add(key)
}

function checkNumber(number: string, at: number): void {
  const kept = Number(number)
  if (Number.isFinite(kept) && decimal(number) === decimal(String(kept))) return
  throw new JsonFault(`${number} cannot be kept exactly (write it as a string)`, at)
}

/**
 * Digits and exponent of a number without what does not count: `120`, `1.2e2` and `1.20e+2` are
 * one.
 */
function decimal(number: string): string {
  const [, whole = '', fraction = '', exponent = '0'] =
    /^-?(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(number) ?? []
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  const short = digits.replace(/0+$/, '')
  if (short === '') return '0'
  return `${short}e${Number(exponent) - fraction.length + digits.length - short.length}`
}
