/**
 * A transcript as its reader sees it while it is taken in: for the totals that lists show, and for
 * where it ends.
 */
import type { ImportTotals } from '../core/event-map.js'
import { ImportCount } from '../fold/import-totals.js'
import type { AnyReader } from '../fold/reader.js'

/** What the reader made of a file so far. */
export class Reading {
  private state: unknown
  /** Whether the last line has no end yet. */
  private unended = false
  private readonly count = new ImportCount()
  lines = 0
  bytes = 0
  /** Whether what came last was a torn line, which is stated anew once it is whole. */
  tornFrom: number | undefined

  constructor(private readonly reader: AnyReader) {
    this.state = reader.init()
  }

  take(seq: number, type: 'import/source' | 'import/lines', data: unknown): void {
    if (!this.reader.types.includes(type)) return
    const event = { seq, time: 0, type, data: data as never, hash: '' as never }
    const { state, events } = this.reader.read(this.state, event)
    this.state = state
    for (const derived of events) this.count.take(derived)
    if (type !== 'import/lines') return
    const { from, lines, bytes } = data as { from: number; lines: number; bytes: Uint8Array }
    // A torn line that is stated anew is one line.
    this.lines += from < this.bytes ? lines - 1 : lines
    this.unended = bytes.at(-1) !== LF
    this.bytes = from + bytes.length
    const isTorn = bytes.at(-1) !== LF && events.at(-1)?.type === 'session/fault'
    this.tornFrom = isTorn ? from : undefined
  }

  /** Whether bytes that begin at `from` go on with a line that was taken. */
  continuesLine(from: number): boolean {
    return this.unended && from === this.bytes
  }

  totals(): ImportTotals {
    return this.count.totals()
  }
}

const LF = 0x0a
