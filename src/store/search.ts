/**
 * Where a text stands in what runs hold: event data in frames, and the values that lie out of line.
 * Streaming: hits come as they are found, memory does not grow with what is searched, and an object
 * that many values share is searched once. Recorded bytes are searched as they are, so JSON as
 * JSON.
 * @see docs/cli.md#search
 */
import { parseBody, type Ref, readableRefsOf, restoreData } from '../core/body.js'
import { encodeValue } from '../core/encode.js'
import { DaglogError } from '../core/errors.js'
import type { Hash } from '../core/hash.js'
import { pointerStep } from '../core/pointer.js'
import { type Finder, type Found, Needle } from '../value/needle.js'
import { readRopeAsync } from '../value/rope.js'
import type { RawEvent } from './event-reader.js'
import type { RunView } from './run-view.js'
import { type Excerpt, excerptOf, HitContext } from './search-context.js'
import { mayHoldPacked, packedBodies } from './search-packed.js'
import { Pattern } from './search-pattern.js'
import { RopeSearch } from './search-rope.js'
import { loadValue, missing } from './values.js'

export interface SearchHit extends Excerpt {
  readonly run: string
  readonly seq: number
  /** The line inside the event, from 0, where it holds lines of a transcript. */
  readonly line?: number
  readonly type: string
  /** Where in the event's data; undefined where that is in the frame itself. */
  readonly pointer?: string
}

export interface SearchOptions {
  /** A text, or what finds places by itself. */
  readonly text: string | Finder
  readonly regex?: boolean
  readonly ignoreCase?: boolean
  /** Only events of these types. */
  readonly types?: readonly string[]
}

/** What could not be searched. */
export interface SearchSkips {
  /** Events whose bodies were redacted. */
  redacted: number
  /** Places that could not be read, and why. */
  readonly unread: { readonly run: string; readonly seq: number; readonly reason: string }[]
}

type Way = { readonly needle: Finder; readonly ropes: RopeSearch } | { readonly pattern: Pattern }

/** One search over any number of runs; remembers objects in which there is nothing. */
export class Search {
  readonly skips: SearchSkips = { redacted: 0, unread: [] }
  private readonly finder: Way
  private readonly types: ReadonlySet<string> | undefined

  /** @throws USAGE where the text is empty or no regular expression */
  constructor(options: SearchOptions) {
    const { text, regex = false, ignoreCase = false } = options
    this.types = options.types === undefined ? undefined : new Set(options.types)
    if (typeof text !== 'string') {
      this.finder = { needle: text, ropes: new RopeSearch(text) }
      return
    }
    if (text === '') throw new DaglogError('USAGE', 'there is nothing to search for; try: a text')
    if (regex || ignoreCase) {
      const source = regex ? text : text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
      this.finder = { pattern: new Pattern(source, { ignoreCase }) }
    } else {
      const needle = new Needle(text)
      this.finder = { needle, ropes: new RopeSearch(needle) }
    }
  }

  /** @throws LIMIT_EXCEEDED where a pattern takes too long */
  async *run(view: RunView): AsyncGenerator<SearchHit> {
    for await (const frame of view.frames()) {
      if (frame.type === 'log/gap' && frame.hash === '') {
        this.skip(view.id, frame.seq, JSON.parse(frame.body.toString()).reason)
        continue
      }
      if (this.types !== undefined && !this.types.has(frame.type)) continue
      if (frame.redacted) this.skips.redacted += 1
      else yield* this.frame(view, frame)
    }
  }

  /**
   * The same in what readers derive of these types: made again, and searched as the JSON that it
   * would be.
   * Nothing where no types were asked for: it all stands in the raw lines.
   */
  async *derived(view: RunView): AsyncGenerator<SearchHit> {
    if (this.types === undefined) return
    for await (const { seq, line, type, data } of view.session({ types: [...this.types] })) {
      if (line === undefined) continue
      const bytes = Buffer.from(encodeValue(data).text)
      for (const found of this.inBytes(bytes))
        yield { run: view.id, seq, line, type, ...excerptOf(bytes, found) }
    }
  }

  private async *frame(view: RunView, frame: RawEvent): AsyncGenerator<SearchHit> {
    const { seq, type } = frame
    const hit = { run: view.id, seq, type }
    // The body is overwritten when the next frame is read, and we may wait in between.
    const data = dataOf(frame.body)
    const refs = readableRefsOf(frame.body)
    const small = bytesOf(frame.body)
    const packed = mayHoldPacked(frame)
    for (const found of this.inBytes(data)) yield { ...hit, ...excerptOf(data, found) }
    for (const [pointer, bytes] of small) {
      for (const found of this.inBytes(bytes)) {
        const at = type === LINES ? { line: linesBefore(bytes, found.at) } : {}
        yield { ...hit, ...at, ...excerptOf(bytes, found), pointer }
      }
    }
    for (const ref of refs) {
      try {
        for await (const found of this.value(view, ref, { seq, type }))
          yield { ...hit, ...found, pointer: ref.pointer }
      } catch (error) {
        if (!(error instanceof DaglogError) || error.kind !== 'damage') throw error
        this.skip(view.id, seq, error.message)
      }
    }
    for (const { pointer, bytes } of packed ? await packedBodies(view, seq) : []) {
      for (const found of this.inBytes(bytes)) yield { ...hit, ...excerptOf(bytes, found), pointer }
    }
  }

  private inBytes(bytes: Buffer): readonly Found[] {
    const { finder } = this
    return 'needle' in finder ? finder.needle.find(bytes) : [...finder.pattern.inPiece(bytes)]
  }

  private async *value(
    view: RunView,
    ref: Ref,
    { seq, type }: Pick<RawEvent, 'seq' | 'type'>,
  ): AsyncGenerator<Excerpt & { readonly line?: number }> {
    const { backend } = view.log
    const by = { run: view.id, seq }
    if (ref.kind === 'tree') {
      const bytes = Buffer.from(await loadValue(backend, ref, by))
      for (const found of this.inBytes(bytes)) yield excerptOf(bytes, found)
      return
    }
    const load = async (hash: Hash): Promise<Uint8Array> => {
      const bytes = await backend.getObject(hash, by.run)
      if (bytes === undefined) throw missing(hash, ref, by)
      return bytes
    }
    const now = backend.getObjectNow?.bind(backend)
    const loadNow = (hash: Hash): Uint8Array | Promise<Uint8Array> =>
      now?.(hash, by.run) ?? load(hash)
    const { root: hash, size } = ref
    const kind = hash === ref.sha256 ? 'blob' : 'rope'
    const read = (from: number, to?: number): AsyncIterable<Uint8Array> =>
      readRopeAsync(hash, kind, load, { from, size, ...(to === undefined ? {} : { to }) })
    const context = new HitContext(read)
    const { finder } = this
    const places =
      'ropes' in finder
        ? finder.ropes.find({ hash, kind, size }, loadNow)
        : finder.pattern.find(read(0))
    const isLines = type === LINES
    for await (const found of places) {
      const excerpt = await context.excerpt(found)
      yield isLines ? { line: await context.line(found), ...excerpt } : excerpt
    }
  }

  private skip(run: string, seq: number, reason: string): void {
    this.skips.unread.push({ run, seq, reason })
  }
}

const LINES = 'import/lines'
const DATA_KEY = Buffer.from(',"data":')

/** The data of a body: not its salt nor its refs. No string holds the key unescaped. */
function dataOf(body: Buffer): Buffer {
  const at = body.indexOf(DATA_KEY)
  return at < 0 ? Buffer.alloc(0) : Buffer.from(body.subarray(at + DATA_KEY.length, -1))
}

const ENCODED_KEY = Buffer.from('"enc":')

/** Small byte strings stand in a frame as base64; what they hold is searched, not that. */
function bytesOf(body: Buffer): [pointer: string, bytes: Buffer][] {
  const at = body.indexOf(ENCODED_KEY)
  if (at < 0 || at > body.indexOf(DATA_KEY)) return []
  const found: [string, Buffer][] = []
  const walk = (value: unknown, pointer: string): void => {
    if (value instanceof Uint8Array) found.push([pointer, Buffer.from(value)])
    else if (typeof value === 'object' && value !== null)
      for (const [key, member] of Object.entries(value)) walk(member, pointer + pointerStep(key))
  }
  const parsed = parseBody(body)
  walk(restoreData({ ...parsed, refs: [] }, new Map()), '')
  return found
}

function linesBefore(bytes: Buffer, end: number): number {
  let lines = 0
  for (let at = bytes.indexOf(0x0a); at >= 0 && at < end; at = bytes.indexOf(0x0a, at + 1))
    lines += 1
  return lines
}
