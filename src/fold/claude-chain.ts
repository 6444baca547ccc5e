/**
 * The conversation as Claude Code itself walks it: from the newest message up through its parents.
 * People read a transcript in the order of its lines; this says which of them the vendor's own
 * resume would show, where its chain breaks, and where a person went back and took another way.
 * @see docs/import.md#claude-code
 */
import type { RunEvent } from '../core/event.js'
import type { SourceRecord } from '../core/event-map.js'
import { type Address, addressOf } from './address.js'
import { appendTo, EMPTY_LIST, type GrowingList, toArray } from './growing-list.js'
import type { Projection } from './projection.js'

/** A record of the tree. */
interface Node {
  readonly id: string
  readonly parent: string | null
  readonly at: Address
  /** `said`: a message of a person or of the model; `result`: of a tool; all else is `other`. */
  readonly kind: 'said' | 'result' | 'other'
  /** Of the model: its message, which comes in several records. */
  readonly message?: string
}

export interface ClaudeChain {
  /** The newest message: where a resume goes on. */
  readonly leaf?: Address
  /** What a resume shows, oldest first. */
  readonly chain: readonly Address[]
  /** Records whose parent was never written. The chain ends there without a word. */
  readonly dangling: readonly Address[]
  /** Records behind which more than one way was taken, and the first record of each. */
  readonly forks: readonly { readonly at: Address; readonly branches: readonly Address[] }[]
}

export const claudeChain: Projection<GrowingList<Node>, ClaudeChain> = {
  key: 'claude-chain',
  version: 1,
  types: ['user/message', 'assistant/message', 'tool/result', 'compaction', 'session/record'],
  init: () => EMPTY_LIST,
  apply(list, event) {
    const node = nodeOf(event)
    return node === undefined ? list : appendTo(list, node)
  },
  view: (list) => chainOf(toArray(list)),
}

function nodeOf(event: RunEvent): Node | undefined {
  const data = event.data as { source?: SourceRecord; id?: unknown } | null | undefined
  const { id, parent } = data?.source ?? {}
  if (typeof id !== 'string') return undefined
  const { type } = event
  const isSaid = type === 'user/message' || type === 'assistant/message' || type === 'compaction'
  const kind = isSaid ? 'said' : type === 'tool/result' ? 'result' : 'other'
  const message =
    type === 'assistant/message' && typeof data?.id === 'string' ? { message: data.id } : {}
  return { id, parent: parent ?? null, at: addressOf(event), kind, ...message }
}

function chainOf(list: readonly Node[]): ClaudeChain {
  // One record may be derived as several events, and be written again: the last one counts.
  const nodes = new Map<string, Node>()
  for (const node of list) {
    const known = nodes.get(node.id)
    if (known === undefined || known.at === node.at) {
      if (known?.kind !== 'said') nodes.set(node.id, node)
    } else {
      nodes.delete(node.id)
      nodes.set(node.id, node)
    }
  }
  const ordered = [...nodes.values()]
  const leaf = ordered.findLast(({ kind }) => kind !== 'other')
  const walked = walk(nodes, leaf)
  const chain = withSiblings(ordered, walked)
  const dangling = ordered.filter(({ parent }) => parent !== null && !nodes.has(parent))
  return {
    ...(leaf === undefined ? {} : { leaf: leaf.at }),
    chain: chain.map(({ at }) => at),
    dangling: dangling.map(({ at }) => at),
    forks: forksOf(ordered, nodes),
  }
}

/** From the leaf up, oldest first; records that lead in a circle end it. */
function walk(nodes: ReadonlyMap<string, Node>, leaf: Node | undefined): Node[] {
  const walked = new Map<string, Node>()
  for (let node = leaf; node !== undefined && !walked.has(node.id); ) {
    walked.set(node.id, node)
    node = node.parent === null ? undefined : nodes.get(node.parent)
  }
  return [...walked.values()].reverse()
}

/**
 * Calls that ran at once hang side by side: all records of a message, and their results, are shown.
 */
function withSiblings(ordered: readonly Node[], walked: readonly Node[]): Node[] {
  const messages = new Set(walked.flatMap(({ message }) => message ?? []))
  const shown = new Set(walked)
  const ids = new Set<string>()
  for (const node of ordered) {
    if (node.message === undefined || !messages.has(node.message)) continue
    shown.add(node)
    ids.add(node.id)
  }
  for (const node of ordered)
    if (node.kind === 'result' && node.parent !== null && ids.has(node.parent)) shown.add(node)
  return ordered.filter((node) => shown.has(node) && node.kind !== 'other')
}

/**
 * Ways that both lead to something said: hooks, progress and parallel results branch off and say
 * nothing.
 */
function forksOf(ordered: readonly Node[], nodes: ReadonlyMap<string, Node>): ClaudeChain['forks'] {
  const leads = new Set<string>()
  for (const { kind, id } of ordered) {
    if (kind !== 'said') continue
    for (let node = nodes.get(id); node !== undefined && !leads.has(node.id); ) {
      leads.add(node.id)
      node = node.parent === null ? undefined : nodes.get(node.parent)
    }
  }
  const ways = new Map<string, Node[]>()
  for (const node of ordered) {
    if (node.parent === null || !leads.has(node.id) || !nodes.has(node.parent)) continue
    ways.set(node.parent, [...(ways.get(node.parent) ?? []), node])
  }
  return [...ways]
    .filter(([, branches]) => branches.length > 1 && !isOneMessage(branches))
    .map(([id, branches]) => ({
      at: (nodes.get(id) as Node).at,
      branches: branches.map(({ at }) => at),
    }))
}

function isOneMessage(branches: readonly Node[]): boolean {
  const [{ message } = { message: undefined }] = branches
  return message !== undefined && branches.every((branch) => branch.message === message)
}
