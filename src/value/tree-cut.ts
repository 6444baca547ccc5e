/**
 * Where lists are cut into nodes: a function of the items alone, so that equal lists are cut alike.
 * @see docs/format.md#trees
 */

/** Fewest and most items of a node; the last node of a level may have fewer. */
export const TREE_CUT_ITEMS_MIN = 4
export const TREE_CUT_ITEMS_MAX = 64

/** Before this many items a cut is rare, from there on likely: most nodes have about as many. */
const USUAL_ITEMS = 12
const RARE_BITS = 6
const LIKELY_BITS = 3
/** By how much an item moves with each one after it: after eight it is out of the 32 bits. */
const ROLL_BITS = 4

/**
 * Takes the items of one level in order: elements for leaves (level 0), nodes above. A cut lies
 * after an item whose hash starts with six zero bits, or with three from the twelfth item on. On
 * level 0 the hash is rolled over up to eight items of the same node, so that a list of few
 * different elements is cut as well; above, items differ wherever elements do, and looking at one
 * only keeps an edit from moving more cuts. A run of one and the same element is cut at the most
 * items.
 */
export class Cutter {
  #roll = 0
  #count = 0

  constructor(readonly level: number) {}

  /** Takes an item as it is encoded in its node. Returns whether the node ends with it. */
  take(bytes: Uint8Array, fromByte: number, endByte: number): boolean {
    const hash = mix(bytes, fromByte, endByte)
    this.#roll = this.level === 0 ? ((this.#roll << ROLL_BITS) + hash) | 0 : hash
    this.#count += 1
    const bits = this.#count < USUAL_ITEMS ? RARE_BITS : LIKELY_BITS
    const isFound = this.#roll >>> (32 - bits) === 0 && this.#count >= TREE_CUT_ITEMS_MIN
    if (!isFound && this.#count < TREE_CUT_ITEMS_MAX) return false
    this.#roll = 0
    this.#count = 0
    return true
  }
}

/** FNV-1a, finished so that the upper bits depend on all of the input. */
function mix(bytes: Uint8Array, fromByte: number, endByte: number): number {
  let hash = 0x811c9dc5
  for (let i = fromByte; i < endByte; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return hash ^ (hash >>> 16)
}
