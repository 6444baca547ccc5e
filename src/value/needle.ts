/**
 * A text as it may stand in recorded bytes: plain, as JSON writes it inside a string, and as JSON
 * inside JSON does, since tools are called with JSON text.
 */

/** Forms of one text, none inside another at the same place; longest reach is `bytesMax`. */
export class Needle implements Finder {
  readonly forms: readonly Buffer[]
  readonly bytesMax: number

  /** @param text Not empty. */
  constructor(text: string) {
    const once = insideJson(text)
    const texts = [text, once, insideJson(once), asciiJson(once, lower), asciiJson(once, upper)]
    this.forms = [...new Set(texts)].map((form) => Buffer.from(form))
    this.bytesMax = Math.max(...this.forms.map(({ length }) => length))
  }

  /** Places in `bytes`, from `from` on: offset and length of each, in order. */
  find(bytes: Buffer, from = 0): readonly Found[] {
    const found: Found[] = []
    for (const form of this.forms) {
      for (let at = bytes.indexOf(form, from); at >= 0; at = bytes.indexOf(form, at + form.length))
        found.push({ at, length: form.length })
    }
    if (this.forms.length < 2 || found.length < 2) return found
    return inOrder(found)
  }
}

/** What looks for places in bytes. */
export interface Finder {
  /** Longest that a place can be, as far as it must be seen whole to be known. */
  readonly bytesMax: number
  find(bytes: Buffer): readonly Found[]
}

export interface Found {
  readonly at: number
  readonly length: number
}

/** The longer one of two that overlap: the shorter is a part of it. */
function inOrder(found: Found[]): Found[] {
  found.sort((a, b) => a.at - b.at || b.length - a.length)
  const kept: Found[] = []
  for (const one of found) {
    const last = kept.at(-1)
    if (last === undefined || one.at >= last.at + last.length) kept.push(one)
  }
  return kept
}

function insideJson(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

const lower = (hex: string): string => hex
const upper = (hex: string): string => hex.toUpperCase()

/** As writers do it that keep JSON in ASCII. */
function asciiJson(json: string, letters: (hex: string) => string): string {
  return json.replace(/[\u0080-\uffff]/g, (unit) => {
    return `\\u${letters(unit.charCodeAt(0).toString(16).padStart(4, '0'))}`
  })
}
