/**
 * Sessions inside the file of another: each becomes a run of its own, a child of that one. Its
 * source is its lines, one after the other, wherever they lie in the file.
 */
import type { ImportEnd, ImportSource, ParentLink } from '../core/event-map.js'
import type { DraftedRun, DraftRuns } from '../store/draft-runs.js'
import type { Store } from '../store/store.js'
import type { Parting, PartLines } from './format.js'
import type { KnownRuns } from './known-runs.js'
import type { Reading } from './reading.js'

export interface PartsOptions {
  readonly store: Store
  readonly drafts: DraftRuns
  readonly known: KnownRuns
  /** The import of the file. */
  readonly source: ImportSource
  readonly file: { readonly size: number; readonly mtime: number }
  /** What runs of parts are called, without the name of the part. */
  readonly id: string
  newReading(): Reading
}

interface Part {
  readonly name: string
  readonly reading: Reading
  /** How much of it its run holds already, in bytes; undefined where there is none. */
  readonly known: { readonly id: string; readonly bytes: number } | undefined
  draft: DraftedRun | undefined
  /** News that wait for the run to be opened. */
  readonly news: { readonly from: number; readonly lines: number; readonly bytes: Buffer }[]
}

export class Parts {
  private readonly parts = new Map<string, Part>()

  constructor(
    private readonly parting: Parting,
    private readonly options: PartsOptions,
  ) {}

  /**
   * Take the parts of some whole lines of the file. @param parent The run of the file, as it is
   * now.
   */
  async take(bytes: Buffer, parent: () => ParentLink): Promise<void> {
    for (const lines of this.parting.parts(bytes)) await this.lines(lines, parent)
  }

  private async lines(
    { part: name, lines, bytes }: PartLines,
    parent: () => ParentLink,
  ): Promise<void> {
    const part = this.parts.get(name) ?? (await this.begin(name, parent))
    const from = part.reading.bytes
    const data = { from, lines, bytes }
    if (part.draft !== undefined) {
      part.reading.take(
        await part.draft.append({ type: 'import/lines', data }),
        'import/lines',
        data,
      )
      return
    }
    part.reading.take(0, 'import/lines', data)
    const known = part.known?.bytes ?? 0
    const skip = Math.min(Math.max(0, known - from), bytes.length)
    if (skip === bytes.length) return
    const rest = bytes.subarray(skip)
    const ends = rest.filter((byte) => byte === 0x0a).length
    part.news.push({ from: from + skip, lines: ends, bytes: rest })
  }

  private sourceOf(name: string): ImportSource {
    const { source } = this.options
    return { ...source, session: `${source.session}/${name}`, part: 'sidechain' }
  }

  private async begin(name: string, parent: () => ParentLink): Promise<Part> {
    const source = this.sourceOf(name)
    const head = this.options.known.find(source.format, source.session)
    const known = head && { id: head.id, bytes: head.bytes }
    const reading = this.options.newReading()
    const part: Part = { name, reading, known, draft: undefined, news: [] }
    this.parts.set(name, part)
    if (known === undefined) {
      for (let number = 1; part.draft === undefined; number += 1) {
        const id = `${this.options.id}-${name}${number === 1 ? '' : `.${number}`}`
        part.draft = await this.options.drafts.begin(id, { parent: parent() })
      }
      await part.draft.append({ type: 'import/source', data: source })
    }
    reading.take(0, 'import/source', source)
    return part
  }

  /** All of the file was taken. @returns The runs that have something new. */
  async finish(): Promise<string[]> {
    const runs: string[] = []
    for (const part of this.parts.values()) {
      const data = this.endOf(part)
      if (part.draft !== undefined) {
        await part.draft.append({ type: 'import/end', data })
        runs.push(part.draft.id)
      } else if (part.news.length > 0 && part.known !== undefined) {
        await this.append(part.known.id, part, data)
        runs.push(part.known.id)
      }
    }
    return runs
  }

  private async append(id: string, part: Part, end: ImportEnd): Promise<void> {
    const run = await this.options.store.openRun(id)
    try {
      for (const data of part.news) await run.append('import/lines', data)
      await run.append('import/end', end)
    } finally {
      await run.close()
    }
  }

  private endOf({ reading }: Part): ImportEnd {
    const { source, file } = this.options
    const { bytes, lines } = reading
    return { bytes, lines, ...file, reader: source.reader, totals: reading.totals() }
  }

  /** Give up what was begun. */
  async discard(): Promise<void> {
    for (const { draft } of this.parts.values())
      if (draft !== undefined) await this.options.drafts.discard(draft)
  }
}
