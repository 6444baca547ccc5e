/**
 * One file that holds runs whole: their logs as they lie, and every object they refer to.
 * Whoever has it can verify it, in any store, without the store it came from.
 * @see docs/format.md#bundle
 */
import { createHash } from 'node:crypto'
import { type Ref, readableRefsOf } from '../core/body.js'
import type { Hash } from '../core/hash.js'
import type { RunSummary } from '../fold/run-index.js'
import { encodeObjectRecord } from '../value/object-record.js'
import type { StoreContext } from './context.js'
import { LogReader } from './log-reader.js'
import { shapeOf } from './log-shape.js'
import { walkSpan } from './log-walk.js'
import { RunView } from './run-view.js'
import { valueObjects } from './values.js'

export const BUNDLE_VERSION = 1

/** First line of a bundle. */
export interface BundleHeader {
  readonly daglog: 'bundle'
  readonly version: number
  /** Parents before the runs that begin in them. */
  readonly runs: readonly {
    readonly id: string
    readonly run: string | null
    readonly seq: number
    readonly hash: string | null
  }[]
}

/** The line before a section's bytes; a newline follows them. */
export type BundleSection =
  | {
      readonly section: 'log'
      readonly id: string
      readonly segment: number
      readonly bytes: number
    }
  | { readonly section: 'object'; readonly id: string; readonly bytes: number }
  | { readonly section: 'missing'; readonly id: string; readonly object: string; readonly bytes: 0 }
  | { readonly section: 'end'; readonly sha256: string; readonly bytes: 0 }

/** The bytes of a bundle of a run and of the runs that it begins in. */
export async function* exportBundle(context: StoreContext, id: string): AsyncGenerator<Buffer> {
  const hashing = createHash('sha256')
  for await (const piece of pieces(context, await withAncestors(context, id))) {
    hashing.update(piece)
    yield piece
  }
  yield line({ section: 'end', sha256: hashing.digest('hex'), bytes: 0 })
}

function line(value: BundleHeader | BundleSection): Buffer {
  return Buffer.from(`${JSON.stringify(value)}\n`)
}

async function withAncestors(context: StoreContext, id: string): Promise<string[]> {
  const list = await context.heads.refresh()
  const ids: string[] = []
  for (let next: string | undefined = id; next !== undefined && !ids.includes(next); ) {
    ids.unshift(next)
    const parent: RunSummary['parent'] = (await new RunView(context, next).summary()).parent
    next = parent?.kind === 'fork' ? list.idOf(parent.run) : undefined
  }
  return ids
}

async function* pieces(context: StoreContext, ids: readonly string[]): AsyncGenerator<Buffer> {
  const runs: BundleHeader['runs'][number][] = []
  for (const id of ids) {
    const view = new RunView(context, id)
    const head = await view.head()
    runs.push({
      id,
      run: (await view.identity()) ?? null,
      seq: head?.seq ?? -1,
      hash: head?.hash ?? null,
    })
  }
  yield line({ daglog: 'bundle', version: BUNDLE_VERSION, runs })
  const sent = new Set<Hash>()
  for (const id of ids) {
    yield* objectSections(context, id, sent)
    yield* logSections(context, id)
  }
}

const NEWLINE = Buffer.from('\n')

async function* logSections(context: StoreContext, id: string): AsyncGenerator<Buffer> {
  const reader = new LogReader(context.backend, { run: id })
  for (const { number, bytes } of await reader.segments()) {
    yield line({ section: 'log', id, segment: number, bytes })
    for await (const block of reader.lines(number, 0, bytes)) yield block.bytes
    yield NEWLINE
  }
}

/** Objects go before the log that refers to them, each once. */
async function* objectSections(
  context: StoreContext,
  id: string,
  sent: Set<Hash>,
): AsyncGenerator<Buffer> {
  for (const ref of await refsOfRun(context, id)) {
    for await (const { hash, object } of valueObjects(context.backend, ref, id, sent)) {
      if (object === undefined) yield line({ section: 'missing', id, object: hash, bytes: 0 })
      else {
        const record = encodeObjectRecord(object)
        yield line({ section: 'object', id, bytes: record.length })
        yield record
      }
      yield NEWLINE
    }
  }
}

async function refsOfRun(context: StoreContext, id: string): Promise<Ref[]> {
  const reader = new LogReader(context.backend, { run: id })
  const refs: Ref[] = []
  for (const span of (await shapeOf(reader)).spans) {
    await walkSpan(
      reader,
      span,
      { from: 0, seq: span.firstSeq, prev: span.prev },
      (frame, bytes) => {
        if (!frame.redacted)
          refs.push(...readableRefsOf(bytes.subarray(frame.bodyFrom, frame.bodyTo)))
      },
    )
  }
  return refs
}
