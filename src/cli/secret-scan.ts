/**
 * Secrets in a run, before it leaves the store: which kind, and where; never a byte of one.
 * Looks at all that an export writes: what stands in frames, values that lie out of line (each
 * object once, however many share it), and bodies of exchanges as they are without their
 * content-encoding.
 * @see docs/cli.md#export
 */
import { type Fields, fieldsOf, listOf, nameOf } from '../fold/provider/shape.js'
import { passingFingerprint } from '../http/fingerprint.js'
import { ExchangeScrub } from '../http/scrub.js'
import { SECRET_BYTES_MAX, secretsIn } from '../importers/secrets.js'
import { EXCHANGE_BODY } from '../store/exchange-outline.js'
import type { RunView } from '../store/run-view.js'
import { Search } from '../store/search.js'
import { wholeData } from '../store/search-packed.js'
import type { Finder } from '../value/needle.js'

export interface SecretFinding {
  readonly kind: string
  readonly seq: number
  readonly type: string
  /** Where in the event's data; left out where that is in the frame itself. */
  readonly pointer?: string
}

const SECRETS: Finder = { bytesMax: SECRET_BYTES_MAX, find: (bytes) => [...secretsIn(bytes)] }

/**
 * All of them, in the order of the run; payloads that cannot be read are left for the export to
 * tell of.
 */
export async function* secretsOf(view: RunView): AsyncGenerator<SecretFinding> {
  for await (const { seq, type, pointer, match } of new Search({ text: SECRETS }).run(view)) {
    const kind = kindOf(match)
    yield { kind, seq, type, ...(pointer === undefined ? {} : { pointer }) }
  }
  yield* namedSecrets(view)
}

/**
 * In heads of exchanges, what is secret by its name and has no form of its own: a recorder lets
 * none in, but anybody may append an exchange.
 */
async function* namedSecrets(view: RunView): AsyncGenerator<SecretFinding> {
  const type = 'http/exchange'
  for await (const event of view.events({ types: [type], refs: true })) {
    if (event.type !== type || event.redacted === true) continue
    const { seq } = event
    const isCut = event.refs?.some(({ pointer }) => !EXCHANGE_BODY.test(pointer)) ?? false
    const exchange = fieldsOf(isCut ? await wholeData(view, seq) : event.data)
    for (const side of ['request', 'response'] as const) {
      for (const kind of namesIn(fieldsOf(exchange[side]), side))
        yield { kind, seq, type, pointer: `/${side}` }
    }
  }
}

function namesIn({ headers, url }: Fields, side: 'request' | 'response'): string[] {
  const scrub = new ExchangeScrub({ fingerprint: passingFingerprint() })
  const pairs = listOf(headers).map((pair) => {
    const [name, value] = listOf(pair)
    return [nameOf(name), nameOf(value)] as const
  })
  scrub.headers(pairs, side)
  if (side === 'request') scrub.url(nameOf(url))
  // What was found by its form is told already, in its place.
  return scrub.scrubbed.flatMap(({ at }) => (at.includes('(') ? [] : [at]))
}

/** The match is a text of the run: it goes no further than this. */
function kindOf(match: string): string {
  const [found] = secretsIn(Buffer.from(match, 'utf8'))
  return found?.kind ?? 'secret'
}
