/**
 * `globals: true`: the clock and the random numbers of JavaScript itself are those of the run, for the
 * function and all that it begins; whoever else is in the process has his own.
 * Replaced while at least one such function runs, put back exactly afterwards.
 * @see docs/again.md
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import type { Run } from '../store/run.js'
import { Patches } from './patches.js'

const inside = new AsyncLocalStorage<Run | undefined>()
let running = 0
let patches: Patches | undefined

/** Do `work`, its clock and its random numbers recorded in `run`. */
export async function withGlobals<R>(run: Run, work: () => Promise<R>): Promise<R> {
  running += 1
  patches ??= install()
  try {
    return await inside.run(run, work)
  } finally {
    running -= 1
    if (running === 0) {
      patches.remove()
      patches = undefined
      syncBuiltinESMExports()
    }
  }
}

/** What a draw makes of the run that it is in; outside of all, of what was there before. */
function drawn<T>(own: () => T, ofRun: (run: Run) => T): T {
  const run = inside.getStore()
  // What the run itself asks meanwhile is no draw of the function's.
  return run === undefined ? own() : inside.run(undefined, () => ofRun(run))
}

function install(): Patches {
  const made = new Patches()
  made.replace(globalThis, 'Date', recordedDate(Date))
  made.wrap(Math, 'random', (random) => () => drawn(random, (run) => run.random()))
  for (const place of [crypto, Object.getPrototypeOf(globalThis.crypto) as object]) {
    made.wrap(place, 'randomUUID', (own) => {
      return function randomUUID(this: unknown, ...args: unknown[]): string {
        return drawn(
          () => Reflect.apply(own, this, args),
          (run) => run.uuid(),
        )
      }
    })
    made.wrap(place, 'getRandomValues', (own) => {
      return function getRandomValues(this: unknown, array: ArrayBufferView): ArrayBufferView {
        return drawn(
          () => Reflect.apply(own, this, [array]),
          (run) => {
            const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength)
            const fill = (): Uint8Array => {
              Reflect.apply(own, this, [array])
              return bytes.slice()
            }
            bytes.set(run.ticks.tick(`random-values/${bytes.length}`, fill))
            return array
          },
        )
      }
    })
  }
  syncBuiltinESMExports()
  return made
}

/** A `Date` that is one in every other way: only the time now is the run's. */
function recordedDate(own: DateConstructor): DateConstructor {
  const now = (): number => drawn(own.now, (run) => run.now())
  return new Proxy(own, {
    apply: () => new own(now()).toString(),
    construct: (target, args, made) =>
      Reflect.construct(target, args.length === 0 ? [now()] : args, made) as object,
    get: (target, name, self) => (name === 'now' ? now : Reflect.get(target, name, self)),
  })
}
