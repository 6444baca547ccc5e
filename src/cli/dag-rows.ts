/** `daglog show RUN --dag`: the steps of a run, and under each what it stands on. */
import type { DataFlow, FlowEdge, FlowNode, FlowPiece } from '../fold/data-flow.js'
import { flowOf } from '../store/run-flow.js'
import { statusPiece } from './event-words.js'
import type { ExitCode } from './exit-codes.js'
import type { Output, Piece } from './output.js'
import { countText, durationText } from './quantity.js'
import type { RunAt } from './run-at.js'

const PIECES_SHOWN_MAX = 2

/** @param limit Most steps to print, the first of them; 0 for all. */
export async function showDag(out: Output, { view, at }: RunAt, limit: number): Promise<ExitCode> {
  const { flow, problems } = await flowOf(view, at === undefined ? {} : { to: at })
  for (const { seq, message } of problems)
    out.alarm(['red', 'cannot be read: '], `seq ${seq}: ${message}`)
  const shown = limit === 0 ? flow.nodes : flow.nodes.slice(0, limit)
  if (out.json) await printJson(out, { run: view.id, flow, shown, problems })
  else await printRows(out, flow, shown)
  return problems.length > 0 ? 3 : 0
}

/** Ways in which edges are written, for people. */
const SIGNS = { declared: '<= ', inferred: '<- ', nested: '' } as const

async function printRows(out: Output, flow: DataFlow, shown: readonly FlowNode[]): Promise<void> {
  const counts = { declared: 0, nested: 0, inferred: 0 }
  for (const node of shown) {
    const indent = '  '.repeat(node.depth)
    out.line(indent, ...nodeWords(node))
    let grown = 0
    for (const edge of flow.edgesTo(node.id)) {
      counts[edge.kind] += 1
      if (edge.through !== undefined) grown += 1
      else if (edge.kind !== 'nested')
        for (const words of edgeLines(flow, edge)) out.line(indent, '    ', ...words)
    }
    if (grown > 0)
      out.line(indent, '    ', [
        'dim',
        `and ${countText(grown, 'step')} whose values it held before`,
      ])
    await out.flowing()
  }
  const left = flow.nodes.length - shown.length
  if (left > 0) out.line(['dim', `${countText(left, 'more step')}; --limit 0 shows all`])
  for (const { seq, type, why } of flow.odd)
    out.line(['yellow', 'odd '], `seq ${seq} ${type}: ${why}`)
  out.line(
    countText(shown.length, 'step'),
    ['dim', `  edges: ${counts.inferred} inferred (<-), ${counts.declared} declared (<=), `],
    ['dim', `${counts.nested} nested (indented)`],
  )
}

function nodeWords({ id, name, status, times }: FlowNode): readonly Piece[] {
  const words: Piece[] = [['bold', id], ' ', ['cyan', name], '  ', statusPiece(status)]
  if (times.end !== undefined) words.push(['dim', `  ${durationText(times.end - times.start)}`])
  return words
}

function edgeLines(flow: DataFlow, edge: FlowEdge): readonly (readonly Piece[])[] {
  const { kind, from, pieces, more = 0 } = edge
  const head: Piece[] = [
    ['dim', SIGNS[kind]],
    ['bold', from],
    ' ',
    ['cyan', flow.node(from)?.name ?? ''],
  ]
  const lines = pieces.slice(0, PIECES_SHOWN_MAX).map((piece) => [...head, ...pieceWords(piece)])
  const hidden = more + Math.max(0, pieces.length - PIECES_SHOWN_MAX)
  if (hidden > 0) lines.push([...head, ['dim', `  ${countText(hidden, 'more value')}`]])
  return lines.length === 0 ? [head] : lines
}

/** Which value went where. */
export function pieceWords({ from, to, alike = 0 }: FlowPiece): readonly Piece[] {
  const words: Piece[] = ['  ', from, ['dim', ' -> '], to]
  if (alike > 0) words.push(['yellow', `  (${countText(alike, 'other step')} gave the same)`])
  return words
}

async function printJson(
  out: Output,
  found: {
    readonly run: string
    readonly flow: DataFlow
    readonly shown: readonly FlowNode[]
    readonly problems: readonly object[]
  },
): Promise<void> {
  const { run, flow, shown, problems } = found
  const head = { schema: 'daglog.dag/1', ok: problems.length === 0, run }
  out.jsonPart(`${JSON.stringify(head).slice(0, -1)},"nodes":[`)
  for (const [index, { input: _in, output: _out, error: _error, ...node }] of shown.entries()) {
    out.jsonPart(`${index === 0 ? '' : ','}${JSON.stringify(node)}`)
    await out.flowing()
  }
  out.jsonPart('],"edges":[')
  let first = true
  for (const { id } of shown) {
    for (const edge of flow.edgesTo(id)) {
      out.jsonPart(`${first ? '' : ','}${JSON.stringify(edge)}`)
      first = false
      await out.flowing()
    }
  }
  const rest = JSON.stringify({ steps: flow.nodes.length, odd: flow.odd, problems })
  out.jsonLine(`],${rest.slice(1)}`)
}
