/** `daglog state RUN[@SEQ] [POINTER]` */
import { encodeValue } from '../core/encode.js'
import { DaglogError } from '../core/errors.js'
import { pointerKeys } from '../core/pointer.js'
import type { RunView } from '../store/run-view.js'
import type { Tree } from '../value/tree.js'
import type { Call } from './call.js'
import type { ExitCode } from './exit-codes.js'
import { runAt } from './run-at.js'
import { threadStateAt } from './thread-state.js'

export async function state(call: Call): Promise<ExitCode> {
  const { out } = call
  const store = await call.store()
  const { view, at } = await runAt(store, call.argument('RUN'))
  const pointer = call.optional('POINTER') ?? ''
  const tree = (await view.stateAt(at)) ?? (await threadStateAt(view, at))
  if (tree === undefined) throw noState(view, at)
  const { text, tags } = encodeValue(partOf(tree, { pointer, run: view.id }), '', {
    order: 'sorted',
  })
  if (!out.json) {
    out.jsonLine(text)
    return 0
  }
  const seq = at ?? (await view.head())?.seq
  const facts = {
    schema: 'daglog.state/1',
    ok: true,
    run: view.id,
    seq,
    root: tree.hash(),
    pointer,
  }
  const enc = tags.length === 0 ? '' : `,"enc":${JSON.stringify(tags)}`
  out.jsonPart(`${JSON.stringify(facts).slice(0, -1)},"value":`)
  out.jsonPart(text)
  out.jsonLine(`${enc}}`)
  return 0
}

/** Only what lies at the pointer is loaded. @throws POINTER_NOT_FOUND */
function partOf(
  tree: Tree,
  { pointer, run }: { readonly pointer: string; readonly run: string },
): unknown {
  const path = pointerKeys(pointer)
  if (tree.has(path)) return tree.get(path)
  let depth = 1
  while (tree.has(path.slice(0, depth))) depth += 1
  const missing = pointer.split('/', depth + 1).join('/')
  throw new DaglogError(
    'POINTER_NOT_FOUND',
    `the state of run ${run} has nothing at ${missing}; try: daglog state ${run}`,
    { run, pointer, path: missing },
  )
}

/** The error for a run that has none. */
export function noState(view: RunView, at: number | undefined): DaglogError {
  const when = at === undefined ? '' : ` at seq ${at}`
  return new DaglogError(
    'POINTER_NOT_FOUND',
    `run ${view.id} has no state${when}: no state/write was appended by then; try: daglog events ${view.id}`,
    { run: view.id, ...(at === undefined ? {} : { seq: at }) },
  )
}
