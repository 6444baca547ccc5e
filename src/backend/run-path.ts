/**
 * Run ids as file names, and back: injective on every file system, also on those that fold case,
 * hold names reserved (`con`, `nul`) or forbid characters.
 * Knows names only; whether a run exists is not its business.
 * @see docs/format.md#run-ids
 */
import { DaglogError } from '../core/errors.js'
import { sha256 } from '../core/hash.js'
import { RUN_ID_BYTES_MAX } from '../core/limits.js'

/**
 * Longest file name we make of an id, in bytes; the lock and its number must still fit into 255.
 */
const NAME_BYTES_MAX = 180
const HASHED_PREFIX_BYTES = 80
const HASHED_MARK = '%~'
const HASHED_NAME = /^(?!\.)(?!.*\.\.)[a-z0-9_.%-]{80}%~[0-9a-f]{64}$/
/** Names that are made of ids without a change. */
const SIMPLE_NAME = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/
const PLAIN = /^[a-z0-9_-]$/
const RESERVED = /^(?:con|prn|aux|nul|com\d|lpt\d|conin\$|conout\$)(?:\.|$)/

/** @throws RUN_ID_INVALID */
export function checkRunId(id: string): void {
  const bytes = typeof id === 'string' ? Buffer.byteLength(id) : 0
  if (bytes > 0 && bytes <= RUN_ID_BYTES_MAX && id.isWellFormed()) return
  const shown = typeof id === 'string' ? JSON.stringify(id.slice(0, 40)) : typeof id
  throw new DaglogError(
    'RUN_ID_INVALID',
    `run id ${shown} (${bytes} bytes) cannot be used; try: 1 to ${RUN_ID_BYTES_MAX} bytes of well-formed text`,
    { bytes },
  )
}

/** The file name of a run id. @throws RUN_ID_INVALID */
export function nameOfRunId(id: string): string {
  checkRunId(id)
  // The name of a very long id stands for it, since the id cannot be read back from it.
  if (HASHED_NAME.test(id) && !RESERVED.test(id)) return id
  let name = ''
  for (const char of id) name += PLAIN.test(char) ? char : escapeChar(char)
  // A dot is safe inside a name, but not first, last or before another.
  name = name.replace(/%2e(?=[a-z0-9_-])/g, (dot, at: number) => (at === 0 ? dot : '.'))
  if (RESERVED.test(name)) name = `${escapeChar(name[0] as string)}${name.slice(1)}`
  if (name.length <= NAME_BYTES_MAX) return name
  return `${name.slice(0, HASHED_PREFIX_BYTES)}${HASHED_MARK}${sha256(Buffer.from(id))}`
}

function escapeChar(char: string): string {
  return Array.from(Buffer.from(char), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
}

/**
 * Whether a directory of this name can be a run's; others are somebody else's, and are left alone.
 */
export function isRunName(name: string): boolean {
  return HASHED_NAME.test(name) || runIdOfName(name) !== undefined
}

/** The id of a file name; undefined where the name holds only its hash, or is none of ours. */
export function runIdOfName(name: string): string | undefined {
  // Most are their own ids, and there may be a hundred thousand.
  const isSimple = name.length <= NAME_BYTES_MAX && SIMPLE_NAME.test(name)
  if (isSimple && !RESERVED.test(name)) return name
  if (name.includes(HASHED_MARK)) return undefined
  const bytes: number[] = []
  for (let at = 0; at < name.length; at += 1) {
    if (name[at] !== '%') {
      bytes.push(name.charCodeAt(at))
      continue
    }
    bytes.push(Number.parseInt(name.slice(at + 1, at + 3), 16))
    at += 2
  }
  const id = Buffer.from(bytes).toString()
  try {
    return nameOfRunId(id) === name ? id : undefined
  } catch {
    // Not a name that we make: somebody else's directory.
    return undefined
  }
}
