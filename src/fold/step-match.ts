/**
 * Which steps of two runs stand for each other.
 * Goes by what steps are (parent, name, input), not by when they ran, and by digests only: no
 * payload is looked into. Ids, seqs, times and salts say nothing.
 */
import type { StepNode } from './step-graph.js'

/** What is kept of a payload: equal digests, equal payloads. The reverse need not hold. */
export interface Fingerprint {
  readonly digest: string
}

/** A step on each side that stand for each other, or a step that only one side has. */
export interface StepPair<P extends Fingerprint = Fingerprint> {
  readonly left?: StepNode<P>
  readonly right?: StepNode<P>
  /** The pair of the parents; undefined at the top. */
  readonly above?: StepPair<P>
  /**
   * Of a step that only one side has: how many steps are inside it. They have no pairs of their
   * own.
   */
  readonly inside: number
}

export interface StepMatch<P extends Fingerprint = Fingerprint> {
  readonly pairs: readonly StepPair<P>[]
  /**
   * Of each group whose steps start in another order: the first, in the left order, that starts
   * elsewhere.
   */
  readonly moved: readonly StepPair<P>[]
}

/**
 * Match the steps of two runs, each given in order of start. Under parents that stand for each
 * other, in this order: equal keys; equal name and input; equal name, between the same neighbours
 * before anywhere; equal input under another name, likewise. What is left is on one side only.
 */
export function matchSteps<P extends Fingerprint>(
  left: readonly StepNode<P>[],
  right: readonly StepNode<P>[],
): StepMatch<P> {
  const leftInside = childrenOf(left)
  const rightInside = childrenOf(right)
  const pairs: StepPair<P>[] = []
  const moved: StepPair<P>[] = []
  const work: (StepPair<P> | undefined)[] = [undefined]
  while (work.length > 0) {
    const above = work.pop()
    const group = new Group(
      leftInside.get(above?.left?.id) ?? [],
      rightInside.get(above?.right?.id) ?? [],
    )
    group.match()
    const beneath = above === undefined ? {} : { above }
    const both = group.matched().map((found) => ({ ...found, ...beneath, inside: 0 }))
    const first = firstMoved(both)
    if (first !== undefined) moved.push(first)
    for (const pair of both) {
      pairs.push(pair)
      work.push(pair)
    }
    for (const node of group.leftOnly())
      pairs.push({ left: node, ...beneath, inside: countInside(leftInside, node) })
    for (const node of group.rightOnly())
      pairs.push({ right: node, ...beneath, inside: countInside(rightInside, node) })
  }
  return { pairs, moved }
}

type Children<P> = ReadonlyMap<string | undefined, readonly StepNode<P>[]>

function childrenOf<P>(nodes: readonly StepNode<P>[]): Children<P> {
  const children = new Map<string | undefined, StepNode<P>[]>()
  for (const node of nodes) {
    const siblings = children.get(node.parent)
    if (siblings === undefined) children.set(node.parent, [node])
    else siblings.push(node)
  }
  return children
}

function countInside<P>(children: Children<P>, node: StepNode<P>): number {
  let count = 0
  const work = [node]
  for (let next = work.pop(); next !== undefined; next = work.pop()) {
    for (const child of children.get(next.id) ?? []) {
      count += 1
      work.push(child)
    }
  }
  return count
}

/**
 * The first pair, in the left order, that starts on the right before one that it follows on the
 * left.
 */
function firstMoved<P extends Fingerprint>(pairs: readonly StepPair<P>[]): StepPair<P> | undefined {
  let latest = -1
  for (const pair of pairs) {
    const at = pair.right!.seqs.start
    if (at < latest) return pair
    latest = at
  }
  return undefined
}

type Mark<P> = (node: StepNode<P>, slot: StepNode<P> | undefined) => string | undefined

/** Steps of both sides whose parents stand for each other. */
class Group<P extends Fingerprint> {
  readonly #left: readonly StepNode<P>[]
  readonly #right: readonly StepNode<P>[]
  readonly #partner = new Map<StepNode<P>, StepNode<P>>()
  readonly #taken = new Map<StepNode<P>, StepNode<P>>()

  constructor(left: readonly StepNode<P>[], right: readonly StepNode<P>[]) {
    this.#left = left
    this.#right = right
  }

  match(): void {
    this.#pass((node) => (node.key === '' ? undefined : node.key))
    this.#pass((node) => marks(node.name, inputOf(node)))
    this.#pass((node, slot) => marks(slot?.id ?? '', node.name))
    this.#pass((node) => node.name)
    this.#pass((node, slot) =>
      givesInput(node) ? marks(slot?.id ?? '', inputOf(node)) : undefined,
    )
    this.#pass((node) => (givesInput(node) ? inputOf(node) : undefined))
    // Without an input there is little to know a step by: only what it gave, in the same place.
    this.#pass((node, slot) =>
      givesInput(node) || node.output === undefined
        ? undefined
        : marks(slot?.id ?? '', node.output.digest),
    )
  }

  /**
   * Match, in order, what has equal marks. A slot is the left step of the pair that starts last
   * before.
   */
  #pass(mark: Mark<P>): void {
    if (this.#partner.size === this.#left.length || this.#taken.size === this.#right.length) return
    const waiting = new Map<string, StepNode<P>[]>()
    let slot: StepNode<P> | undefined
    const found: [StepNode<P>, StepNode<P>][] = []
    for (const node of this.#right) {
      const partner = this.#taken.get(node)
      if (partner !== undefined) {
        slot = partner
        continue
      }
      const key = mark(node, slot)
      if (key === undefined) continue
      const queue = waiting.get(key)
      if (queue === undefined) waiting.set(key, [node])
      else queue.push(node)
    }
    slot = undefined
    const next = new Map<string, number>()
    for (const node of this.#left) {
      if (this.#partner.has(node)) {
        slot = node
        continue
      }
      const key = mark(node, slot)
      if (key === undefined) continue
      const at = next.get(key) ?? 0
      const other = waiting.get(key)?.[at]
      if (other === undefined) continue
      next.set(key, at + 1)
      found.push([node, other])
    }
    for (const [node, other] of found) {
      this.#partner.set(node, other)
      this.#taken.set(other, node)
    }
  }

  /** In the left order. */
  matched(): { readonly left: StepNode<P>; readonly right: StepNode<P> }[] {
    return this.#left.flatMap((left) => {
      const right = this.#partner.get(left)
      return right === undefined ? [] : [{ left, right }]
    })
  }

  leftOnly(): StepNode<P>[] {
    return this.#left.filter((node) => !this.#partner.has(node))
  }

  rightOnly(): StepNode<P>[] {
    return this.#right.filter((node) => !this.#taken.has(node))
  }
}

function givesInput<P>(node: StepNode<P>): boolean {
  return node.input !== undefined
}

function inputOf<P extends Fingerprint>(node: StepNode<P>): string {
  return node.input?.digest ?? ''
}

/** Two texts as one that no other two give. */
function marks(first: string, second: string): string {
  return `${first.length} ${first}${second}`
}
