/**
 * Where a bad run parts from a good one, and how that came to what went wrong in it: from the
 * earliest step that differs through data edges to the step asked about.
 * Each link is evidence that was found, or is called `before` where only the order speaks for it.
 */
import { DaglogError } from '../core/errors.js'
import type { DataFlow, FlowNode, FlowPiece } from '../fold/data-flow.js'
import { type Difference, type DifferenceKind, diffRuns, type RunDiff } from './diff.js'
import { flowOf } from './run-flow.js'
import type { OutlinedView } from './run-outline.js'

/** Differences looked into; those beyond are counted, and explain nothing. */
export const BISECT_DIFFERENCES_MAX = 10_000

/**
 * How one step of a chain led to the next: a value of it is in the next one's input (`declared`,
 * `inferred`), the next one runs inside it and was given its input (`nested`), the next one is
 * around it (`outcome`), or it is merely the last that differs before (`before`).
 */
export type CauseKind = 'declared' | 'inferred' | 'nested' | 'outcome' | 'before'

export interface CauseLink {
  /** Of the step in the bad run. */
  readonly id: string
  readonly path: string
  readonly seqs: FlowNode['seqs']
  /** What differs of it; a step that only the bad run has is `extra`. */
  readonly kinds: readonly DifferenceKind[]
  /** How the link before led here; absent in the first. */
  readonly by?: CauseKind
  /** The values that went from there to here. */
  readonly pieces?: readonly FlowPiece[]
}

export interface Bisection {
  /** Where they part: the earliest difference that counts; absent where there is none. */
  readonly first?: Difference
  /**
   * From the earliest step that differs to `target`, in the bad run; empty where it has no such
   * step.
   */
  readonly chain: readonly CauseLink[]
  /** Why the chain ends where it does. */
  readonly target?: 'asked' | 'failed' | 'last'
  readonly diff: RunDiff
  /** What of the bad run could not be read. */
  readonly problems: readonly { readonly seq: number; readonly message: string }[]
}

export interface BisectOptions {
  readonly good: OutlinedView
  readonly bad: OutlinedView
  /**
   * Id of a step of the bad run; unless told, the first that failed there and not in the good run,
   * else the last that differs.
   */
  readonly step?: string
}

/** @throws USAGE where the step asked about is not in the bad run, or does not differ */
export async function bisectRuns({ good, bad, step }: BisectOptions): Promise<Bisection> {
  const diff = await diffRuns({ left: good, right: bad, limit: BISECT_DIFFERENCES_MAX })
  const { flow, problems } = await flowOf(bad)
  const causes = new Causes(flow, diff)
  const target = step === undefined ? causes.target() : causes.asked(step, bad.id)
  return {
    ...(diff.first === undefined ? {} : { first: diff.first }),
    chain: target === undefined ? [] : causes.chainTo(target.node),
    ...(target === undefined ? {} : { target: target.why }),
    diff,
    problems,
  }
}

interface Target {
  readonly node: FlowNode
  readonly why: 'asked' | 'failed' | 'last'
}

interface Cause {
  readonly node: FlowNode
  readonly by: CauseKind
  readonly pieces?: readonly FlowPiece[]
}

const ENDINGS: ReadonlySet<DifferenceKind> = new Set(['output', 'status', 'error', 'extra'])

class Causes {
  readonly #flow: DataFlow
  /** What differs of each step of the bad run. */
  readonly #differences = new Map<string, Difference[]>()
  readonly #children = new Map<string, FlowNode[]>()
  /**
   * The step with a difference of its own that ended last before each step of the same parent
   * began.
   */
  readonly #before = new Map<string, FlowNode>()

  constructor(flow: DataFlow, { differences }: RunDiff) {
    this.#flow = flow
    for (const difference of differences) {
      const id = difference.right?.id
      if (id === undefined || difference.soft === true) continue
      const known = this.#differences.get(id)
      if (known === undefined) this.#differences.set(id, [difference])
      else known.push(difference)
    }
    for (const node of flow.nodes) {
      if (node.parent === undefined) continue
      // What is inside a step that only the bad run has is only there, too.
      const above = this.#differences.get(node.parent)
      const extra = above?.find(({ kind }) => kind === 'extra')
      if (extra !== undefined && !this.#differences.has(node.id))
        this.#differences.set(node.id, [extra])
      const siblings = this.#children.get(node.parent)
      if (siblings === undefined) this.#children.set(node.parent, [node])
      else siblings.push(node)
    }
    this.#lineUp()
  }

  #lineUp(): void {
    const latest = new Map<string, FlowNode>()
    for (const node of this.#flow.nodes) {
      const place = node.parent ?? ''
      const last = latest.get(place)
      if (last !== undefined && (last.seqs.end ?? Number.MAX_SAFE_INTEGER) < node.seqs.start)
        this.#before.set(node.id, last)
      if (this.#ends(node)) latest.set(place, node)
    }
  }

  kinds({ id }: FlowNode): readonly DifferenceKind[] {
    return [...new Set((this.#differences.get(id) ?? []).map(({ kind }) => kind))]
  }

  /** Whether what came of a step differs. */
  #ends(node: FlowNode): boolean {
    return this.kinds(node).some((kind) => ENDINGS.has(kind))
  }

  target(): Target | undefined {
    const changed = this.#flow.nodes.filter(({ id }) => this.#differences.has(id))
    const failed = changed
      .filter((node) => node.status !== 'ok' && this.kinds(node).some((kind) => FAILING.has(kind)))
      .sort((a, b) => endOf(a) - endOf(b))
    if (failed[0] !== undefined) return { node: failed[0], why: 'failed' }
    // What differs in its input only shows that as it begins.
    const at = (node: FlowNode): number => (this.#ends(node) ? endOf(node) : node.seqs.start)
    const last = changed.sort((a, b) => at(a) - at(b)).at(-1)
    return last === undefined ? undefined : { node: last, why: 'last' }
  }

  asked(id: string, run: string): Target {
    const node = this.#flow.node(id)
    const trouble = node === undefined ? 'has no step' : 'is the same as in the good run at step'
    if (node === undefined || !this.#differences.has(id)) {
      throw new DaglogError(
        'USAGE',
        `run ${run} ${trouble} ${JSON.stringify(id)}; try: daglog show ${run} --dag`,
        { run, step: id },
      )
    }
    return { node, why: 'asked' }
  }

  /** The shortest way to `target` from the earliest step that leads there. */
  chainTo(target: FlowNode): readonly CauseLink[] {
    const next = new Map<string, { readonly link: Cause; readonly to: FlowNode }>()
    const seen = new Set([target.id])
    const queue = [target]
    let earliest: FlowNode | undefined
    for (let at = 0; at < queue.length; at++) {
      const node = queue[at]!
      const causes = this.#causesOf(node)
      if (causes.length === 0 && node.seqs.start < (earliest ?? AFTER_ALL).seqs.start)
        earliest = node
      for (const link of causes) {
        if (seen.has(link.node.id)) continue
        seen.add(link.node.id)
        next.set(link.node.id, { link, to: node })
        queue.push(link.node)
      }
    }
    // Causes end before what they cause begins or are inside it, so there is always one without
    // any.
    const root = earliest ?? target
    const chain = [this.#linkOf(root)]
    for (let step = next.get(root.id); step !== undefined; step = next.get(step.to.id))
      chain.push(this.#linkOf(step.to, step.link))
    return chain
  }

  #linkOf(node: FlowNode, cause?: Cause): CauseLink {
    const { id, path, seqs } = node
    return {
      id,
      path,
      seqs,
      kinds: this.kinds(node),
      ...(cause === undefined ? {} : { by: cause.by }),
      ...(cause?.pieces === undefined ? {} : { pieces: cause.pieces }),
    }
  }

  /** What made a step differ; nothing where it differs by itself. */
  #causesOf(node: FlowNode): readonly Cause[] {
    const kinds = new Set(this.kinds(node))
    if (kinds.has('input') || kinds.has('extra')) {
      const given = this.#given(node)
      if (given.length > 0) return given
      const above = node.parent === undefined ? undefined : this.#flow.node(node.parent)
      const inner: Cause[] =
        above !== undefined &&
        this.kinds(above).some((kind) => kind === 'input' || kind === 'extra')
          ? [{ node: above, by: 'nested' }]
          : []
      const before = this.#before.get(node.id)
      return inner.length > 0 || before === undefined ? inner : [{ node: before, by: 'before' }]
    }
    // It was given the same: so it is what happened inside, or itself.
    const inside = (this.#children.get(node.id) ?? []).filter((child) => this.#ends(child))
    return inside.map((child) => ({ node: child, by: 'outcome' as const }))
  }

  /**
   * Steps whose outcome differs and whose values it was given; those first that stand where it
   * differs.
   */
  #given(node: FlowNode): readonly Cause[] {
    const places = (this.#differences.get(node.id) ?? [])
      .filter(({ kind }) => kind === 'input')
      .flatMap(({ changes }) => changes.map(({ pointer }) => `/input${pointer}`))
    const causes: Cause[] = []
    const inPlace: Cause[] = []
    for (const { kind, from, pieces } of this.#flow.edgesTo(node.id)) {
      const giver = this.#flow.node(from)
      if (kind === 'nested' || giver === undefined || !this.#ends(giver)) continue
      const fitting = pieces.filter(({ to }) => places.some((place) => overlap(place, to)))
      if (fitting.length > 0) inPlace.push({ node: giver, by: kind, pieces: fitting })
      else causes.push({ node: giver, by: kind, pieces })
    }
    return inPlace.length > 0 ? inPlace : causes
  }
}

const AFTER_ALL = { seqs: { start: Number.POSITIVE_INFINITY } }
const FAILING: ReadonlySet<DifferenceKind> = new Set(['status', 'error', 'extra'])

function endOf({ seqs }: FlowNode): number {
  return seqs.end ?? Number.MAX_SAFE_INTEGER
}

/** Whether one place is the other or inside it. */
function overlap(left: string, right: string): boolean {
  const [short, long] = left.length < right.length ? [left, right] : [right, left]
  return long === short || long.startsWith(`${short}/`)
}
