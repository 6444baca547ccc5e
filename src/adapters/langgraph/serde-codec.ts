/**
 * Values as a serializer of LangGraph's writes them, byte by byte: for those who need its exact
 * results. Each value is one; what two have in common is shared only where their bytes are.
 */
import type { SerializerProtocol } from '@langchain/langgraph-checkpoint'
import {
  containerIn,
  isNode,
  KIND,
  openValue,
  RecordNode,
  type Slot,
} from '../../value/tree-node.js'
import { objectGet } from '../../value/tree-object.js'
import { bytesSlot, textSlot, unbox } from '../../value/tree-scalar.js'
import type { Codec } from './codec.js'
import { notOurs, textIn } from './stored-values.js'

const BYTES = 'bytes'
const TYPE = 'type'

export class SerdeCodec implements Codec {
  constructor(readonly serde: SerializerProtocol) {}

  async encode(value: unknown): Promise<Slot> {
    // Called before anything is awaited: the value is taken as it is now.
    const [type, bytes] = await this.serde.dumpsTyped(value)
    return new RecordNode([BYTES, TYPE], [bytesSlot(bytes), textSlot(type)])
  }

  async decode(slot: Slot): Promise<unknown> {
    const node = containerIn(slot)
    if (node === undefined || node.kind === KIND.list) throw notOurs()
    const [bytes, type] = [objectGet(node, BYTES), objectGet(node, TYPE)]
    const box = typeof bytes === 'symbol' || !isNode(bytes) ? undefined : openValue(bytes)
    if (box?.kind !== KIND.box || typeof type === 'symbol') throw notOurs()
    return this.serde.loadsTyped(textIn(type), unbox(box) as Uint8Array)
  }
}
