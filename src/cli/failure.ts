/**
 * How an error is told on the command line: three lines and an exit code.
 */
import { encodeValue } from '../core/encode.js'
import { DaglogError, type ErrorCode, type ErrorKind, systemCode } from '../core/errors.js'
import type { ExitCode } from './exit-codes.js'

/** Codes whose exit code does not follow from their kind. */
const EXIT_OF_CODE: Readonly<Partial<Record<string, ExitCode>>> = {
  RUN_LOCKED: 7,
  STORE_LOCKED: 7,
  WRITER_FENCED: 7,
  USAGE: 2,
  RUN_AMBIGUOUS: 2,
  RUN_ID_INVALID: 2,
  TYPE_INVALID: 2,
  TYPE_RESERVED: 2,
  EVENT_INVALID: 2,
  VALUE_UNSUPPORTED: 2,
  BUNDLE_INVALID: 3,
  HAR_INVALID: 3,
}

/** Where an error has no cause of its own, this is what its kind means. */
const CAUSE_OF_KIND: Readonly<Record<ErrorKind, string>> = {
  retry: 'another writer is at work; the same command may succeed later',
  input: 'what was asked for cannot be done as it was asked',
  upgrade: 'this was written by a newer daglog',
  damage: 'bytes on the disk are not what was written',
  environment: 'the disk, the file system or its permissions said no',
  bug: 'this is a mistake in daglog',
}

const TRY_OF_KIND: Readonly<Record<ErrorKind, string>> = {
  retry: 'the same command again, or --wait with more milliseconds',
  input: 'daglog --help',
  upgrade: 'npm install daglog@latest',
  damage: 'daglog verify --all',
  environment: 'daglog doctor',
  bug: 'the same command with -v, and report what it prints',
}

export interface Failure {
  readonly code: ErrorCode
  readonly kind: ErrorKind
  readonly what: string
  readonly cause: string
  /** The next move. */
  readonly advice: string
  readonly data: Readonly<Record<string, unknown>>
  readonly exit: ExitCode
}

const ADVICE = /[\s;:,.]*\btry:\s*/i

/** What an error means to somebody at a command line. */
export function failureOf(error: unknown): Failure {
  const own = error instanceof DaglogError ? error : foreign(error)
  const { code, kind, data } = own
  const message = own.message.replace(`${code}: `, '')
  const found = ADVICE.exec(message)
  const happened = found === null ? message : message.slice(0, found.index)
  const advice = found === null ? TRY_OF_KIND[kind] : message.slice(found.index + found[0].length)
  const [what, cause] = whatAndCause(happened, own)
  return { code, kind, what, cause, advice, data: plainData(data), exit: exitOf(code, kind) }
}

/** Facts as JSON; what it cannot carry becomes text rather than hide the error. */
function plainData(data: Failure['data']): Failure['data'] {
  const plain: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(data)) {
    try {
      plain[key] = JSON.parse(encodeValue(value).text)
    } catch {
      plain[key] = String(value)
    }
  }
  return plain
}

/** The cause is the error behind it, or what the message says after its first colon. */
function whatAndCause(happened: string, { kind, cause }: DaglogError): readonly [string, string] {
  if (cause instanceof Error) return [happened, cause.message]
  const colonAt = happened.indexOf(': ')
  if (colonAt < 0) return [happened, CAUSE_OF_KIND[kind]]
  return [happened.slice(0, colonAt), happened.slice(colonAt + 2)]
}

/** An error that is not ours: the system's, or a mistake. */
function foreign(cause: unknown): DaglogError {
  const code = systemCode(cause)
  const message = cause instanceof Error ? cause.message : String(cause)
  // System errors have a number too; errors of Node's own checks have only a code.
  if (code !== undefined && typeof (cause as { errno?: unknown }).errno === 'number')
    return new DaglogError('READ_FAILED', message, { system: code }, { cause })
  return new DaglogError('INVARIANT', message, {}, { cause })
}

function exitOf(code: ErrorCode, kind: ErrorKind): ExitCode {
  const named = EXIT_OF_CODE[code]
  if (named !== undefined) return named
  if (code.endsWith('_NOT_FOUND')) return 4
  return kind === 'damage' ? 3 : 1
}
