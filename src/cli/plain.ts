/**
 * Recorded text made safe to print: what a model or a tool wrote must not drive somebody's terminal.
 * Knows characters only, not where they are printed.
 */

/**
 * Controls (C0, DEL, C1: terminal escapes begin there), line separators, and the characters that turn
 * the direction of text around, so that what is seen is not what is there.
 */
const UNSAFE =
  /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g

/** The same without C0, which JSON text holds only as whitespace between values. */
const UNSAFE_IN_JSON = /[\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

function escaped(char: string): string {
  return SHORT[char] ?? `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** One line of text, whatever was in it; unpaired surrogates become U+FFFD. */
export function plain(text: string): string {
  return text.toWellFormed().replace(UNSAFE, escaped)
}

/** The same JSON value in characters that a terminal only shows. */
export function plainJson(json: string): string {
  return json.replace(UNSAFE_IN_JSON, escaped)
}

/** At most `length` characters, cut with an ellipsis; never inside a surrogate pair. */
export function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, Math.max(length - 1, 0))}…`
}
