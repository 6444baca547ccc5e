/**
 * Which steps of a run use what earlier ones gave: declared (`deps`), nested (one inside the
 * other), or inferred, where a step's input holds a value that an earlier step gave. A fold over
 * step events.
 * Goes by whole values, hashed: a text that was put into a longer one is not found, a value that is
 * alike by chance (short, or the same from many) makes no edge.
 * @see docs/dag.md
 */
import type { RunEvent } from '../core/event.js'
import { pointerStep } from '../core/pointer.js'
import { SESSION_FLOW_TYPES, SessionFlow, type SessionUse } from './session-flow.js'
import { type OddEvent, type Payload, StepGraph, type StepNode } from './step-graph.js'
import { type KeyedValue, type KeyOptions, visitValues } from './value-keys.js'

export type EdgeKind = 'declared' | 'nested' | 'inferred'

/** A value that went from one step into another. */
export interface FlowPiece {
  /** What the one gave: `/output`, or a place in it; `/error/message`. */
  readonly from: string
  /** Where the other has it: `/input`, or a place in it. */
  readonly to: string
  /** Other earlier steps that gave the same; absent where there are none. */
  readonly alike?: number
}

export interface FlowEdge {
  readonly kind: EdgeKind
  /** Id of the step that gave, or is around the other. */
  readonly from: string
  readonly to: string
  /** Values that were found, also of a declared edge; the first `FLOW_PIECES_MAX`. */
  readonly pieces: readonly FlowPiece[]
  /** Pieces beyond those. */
  readonly more?: number
  /**
   * Id of a step of the same name that this one uses and that has used the same before: a history
   * that grows from call to call holds all of it again. Such an edge comes without its pieces.
   */
  readonly through?: string
}

/** Types of events that say which steps use which. */
export const FLOW_TYPES = ['step/start', 'step/end', ...SESSION_FLOW_TYPES] as const

/** Values listed of one edge. */
export const FLOW_PIECES_MAX = 8
/** Of steps that gave one and the same value, so many are remembered: the latest. */
const GIVERS_MAX = 32

/** A step without payloads. */
export type FlowNode = StepNode<true>

interface Giver {
  readonly at: number
  readonly from: string
}

interface Given {
  /** The latest, in order of their ends. */
  readonly givers: Giver[]
  total: number
  /**
   * Whether it was ever all that a step gave, or an object or a list: then being common is no
   * chance.
   */
  solid: boolean
}

interface Use {
  readonly pieces: FlowPiece[]
  more: number
}

/**
 * What one step uses: places of steps in the graph, and what of them was found; or, of what only
 * grew along, the place of the step that it came through.
 */
type Uses = ReadonlyMap<number, Use | number>

const NO_USES: Uses = new Map()

export class DataFlow {
  readonly #graph = StepGraph.of<true>(() => true)
  readonly #places = new Map<string, number>()
  readonly #uses: Uses[] = []
  readonly #given = new Map<string, Given>()
  /** Sizes of long texts that were given: no other one needs a hash. */
  readonly #textSizes = new Set<number>()
  /** Inputs of steps that have not ended. */
  readonly #inputs = new Map<string, Payload>()
  readonly #partly: OddEvent[] = []
  readonly #session = new SessionFlow()

  /** In order of start. */
  get nodes(): readonly FlowNode[] {
    return this.#graph.nodes
  }

  /** What does not fit, and payloads that were not looked at whole. */
  get odd(): readonly OddEvent[] {
    return [...this.#graph.odd, ...this.#partly]
  }

  node(id: string): FlowNode | undefined {
    return this.#graph.node(id)
  }

  /**
   * Take in the next event of the run, read whole or with refs: of what is out of line there, texts
   * and bytes are known by their hashes. `FLOW_TYPES` are enough.
   */
  apply(event: RunEvent): void {
    const node = this.#graph.apply(event)
    if (node === undefined) {
      const use = this.#session.message(event)
      if (use !== undefined) this.#use(use)
    } else if (event.type === 'step/start') {
      this.#begin(event, node)
      const { input } = event.data as { input?: unknown }
      for (const use of this.#session.begun(event.seq, this.#places.get(node.id)!, input))
        this.#use(use)
    } else {
      this.#end(event, node)
      this.#session.ended(event.seq, this.#places.get(node.id)!)
    }
  }

  /** What went through a session's messages; where the value itself was found, that says more. */
  #use({ giver, user, to }: SessionUse): void {
    const uses = this.#uses[user]!
    if (typeof uses.get(giver) === 'object') return
    const from = this.nodes[giver]!.status === 'ok' ? '/output' : '/error'
    this.#uses[user] = new Map(uses).set(giver, { pieces: [{ from, to }], more: 0 })
  }

  #begin(event: RunEvent, node: FlowNode): void {
    const at = this.#uses.length
    this.#places.set(node.id, at)
    const input = payloadOf(event, 'input')
    if (input === undefined) {
      this.#uses.push(NO_USES)
      return
    }
    this.#inputs.set(node.id, input)
    const found: { readonly given: Given; readonly to: string }[] = []
    const { hits, whole } = visitValues(
      input.value,
      ({ key, container, pointer }) => {
        const given = this.#given.get(key)
        if (given === undefined) return undefined
        // A word that several steps gave by themselves came from none of them.
        if (!given.solid && !container && given.total > 1) return undefined
        return { given, to: `/input${pointer()}` }
      },
      this.#options(input),
    )
    found.push(...hits)
    if (!whole) this.#note(event, 'input')
    this.#uses.push(found.length === 0 ? NO_USES : this.#withoutGrown(usesOf(found), node))
  }

  /**
   * Of a thousand calls with one history, each would list all before it: kept is which one it came
   * through.
   */
  #withoutGrown(uses: ReadonlyMap<number, Use>, node: FlowNode): Uses {
    const declared = new Set(node.deps.map((dep) => this.#places.get(dep)))
    const calls = [...uses.keys()].filter((at) => this.nodes[at]!.name === node.name)
    calls.sort((a, b) => b - a)
    if (calls.length === 0) return uses
    const kept = new Map<number, Use | number>()
    for (const [place, use] of uses) {
      const through = declared.has(place)
        ? undefined
        : calls.find((call) => call > place && this.#uses[call]!.has(place))
      kept.set(place, through ?? use)
    }
    return kept
  }

  #end(event: RunEvent, node: FlowNode): void {
    const input = this.#inputs.get(node.id)
    this.#inputs.delete(node.id)
    for (const member of ['output', 'error'] as const) {
      const payload = payloadOf(event, member)
      if (payload === undefined) continue
      const pieces: { readonly value: KeyedValue; readonly pointer: string }[] = []
      const { whole } = visitValues(
        payload.value,
        (value) => {
          const pointer = value.pointer()
          if (member !== 'error' || !STACK.test(pointer)) pieces.push({ value, pointer })
          return undefined
        },
        { refs: payload.refs, onText: (bytes) => this.#textSizes.add(bytes) },
      )
      if (!whole) this.#note(event, member)
      const passed = pieces.some(({ pointer }) => pointer !== '')
        ? this.#passedOn(input, new Set(pieces.map(({ value }) => value.key)))
        : NOTHING
      for (const { value, pointer } of pieces) {
        // What it was given and gives on is another's; all that it gave is its own, also so.
        if (pointer !== '' && passed.has(value.key)) continue
        this.#give(value, { at: this.#places.get(node.id)!, from: `/${member}${pointer}` })
      }
    }
  }

  /** Which of the keys its input holds. */
  #passedOn(input: Payload | undefined, keys: ReadonlySet<string>): ReadonlySet<string> {
    if (input === undefined) return NOTHING
    const passed = new Set<string>()
    visitValues(
      input.value,
      ({ key }) => {
        if (keys.has(key)) passed.add(key)
        return undefined
      },
      this.#options(input),
    )
    return passed
  }

  #give({ key, container }: KeyedValue, giver: Giver): void {
    const given = this.#given.get(key)
    const solid = container || giver.from === '/output'
    if (given === undefined) {
      this.#given.set(key, { givers: [giver], total: 1, solid })
      return
    }
    given.solid ||= solid
    const last = given.givers.at(-1)
    // Twice in what one step gave: the first place will do.
    if (last?.at === giver.at) return
    given.givers.push(giver)
    given.total += 1
    if (given.givers.length > GIVERS_MAX) given.givers.shift()
  }

  #options({ refs }: Payload): KeyOptions {
    return { refs, knows: (bytes) => this.#textSizes.has(bytes) }
  }

  #note({ seq, type }: RunEvent, member: string): void {
    this.#partly.push({ seq, type, why: `${member} was looked at in part` })
  }

  /**
   * Edges to each step, in order of start; those to one step in the order of the steps they are
   * from.
   */
  *edges(): Generator<FlowEdge, void> {
    for (const node of this.nodes) yield* this.edgesTo(node.id)
  }

  /** Edges to one step. */
  edgesTo(id: string): readonly FlowEdge[] {
    const at = this.#places.get(id)
    if (at === undefined) return []
    const node = this.nodes[at]!
    const uses = this.#uses[at]!
    const declared = new Set(node.deps.map((dep) => this.#places.get(dep)!))
    const places = [...new Set([...declared, ...uses.keys()])].sort((a, b) => a - b)
    const edges: FlowEdge[] = node.parent === undefined ? [] : [nested(node.parent, id)]
    for (const place of places) {
      const use = uses.get(place)
      const found = typeof use === 'object' ? use : undefined
      edges.push({
        kind: declared.has(place) ? 'declared' : 'inferred',
        from: this.nodes[place]!.id,
        to: id,
        pieces: found?.pieces ?? [],
        ...(found !== undefined && found.more > 0 && { more: found.more }),
        ...(typeof use === 'number' && { through: this.nodes[use]!.id }),
      })
    }
    return edges
  }
}

const NOTHING: ReadonlySet<string> = new Set()
const STACK = /(?:^|\/)stack(?:\/|$)/

function nested(from: string, to: string): FlowEdge {
  return { kind: 'nested', from, to, pieces: [] }
}

/** Each place of a value gets a giver of its own, the latest first, as far as there are so many. */
function usesOf(
  found: readonly { readonly given: Given; readonly to: string }[],
): ReadonlyMap<number, Use> {
  const uses = new Map<number, Use>()
  const taken = new Map<Given, number>()
  for (const { given, to } of found) {
    const before = taken.get(given) ?? 0
    taken.set(given, before + 1)
    const { givers, total } = given
    const giver = givers[Math.max(0, givers.length - 1 - before)]!
    const use = uses.get(giver.at) ?? { pieces: [], more: 0 }
    uses.set(giver.at, use)
    if (use.pieces.length >= FLOW_PIECES_MAX) use.more += 1
    else use.pieces.push({ from: giver.from, to, ...(total > 1 && { alike: total - 1 }) })
  }
  return uses
}

function payloadOf(event: RunEvent, member: 'input' | 'output' | 'error'): Payload | undefined {
  const value = (event.data as Readonly<Record<string, unknown>>)[member]
  if (value === undefined) return undefined
  const place = pointerStep(member)
  const refs = (event.refs ?? [])
    .filter(({ pointer }) => pointer === place || pointer.startsWith(`${place}/`))
    .map((ref) => ({ ...ref, pointer: ref.pointer.slice(place.length) }))
  return { value, refs }
}
