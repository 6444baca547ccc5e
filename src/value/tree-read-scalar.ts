/**
 * Scalars from their bytes, each from the one encoding that it has.
 */
import { OBJECT_KINDS } from '../core/object.js'
import type { ByteReader } from './tree-bytes.js'
import { TAG } from './tree-encode.js'
import { longKind } from './tree-long.js'
import { BoxNode, type BoxType, type Slot, TREE_INLINE_BYTES_MAX } from './tree-node.js'
import { isLong, valueOfContent } from './tree-scalar.js'

/**
 * The scalar that starts with `tag`, which was read. A long one has its name, but neither home nor
 * referrer yet. Throws OBJECT_CORRUPT, also where the tag is not a scalar's.
 */
export function readScalar(reader: ByteReader, tag: number): Slot {
  switch (tag) {
    case TAG.text:
      return readText(reader)
    case TAG.natural:
      return reader.varint()
    case TAG.negative:
      return readNegative(reader)
    case TAG.null:
      return null
    case TAG.false:
      return false
    case TAG.true:
      return true
    case TAG.undefined:
      return undefined
    case TAG.float:
      return readFloat(reader)
    case TAG.date:
      return readDate(reader)
    case TAG.bytes:
      return readShort(reader, 'bytes')
    case TAG.bigint:
      return readShort(reader, 'bigint')
    case TAG.longText:
      return readLongName(reader, 'text')
    case TAG.longBytes:
      return readLongName(reader, 'bytes')
    case TAG.longBigint:
      return readLongName(reader, 'bigint')
    default:
      reader.fail(`${tag} is not the start of a value`)
  }
}

function readText(reader: ByteReader): string {
  const start = reader.at
  const text = reader.text()
  if (reader.at - start > TREE_INLINE_BYTES_MAX - 1) reader.fail('so long a text is an object')
  return text
}

function readNegative(reader: ByteReader): number {
  const value = -1 - reader.varint()
  if (!Number.isSafeInteger(value)) reader.fail('an integer is too large')
  return value
}

function readFloat(reader: ByteReader): number {
  const value = reader.float()
  const isInteger = Number.isSafeInteger(value) && !Object.is(value, -0)
  if (isInteger) reader.fail('an integer is not written as a float')
  return value
}

function readDate(reader: ByteReader): Slot {
  const value = reader.float()
  if (!Object.is(new Date(value).getTime(), value)) reader.fail('it is not a time value')
  return new BoxNode('date', value, 8)
}

function readShort(reader: ByteReader, type: 'bytes' | 'bigint'): Slot {
  const length = reader.varint()
  if (isLong(type, length)) reader.fail('so long a value is an object')
  const content = reader.raw(length)
  if (type === 'bytes') return new BoxNode('bytes', Uint8Array.from(content), length)
  const value = valueOfContent(type, content)
  if (typeof value !== 'bigint') reader.fail('it is not an integer')
  return value
}

function readLongName(reader: ByteReader, type: BoxType): BoxNode {
  const length = reader.varint()
  if (!isLong(type, length)) reader.fail('so short a value lies inside its parent')
  const code = reader.byte()
  const kind = longKind(length)
  if (code !== OBJECT_KINDS[kind]) reader.fail('a content of this length has another kind')
  const box = new BoxNode(type, undefined, length)
  box.hash = reader.hash()
  box.contentKind = kind
  return box
}
