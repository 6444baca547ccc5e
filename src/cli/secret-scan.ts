/**
 * Secrets in a run, before it leaves the store: which kind, and where; never a byte of one.
 * Looks at all that an export writes: what stands in frames, values that lie out of line (each object
 * once, however many share it), and bodies of exchanges as they are without their content-encoding.
 * @see docs/cli.md#export
 */
import { SECRET_BYTES_MAX, secretsIn } from '../importers/secrets.js'
import type { RunView } from '../store/run-view.js'
import { Search } from '../store/search.js'
import type { Finder } from '../value/needle.js'

export interface SecretFinding {
  readonly kind: string
  readonly seq: number
  readonly type: string
  /** Where in the event's data; left out where that is in the frame itself. */
  readonly pointer?: string
}

const SECRETS: Finder = { bytesMax: SECRET_BYTES_MAX, find: (bytes) => [...secretsIn(bytes)] }

/** All of them, in the order of the run; payloads that cannot be read are left for the export to tell of. */
export async function* secretsOf(view: RunView): AsyncGenerator<SecretFinding> {
  for await (const { seq, type, pointer, match } of new Search({ text: SECRETS }).run(view)) {
    const kind = kindOf(match)
    yield { kind, seq, type, ...(pointer === undefined ? {} : { pointer }) }
  }
}

/** The match is a text of the run: it goes no further than this. */
function kindOf(match: string): string {
  const [found] = secretsIn(Buffer.from(match, 'utf8'))
  return found?.kind ?? 'secret'
}
