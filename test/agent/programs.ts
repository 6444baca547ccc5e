/**
 * Random programs over steps: nested sequences, all, race, any, allSettled, retries, steps in
 * steps, errors, cancellations; and how they are run with latencies that a seed decides.
 */
import type { Run, Step } from '../../src/index.js'

export type Node =
  | { readonly k: 'step'; readonly name: string; readonly fails: boolean; readonly own?: string }
  | { readonly k: 'inside'; readonly name: string; readonly body: Node }
  | { readonly k: 'retry'; readonly name: string; readonly failures: number }
  | { readonly k: 'seq' | 'all' | 'race' | 'any' | 'settled'; readonly of: readonly Node[] }

/** Numbers of a seed, from 0 to below 1. */
export function drawer(seed: number): () => number {
  let state = (seed * 2_654_435_761) >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let x = state
    x = Math.imul(x ^ (x >>> 15), x | 1)
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61)
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32
  }
}

export function randomProgram(draw: () => number, depth = 2 + Math.floor(draw() * 3)): Node {
  const some = (): Node[] =>
    Array.from({ length: 2 + Math.floor(draw() * 2) }, () => randomProgram(draw, depth - 1))
  const name = `t${Math.floor(draw() * 4)}`
  const which = draw()
  if (depth <= 0 || which < 0.3) return { k: 'step', name, fails: draw() < 0.15 }
  if (which < 0.38) return { k: 'retry', name, failures: Math.floor(draw() * 3) }
  if (which < 0.5) return { k: 'inside', name, body: randomProgram(draw, depth - 1) }
  if (which < 0.62) return { k: 'seq', of: some() }
  if (which < 0.74) return { k: 'all', of: some() }
  if (which < 0.86) return { k: 'race', of: some() }
  if (which < 0.93) return { k: 'any', of: some() }
  return { k: 'settled', of: some() }
}

/** Whether the result may depend on who is first. */
export function hasRace(node: Node): boolean {
  if (node.k === 'race' || node.k === 'any') return true
  if (node.k === 'inside') return hasRace(node.body)
  return 'of' in node && node.of.some(hasRace)
}

export interface World {
  /** Wait as long as the seed of latencies says. */
  readonly wait: () => Promise<void>
  /** Keys of steps whose bodies ran. */
  readonly ran: string[]
}

/** Waits for a random number of turns of the event loop: no clock is asked. */
export function worldOf(draw: () => number): World {
  const wait = async (): Promise<void> => {
    const turns = Math.floor(draw() * 12)
    for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve))
  }
  return { wait, ran: [] }
}

/** The function that runs a program. */
export function agentOf(program: Node, world: World): (run: Run, input: string) => Promise<string> {
  return (run, input) => exec(program, run, input, world)
}

type Scope = Pick<Run | Step, 'step'>

async function exec(node: Node, scope: Scope, carry: string, world: World): Promise<string> {
  switch (node.k) {
    case 'step':
      return caught(() => leaf(node.name, scope, carry, node.fails, world))
    case 'retry':
      return retried(node, scope, carry, world)
    case 'inside':
      return caught(() =>
        scope.step(node.name, { carry }, async (s) => {
          world.ran.push(s.key)
          return `<${await exec(node.body, s, carry, world)}>`
        }),
      )
    case 'seq': {
      let now = carry
      for (const one of node.of) now = await exec(one, scope, now, world)
      return now
    }
    default:
      return together(node.k, node.of, scope, carry, world)
  }
}

async function together(
  how: 'all' | 'race' | 'any' | 'settled',
  of: readonly Node[],
  scope: Scope,
  carry: string,
  world: World,
): Promise<string> {
  const parts = of.map((one, i) => exec(one, scope, short(`${carry}|${i}`), world))
  if (how === 'all') return short((await Promise.all(parts)).join('+'))
  if (how === 'settled') {
    const settled = await Promise.allSettled(parts)
    return short(settled.map((one) => JSON.stringify(one)).join('&'))
  }
  const won = await caught(() =>
    how === 'any' ? Promise.any(parts.map(failing)) : Promise.race(parts),
  )
  // What follows depends on who won, so a wrong winner shows.
  return caught(() => leaf('after', scope, `won:${won}`, false, world))
}

async function retried(
  { name, failures }: Extract<Node, { k: 'retry' }>,
  scope: Scope,
  carry: string,
  world: World,
): Promise<string> {
  for (let attempt = 0; ; attempt++) {
    const text = await caught(() => leaf(name, scope, carry, attempt < failures, world))
    if (!text.startsWith('err') || attempt >= failures) return text
  }
}

function leaf(
  name: string,
  scope: Scope,
  carry: string,
  fails: boolean,
  world: World,
): Promise<string> {
  return scope.step(name, { carry }, async (s) => {
    world.ran.push(s.key)
    await world.wait()
    if (fails) throw new RangeError(`boom ${name}`)
    return short(`${name}:${carry}`)
  })
}

async function caught(work: () => Promise<string>): Promise<string> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof AggregateError) return `err:all ${error.errors.length}`
    return `err:${(error as Error).constructor.name}:${(error as Error).message}`
  }
}

/** Texts stay short, and different ones stay different. */
function short(text: string): string {
  if (text.length <= 24) return text
  let hash = 7
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) >>> 0
  return `${text.slice(0, 8)}~${hash.toString(36)}`
}

/** What came of a branch as a promise that fails where it did. */
async function failing(part: Promise<string>): Promise<string> {
  const text = await part
  if (text.startsWith('err')) throw new TypeError(text)
  return text
}
