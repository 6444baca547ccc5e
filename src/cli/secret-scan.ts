/**
 * Secrets in a run, before it leaves the store: which kind, and where; never a byte of one.
 * Looks at all that an export writes: what stands in frames, values that lie out of line (each object
 * once, however many share it), and bodies of exchanges as they are without their content-encoding.
 * @see docs/cli.md#export
 */
import { DaglogError } from '../core/errors.js'
import { fieldsOf, listOf, nameOf } from '../fold/provider/shape.js'
import { exchangeOf } from '../fold/readers/exchange-view.js'
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
  yield* packedSecrets(view)
}

/** The match is a text of the run: it goes no further than this. */
function kindOf(match: string): string {
  const [found] = secretsIn(Buffer.from(match, 'utf8'))
  return found?.kind ?? 'secret'
}

/** In bodies that were recorded with a content-encoding. */
async function* packedSecrets(view: RunView): AsyncGenerator<SecretFinding> {
  const type = 'http/exchange'
  for await (const event of view.events({ types: [type], refs: true })) {
    if (event.type !== type) continue
    const isCut = event.refs?.some(({ pointer }) => !pointer.endsWith('/body')) ?? false
    const packed = packedSides(isCut ? await loaded(view, event.seq) : event.data)
    if (packed.length === 0) continue
    const exchange = exchangeOf(await loaded(view, event.seq))
    for (const side of exchange === undefined ? [] : packed) {
      for (const { kind } of secretsIn(Buffer.from(exchange?.[`${side}Body`] ?? [])))
        yield { kind, seq: event.seq, type, pointer: `/${side}/body` }
    }
  }
}

const SIDES = ['request', 'response'] as const

function packedSides(data: unknown): readonly (typeof SIDES)[number][] {
  const exchange = fieldsOf(data)
  return SIDES.filter((side) => {
    const { form, headers } = fieldsOf(exchange[side])
    const isCoded = listOf(headers).some((pair) =>
      /^content-encoding$/i.test(nameOf(listOf(pair)[0])),
    )
    return form === 'wire' && isCoded
  })
}

async function loaded(view: RunView, seq: number): Promise<unknown> {
  try {
    return (await view.event(seq))?.data
  } catch (error) {
    if (error instanceof DaglogError && error.kind === 'damage') return undefined
    throw error
  }
}
