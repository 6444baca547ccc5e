/**
 * What a verb says: data on standard output, talk on standard error.
 * Each piece of text is made plain here, so that no verb can forget it; only `bytes` passes on what
 * it is given. Standard output is gathered and written in large pieces.
 */
import { styleText } from 'node:util'
import { encodeValue } from '../core/encode.js'
import { DaglogError } from '../core/errors.js'
import { printable } from '../value/preview.js'

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

/** Text, with or without a style. */
export type Piece = string | readonly [Style, string]

export interface OutputOptions {
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
  readonly env: Readonly<Record<string, string | undefined>>
  /** Print one JSON document and no text. */
  readonly json: boolean
  readonly quiet: boolean
  readonly verbose: boolean
  /** False where colours were refused on the command line. */
  readonly color: boolean
}

/** Nobody reads standard output any more: the verb ends, quietly. */
export class PipeClosed extends Error {}

const GATHERED_BYTES_MAX = 64 * 1024

export class Output {
  readonly json: boolean
  readonly verbose: boolean
  /** True once a part of a JSON document was printed, so that no other may follow. */
  begun = false
  private gathered: string[] = []
  private gatheredLength = 0
  private failure: unknown
  private writing: Promise<void> = Promise.resolve()

  constructor(private readonly options: OutputOptions) {
    this.json = options.json
    this.verbose = options.verbose
  }

  /** True where standard output is a terminal. */
  get terminal(): boolean {
    return this.options.stdout.isTTY === true
  }

  /** One line of data. */
  line(...pieces: readonly Piece[]): void {
    this.gather(`${this.styled(pieces, this.options.stdout)}\n`)
  }

  /** One line of JSON text, already encoded. */
  jsonLine(json: string): void {
    this.gather(`${plainJson(json)}\n`)
  }

  /** The one document of `--json`. Values that JSON cannot carry are written as in events. */
  document(schema: string, fields: Readonly<Record<string, unknown>>): void {
    this.jsonLine(encodeValue({ schema, ...fields }).text)
  }

  /** A piece of a JSON document that is too long to be built at once. */
  jsonPart(json: string): void {
    this.begun = true
    this.gather(plainJson(json))
  }

  /** Lines of JSON or EDN, already encoded. Resolves once the stream took them. */
  async text(lines: string): Promise<void> {
    this.gather(plainJson(lines))
    await this.flush()
  }

  /** Bytes as they are. Resolves once the stream took them. */
  async bytes(bytes: Uint8Array): Promise<void> {
    this.pass()
    this.put(bytes)
    await this.settle()
  }

  /** One line of talk. */
  note(...pieces: readonly Piece[]): void {
    if (!this.options.quiet) this.alarm(...pieces)
  }

  /** Talk that only `-v` wants. */
  detail(...pieces: readonly Piece[]): void {
    if (this.verbose) this.alarm(...pieces)
  }

  /** Talk that `-q` does not silence. */
  alarm(...pieces: readonly Piece[]): void {
    this.pass() // What was said before comes before.
    this.options.stderr.write(`${this.styled(pieces, this.options.stderr)}\n`)
  }

  /** Where a verb is, over what was there before; only for a terminal. */
  progress(text: string): void {
    if (this.options.quiet || this.json || this.options.stderr.isTTY !== true) return
    this.options.stderr.write(text)
  }

  /** To be awaited in loops: writes what was gathered once it is much. @throws PipeClosed */
  async flowing(): Promise<void> {
    if (this.gatheredLength >= GATHERED_BYTES_MAX) await this.flush()
  }

  /** Write what was gathered. @throws PipeClosed, WRITE_FAILED */
  async flush(): Promise<void> {
    this.pass()
    await this.settle()
  }

  private gather(text: string): void {
    this.gathered.push(text)
    this.gatheredLength += text.length
  }

  private pass(): void {
    if (this.gathered.length === 0) return
    const text = this.gathered.join('')
    this.gathered = []
    this.gatheredLength = 0
    this.put(text)
  }

  private put(data: string | Uint8Array): void {
    this.writing = new Promise((resolve) => {
      this.options.stdout.write(data, (error) => {
        if (error) this.failure ??= error
        resolve()
      })
    })
  }

  private async settle(): Promise<void> {
    await this.writing
    if (this.failure === undefined) return
    const code = (this.failure as { code?: unknown }).code
    if (code === 'EPIPE') throw new PipeClosed()
    throw new DaglogError(
      'WRITE_FAILED',
      `standard output cannot be written (${String(code)}); try: another place for it`,
      { code },
      { cause: this.failure },
    )
  }

  private styled(pieces: readonly Piece[], stream: NodeJS.WriteStream): string {
    const colored = this.colored(stream)
    let text = ''
    for (const piece of pieces) {
      if (typeof piece === 'string') text += printable(piece)
      else
        text += colored ? styleText(piece[0], printable(piece[1]), NO_CHECK) : printable(piece[1])
    }
    return text
  }

  private colored(stream: NodeJS.WriteStream): boolean {
    const { color, env } = this.options
    if (!color || (env.NO_COLOR ?? '') !== '') return false
    const forced = env.FORCE_COLOR
    if (forced !== undefined) return forced !== '0' && forced !== 'false'
    return stream.isTTY === true && env.TERM !== 'dumb'
  }
}

/**
 * Characters that JSON lets stand and that a terminal obeys: C1 controls, separators of lines, and
 * those that turn the direction of writing.
 */
const OBEYED = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** The same JSON or EDN value in characters that a terminal only shows. */
function plainJson(json: string): string {
  return json.replace(OBEYED, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** We have decided already; newer versions of Node would ask again. */
const NO_CHECK = { validateStream: false }
