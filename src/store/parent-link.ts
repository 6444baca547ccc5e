/**
 * Where a run begins in another: what its first frame says of that, and where a fork may begin.
 * @see docs/format.md#frame
 */
import { DaglogError } from '../core/errors.js'
import type { ParentLink } from '../core/event-map.js'
import { turns } from '../fold/turns.js'
import { closers } from './closers.js'
import { type OpenTurnWork, openWorkIn } from './open-work.js'
import type { RunBeginning } from './run-beginning.js'
import type { RunView } from './run-view.js'

/** A link to an event of a run, to its end unless told. @throws SEQ_NOT_FOUND */
export async function parentLink(
  view: RunView,
  at: number | undefined,
  kind: ParentLink['kind'],
): Promise<ParentLink> {
  const run = await view.identity()
  const found = at === undefined ? await view.head() : await view.headAt(at)
  if (run === undefined || found === undefined) {
    throw new DaglogError(
      'SEQ_NOT_FOUND',
      `run ${view.id} has no whole event ${at ?? 'at all'}; try: daglog show ${view.id}`,
      { run: view.id, seq: at },
    )
  }
  return { run, seq: found.seq, hash: found.hash, kind }
}

export interface ForkOptions {
  /** The last event that the fork begins with; the end unless told. */
  readonly at?: number
  readonly id?: string
  readonly name?: string
  /**
   * Also inside an open turn: the fork begins with what closes it, in the same way as what a crash
   * left open is closed.
   */
  readonly close?: boolean
}

/** What a fork begins with. @throws SEQ_NOT_FOUND, TURN_OPEN */
export async function forkBeginning(
  view: RunView,
  { at, name, close = false }: ForkOptions,
): Promise<RunBeginning> {
  const parent = await parentLink(view, at, 'fork')
  const turn = await turnOpenAt(view, parent.seq)
  if (turn !== undefined && !close) throw await insideTurn(view, turn, parent.seq)
  return {
    parent,
    name: name ?? (await view.summary()).name ?? nameIn(view.id),
    ...(turn === undefined ? {} : { closing: closers(await openWorkFrom(view, turn, parent.seq)) }),
  }
}

function openWorkFrom(view: RunView, { start = 0 }: OpenTurn, to: number): Promise<OpenTurnWork> {
  return openWorkIn(view.events({ from: start, to }))
}

/** A turn, and the seq of its start; undefined where that lies before a fork. */
interface OpenTurn {
  readonly turn: number
  readonly start: number | undefined
}

/** The turn that is open as of an event, as the log has it: nobody has closed it yet. */
async function turnOpenAt(view: RunView, seq: number): Promise<OpenTurn | undefined> {
  if (seq === (await view.head())?.seq) {
    // Of a dead writer's turn a projection says how it will be closed.
    const { turn } = await view.open()
    return turn === undefined ? undefined : { turn, start: (await view.last('turn/start'))?.seq }
  }
  const last = (await view.project(turns, { at: seq })).at(-1)
  if (last === undefined || last.reason !== 'open') return undefined
  return { turn: last.turn, start: typeof last.start === 'number' ? last.start : undefined }
}

function nameIn(id: string): string {
  return id.replace(/^\d{4}-\d\d-\d\d-/, '').replace(/-[0-9a-f]{4}$/, '')
}

async function insideTurn(view: RunView, turn: OpenTurn, at: number): Promise<DaglogError> {
  const { start } = turn
  const last = (await view.head())?.seq ?? 0
  const end = (await view.project(turns)).find((other) => other.start === start)?.end
  const before = start !== undefined && start > 0 ? start - 1 : undefined
  const after = typeof end === 'number' && end <= last ? end : undefined
  const places = [
    ...(before === undefined ? [] : [`at seq ${before}, before it`]),
    ...(after === undefined ? [] : [`at seq ${after}, after it`]),
    'or with { close: true } (--close), which closes it in the fork',
  ]
  return new DaglogError(
    'TURN_OPEN',
    `run ${view.id} is in turn ${turn.turn} at seq ${at}, and a fork begins where no turn is open; try: ${places.join('; ')}`,
    { run: view.id, seq: at, turn: turn.turn, before, after },
  )
}
