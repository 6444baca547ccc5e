/**
 * Where the event of each operation lies, kept small: a run may have a hundred thousand of them,
 * and the table goes into every snapshot of its index. Keeps 64 bits of an id, so it names
 * candidates; whether it is the one is for the event's body to say.
 */
import { sha256 } from '../core/hash.js'
import { pushVarint, VarintReader } from '../value/pack-varint.js'

/** The start of a frame. */
export interface OperationPlace {
  readonly segment: number
  readonly from: number
}

/**
 * Rows in the order of the log, in base64: the keys, then the places. A place is how many segments
 * it lies behind the one before, and how many bytes behind that one's start, or in a later segment
 * behind the segment's own: 11 bytes a row, as a rule.
 */
export type PackedOperations = readonly [count: number, rows: string]

const KEY_BYTES = 8

/** So many are looked for in packed rows, which costs a scan each, before these are taken apart. */
const SCANS_MAX = 32

export class OperationTable {
  /** What snapshots brought, each part at least twice as long as the next. */
  private packed: readonly PackedOperations[] = []
  private bytes: readonly Buffer[] | undefined
  private scans = 0
  /** What came since. */
  private recent = new Rows()

  /** Add an operation, behind all that are there. */
  add(op: string, place: OperationPlace): void {
    this.recent.push(keyOf(op), place)
  }

  /** Where its event may lie, in the order of the log. */
  find(op: string): OperationPlace[] {
    const key = keyOf(op)
    const found = this.packed.length === 0 ? [] : this.scan(key)
    return [...found, ...this.recent.find(key)]
  }

  private scan(key: Key): OperationPlace[] {
    this.scans += 1
    if (this.scans > SCANS_MAX) {
      this.recent = unpacked([...this.packed, pack(this.recent)])
      this.packed = []
      this.bytes = undefined
      return []
    }
    this.bytes ??= this.packed.map(([, rows]) => Buffer.from(rows, 'base64'))
    return this.bytes.flatMap((bytes, at) => {
      const [count] = this.packed[at]!
      return holds(bytes.subarray(0, count * KEY_BYTES), key)
        ? unpacked([this.packed[at]!]).find(key)
        : []
    })
  }

  /** For a snapshot. Costs what is new, and now and then what is old. */
  toJSON(): readonly PackedOperations[] {
    const parts = [...this.packed]
    if (this.recent.length > 0) parts.push(pack(this.recent))
    while (parts.length > 1 && parts.at(-2)![0] < 2 * parts.at(-1)![0]) {
      parts.push(pack(unpacked(parts.splice(-2))))
    }
    return parts
  }

  static fromJSON(packed: readonly PackedOperations[]): OperationTable {
    const table = new OperationTable()
    table.packed = packed
    return table
  }
}

/** The first 64 bits of the id's hash, as two words. */
type Key = readonly [high: number, low: number]

function keyOf(op: string): Key {
  const hash = sha256(Buffer.from(op))
  return [Number.parseInt(hash.slice(0, 8), 16), Number.parseInt(hash.slice(8, 16), 16)]
}

function holds(keys: Buffer, [high, low]: Key): boolean {
  const sought = Buffer.alloc(KEY_BYTES)
  sought.writeUInt32BE(high)
  sought.writeUInt32BE(low, 4)
  let at = keys.indexOf(sought)
  while (at >= 0 && at % KEY_BYTES !== 0) at = keys.indexOf(sought, at + 1)
  return at >= 0
}

function pack(rows: Rows): PackedOperations {
  const keys = Buffer.alloc(rows.length * KEY_BYTES)
  const places: number[] = []
  let before: OperationPlace = { segment: 0, from: 0 }
  for (let row = 0; row < rows.length; row += 1) {
    const [high, low] = rows.key(row)
    keys.writeUInt32BE(high, row * KEY_BYTES)
    keys.writeUInt32BE(low, row * KEY_BYTES + 4)
    const place = rows.place(row)
    pushVarint(places, place.segment - before.segment)
    pushVarint(places, place.segment === before.segment ? place.from - before.from : place.from)
    before = place
  }
  return [rows.length, Buffer.concat([keys, Buffer.from(places)]).toString('base64')]
}

function unpacked(parts: readonly PackedOperations[]): Rows {
  const rows = new Rows(parts.reduce((sum, [count]) => sum + count, 0))
  for (const [count, text] of parts) {
    const bytes = Buffer.from(text, 'base64')
    const places = new VarintReader(bytes.subarray(count * KEY_BYTES))
    let [segment, from] = [0, 0]
    for (let at = 0; at < count * KEY_BYTES; at += KEY_BYTES) {
      const later = places.next()!
      segment += later
      from = later === 0 ? from + places.next()! : places.next()!
      rows.push([bytes.readUInt32BE(at), bytes.readUInt32BE(at + 4)], { segment, from })
    }
  }
  return rows
}

/** Rows in the order of the log, and a hash table beside them. */
class Rows {
  length = 0
  /** Two words a row. */
  private keys: Uint32Array
  private segments: Uint32Array
  private froms: Float64Array
  /** Number + 1 of a row, 0 for none; at most half full. */
  private slots: Uint32Array

  constructor(expected = 0) {
    const capacity = 2 ** Math.ceil(Math.log2(Math.max(expected, 8)))
    this.keys = new Uint32Array(capacity * 2)
    this.segments = new Uint32Array(capacity)
    this.froms = new Float64Array(capacity)
    this.slots = new Uint32Array(capacity * 2)
  }

  push([high, low]: Key, { segment, from }: OperationPlace): void {
    const row = this.length
    if (row === this.segments.length) this.grow()
    this.keys[row * 2] = high
    this.keys[row * 2 + 1] = low
    this.segments[row] = segment
    this.froms[row] = from
    this.length += 1
    this.slot(row)
  }

  key(row: number): Key {
    return [this.keys[row * 2]!, this.keys[row * 2 + 1]!]
  }

  place(row: number): OperationPlace {
    return { segment: this.segments[row]!, from: this.froms[row]! }
  }

  find([high, low]: Key): OperationPlace[] {
    const found: OperationPlace[] = []
    const mask = this.slots.length - 1
    for (let slot = low & mask; this.slots[slot] !== 0; slot = (slot + 1) & mask) {
      const row = this.slots[slot]! - 1
      if (this.keys[row * 2] === high && this.keys[row * 2 + 1] === low) found.push(this.place(row))
    }
    return found
  }

  /** Rows come in order, so those of one key are found in order. */
  private slot(row: number): void {
    const mask = this.slots.length - 1
    let slot = this.keys[row * 2 + 1]! & mask
    while (this.slots[slot] !== 0) slot = (slot + 1) & mask
    this.slots[slot] = row + 1
  }

  private grow(): void {
    const { keys, segments, froms } = this
    this.keys = new Uint32Array(keys.length * 2)
    this.keys.set(keys)
    this.segments = new Uint32Array(segments.length * 2)
    this.segments.set(segments)
    this.froms = new Float64Array(froms.length * 2)
    this.froms.set(froms)
    this.slots = new Uint32Array(this.slots.length * 2)
    for (let row = 0; row < this.length; row += 1) this.slot(row)
  }
}
