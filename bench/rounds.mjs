/**
 * Rounds of what is measured, taking turns with the limit it is held against: A B B A A B ..., so that
 * whatever else the machine does hits both.
 * Knows time and statistics only; not what is measured.
 */

/**
 * @typedef {() => Promise<number> | number} Side One turn; resolves to its rate or time, whichever the caller compares.
 */

/**
 * Run all sides `rounds` times, in turns, after `warmUps` turns of each that are not counted: Node compiles
 * what runs often, and what runs once in a while is measured as if it never did.
 * @template {Record<string, Side>} S
 * @param {number} rounds At least 7 for a median that is worth printing.
 * @param {S} sides
 * @param {number} [warmUps]
 * @returns {Promise<{[K in keyof S]: number[]}>} What each side gave, by round.
 */
export async function takeTurns(rounds, sides, warmUps = 1) {
  const names = Object.keys(sides)
  const found = Object.fromEntries(names.map((name) => [name, []]))
  for (let round = -warmUps; round < rounds; round += 1) {
    // Every second round backwards: the first of a round would else always meet a colder cache.
    const order = round % 2 === 0 ? names : names.toReversed()
    for (const name of order) {
      const turn = await sides[name]()
      if (round >= 0) found[name].push(turn)
    }
  }
  return found
}

/** @param {readonly number[]} values */
export function median(values) {
  return quantile(values, 0.5)
}

/** @param {readonly number[]} values */
export function p99(values) {
  return quantile(values, 0.99)
}

/**
 * @param {readonly number[]} values
 * @param {number} share
 */
function quantile(values, share) {
  const sorted = Float64Array.from(values).sort()
  const at = (sorted.length - 1) * share
  const low = sorted[Math.floor(at)]
  return low + (sorted[Math.ceil(at)] - low) * (at - Math.floor(at))
}

/**
 * How near `ours` comes to `limit`: the median of the quotients of each round, since what disturbs a
 * round disturbs both of its sides.
 * @param {readonly number[]} ours
 * @param {readonly number[]} limit
 */
export function ratio(ours, limit) {
  return median(ours.map((value, round) => value / limit[round]))
}

/**
 * Units per second of `count` units.
 * @param {number} count
 * @param {() => unknown} work
 */
export async function rate(count, work) {
  const began = performance.now()
  await work()
  return (count * 1000) / (performance.now() - began)
}
