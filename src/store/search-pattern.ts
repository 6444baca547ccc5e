/**
 * Where a regular expression matches in a stream of bytes, line by line as grep does.
 * Some expressions take for ever on some texts: each piece has a time limit, and running out of it
 * is an error, not a hang.
 */
import { isAscii, isUtf8 } from 'node:buffer'
import vm from 'node:vm'
import { DaglogError } from '../core/errors.js'
import { SEARCH_LINE_BYTES_MAX, SEARCH_PIECE_MS_MAX } from '../core/limits.js'
import type { Found } from '../value/needle.js'

/** Text is matched in pieces of whole lines, about this long. */
const PIECE_BYTES = 1024 * 1024
const LF = 0x0a

export class Pattern {
  private readonly context: vm.Context
  private readonly limitMs: number
  private readonly script = new vm.Script('match()')
  private text = ''
  private places: (readonly [at: number, length: number])[] = []

  /** @throws USAGE where it is no regular expression */
  constructor(
    private readonly source: string,
    options: { readonly ignoreCase?: boolean; readonly limitMs?: number } = {},
  ) {
    this.limitMs = options.limitMs ?? SEARCH_PIECE_MS_MAX
    const pattern = compiled(source, options.ignoreCase === true ? 'gmi' : 'gm')
    const match = (): void => {
      this.places = []
      for (const found of this.text.matchAll(pattern)) {
        if (found[0] !== '') this.places.push([found.index, found[0].length])
      }
    }
    this.context = vm.createContext({ match })
  }

  /** Places in the bytes, in order. @throws LIMIT_EXCEEDED where it takes too long. */
  async *find(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Found> {
    let parts: Uint8Array[] = []
    let length = 0
    let base = 0
    // Doubled while a line does not end: joining it again and again would cost its square.
    let wanted = PIECE_BYTES
    for await (const chunk of chunks) {
      parts.push(Buffer.from(chunk))
      length += chunk.length
      if (length < wanted) continue
      const held = Buffer.concat(parts)
      const end = cutOf(held)
      if (end > 0) yield* this.inPiece(held.subarray(0, end), base)
      wanted = end > 0 ? PIECE_BYTES : wanted * 2
      base += end
      parts = [held.subarray(end)]
      length -= end
    }
    if (length > 0) yield* this.inPiece(Buffer.concat(parts), base)
  }

  /** Places in one piece of text. */
  *inPiece(bytes: Buffer, base = 0): Generator<Found> {
    // Of bytes that are no text, each is a character: their places must not shift. So it is in
    // ASCII, which is the same either way, and faster to take this one.
    const isPlain = isAscii(bytes) || !isUtf8(bytes)
    this.text = bytes.toString(isPlain ? 'latin1' : 'utf8')
    this.run()
    const { text, places } = this
    let [unit, at] = [0, 0]
    for (const [from, length] of places) {
      at += isPlain ? from - unit : Buffer.byteLength(text.slice(unit, from))
      const taken = isPlain ? length : Buffer.byteLength(text.slice(from, from + length))
      yield { at: base + at, length: taken }
      at += taken
      unit = from + length
    }
  }

  private run(): void {
    try {
      this.script.runInContext(this.context, { timeout: this.limitMs })
    } catch (error) {
      if ((error as { code?: unknown } | null)?.code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
      throw new DaglogError(
        'LIMIT_EXCEEDED',
        `the pattern ${JSON.stringify(this.source)} took more than ${this.limitMs} ms on a megabyte of text; try: without nested repetition such as (a+)+`,
        { pattern: this.source, limitMs: this.limitMs },
      )
    }
  }
}

function compiled(source: string, flags: string): RegExp {
  try {
    return new RegExp(source, flags)
  } catch (cause) {
    const what = cause instanceof Error ? cause.message : String(cause)
    throw new DaglogError(
      'USAGE',
      `${what}; try: without --regex to search for the text as it is`,
      { pattern: source },
      { cause },
    )
  }
}

/**
 * Behind the last line end; 0 to wait for more. A line that is too long is cut between characters.
 */
function cutOf(held: Buffer): number {
  const end = held.lastIndexOf(LF) + 1
  if (end > 0 || held.length < SEARCH_LINE_BYTES_MAX) return end
  let at = held.length
  while (at > 0 && ((held[at] ?? 0) & 0xc0) === 0x80) at -= 1
  return at
}
