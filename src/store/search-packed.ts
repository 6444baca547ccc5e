/**
 * Bodies of exchanges that were recorded with a content-encoding, without it: nobody looks for the
 * bytes of a packed text.
 */
import { readableRefsOf } from '../core/body.js'
import { DaglogError } from '../core/errors.js'
import { fieldsOf, listOf, nameOf } from '../fold/provider/shape.js'
import { exchangeOf } from '../fold/readers/exchange-view.js'
import type { RawEvent } from './event-reader.js'
import { EXCHANGE_BODY, EXCHANGE_TYPE } from './exchange-outline.js'
import type { RunView } from './run-view.js'

export interface PackedBody {
  readonly pointer: string
  /** Decoded; of a broken one, what could be read. */
  readonly bytes: Buffer
}

const SIDES = ['request', 'response'] as const

type Side = (typeof SIDES)[number]

/** Whether a frame may hold some: looked at as it lies. */
export function mayHoldPacked({ type, body }: Pick<RawEvent, 'type' | 'body'>): boolean {
  if (type !== EXCHANGE_TYPE) return false
  // Where more than bodies lies out of line, headers may be among it.
  if (readableRefsOf(body).some(({ pointer }) => !EXCHANGE_BODY.test(pointer))) return true
  return /content-encoding/i.test(body.toString('latin1'))
}

/** Those of an exchange. */
export async function packedBodies(
  view: Pick<RunView, 'event'>,
  seq: number,
): Promise<readonly PackedBody[]> {
  const data = await wholeData(view, seq)
  const exchange = exchangeOf(data)
  if (exchange === undefined) return []
  return packedSides(data).map((side) => ({
    pointer: `/${side}/body`,
    bytes: Buffer.from(exchange[`${side}Body`]),
  }))
}

function packedSides(data: unknown): Side[] {
  const exchange = fieldsOf(data)
  return SIDES.filter((side) => {
    const { form, headers } = fieldsOf(exchange[side])
    const names = listOf(headers).map((pair) => nameOf(listOf(pair)[0]).toLowerCase())
    return form === 'wire' && names.includes('content-encoding')
  })
}

/**
 * The data of an event; undefined where it is gone, which is told by whoever reads it as it lies.
 */
export async function wholeData(view: Pick<RunView, 'event'>, seq: number): Promise<unknown> {
  try {
    return (await view.event(seq))?.data
  } catch (error) {
    if (error instanceof DaglogError && error.kind === 'damage') return undefined
    throw error
  }
}
