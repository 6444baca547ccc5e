/**
 * The steps of a run as a drawing in two languages: Mermaid and DOT.
 * Ids and names may hold anything, so nodes have names of their own and texts are made plain.
 */
import type { DataFlow, EdgeKind, FlowEdge, FlowNode } from '../fold/data-flow.js'
import { printable } from '../value/preview.js'

export type DagFormat = 'mermaid' | 'dot'

const LABEL_LENGTH_MAX = 60

/** Lines of the drawing. Edges that only say that a history grew are left out. */
export function* dagText(flow: DataFlow, format: DagFormat): Generator<string, void> {
  const language = LANGUAGES[format]
  const names = new Map(flow.nodes.map(({ id }, at) => [id, `s${at}`]))
  yield language.begin
  for (const node of flow.nodes) yield language.node(names.get(node.id)!, node)
  for (const edge of flow.edges()) {
    if (edge.through !== undefined) continue
    yield language.edge(names.get(edge.from)!, names.get(edge.to)!, edge)
  }
  if (language.end !== '') yield language.end
}

interface Language {
  readonly begin: string
  readonly end: string
  node(name: string, node: FlowNode): string
  edge(from: string, to: string, edge: FlowEdge): string
}

const ARROWS: Readonly<Record<EdgeKind, string>> = {
  inferred: '-->',
  declared: '==>',
  nested: '-.->',
}

const STYLES: Readonly<Record<EdgeKind, string>> = {
  inferred: 'solid',
  declared: 'bold',
  nested: 'dotted',
}

const LANGUAGES: Readonly<Record<DagFormat, Language>> = {
  mermaid: {
    begin: 'flowchart TD\n  %% --> inferred, ==> declared, -.-> nested',
    end: '',
    node: (name, node) => `  ${name}["${mermaid(labelOf(node))}"]`,
    edge: (from, to, edge) => {
      const place = placeOf(edge)
      return `  ${from} ${ARROWS[edge.kind]}${place === '' ? '' : `|"${mermaid(place)}"|`} ${to}`
    },
  },
  dot: {
    begin:
      'digraph run {\n  // solid: inferred, bold: declared, dotted: nested\n  node [shape=box]',
    end: '}',
    node: (name, node) => `  ${name} [label="${dot(labelOf(node))}"]`,
    edge: (from, to, edge) => {
      const place = placeOf(edge)
      const label = place === '' ? '' : ` label="${dot(place)}"`
      return `  ${from} -> ${to} [style=${STYLES[edge.kind]}${label}]`
    },
  },
}

function labelOf({ id, name, status }: FlowNode): string {
  return printable(`${id} ${name}${status === 'ok' ? '' : ` (${status})`}`, LABEL_LENGTH_MAX)
}

/** Where the value went to; the first of several. */
function placeOf({ pieces }: FlowEdge): string {
  const [piece] = pieces
  return piece === undefined ? '' : printable(piece.to, LABEL_LENGTH_MAX)
}

/** Only letters, digits and what means nothing anywhere in Mermaid stay as they are. */
function mermaid(text: string): string {
  return text.replace(/[^\p{L}\p{N} _.,:/()-]/gu, (sign) => `#${sign.codePointAt(0)};`)
}

function dot(text: string): string {
  return text.replace(/[\\"]/g, (sign) => `\\${sign}`)
}
