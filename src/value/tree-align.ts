/**
 * Which runs of elements differ between two lists. Walks their nodes side by side from the top and
 * goes into those only that the other list does not have; both lists must be sealed.
 */
import { bodySize, type ListBody, type ListChild, openBody, type Slot } from './tree-node.js'
import { childBytes, slotBytes } from './tree-seal.js'
import { levelOf } from './tree-list.js'

/** Elements of the left list that became those of the right; the ones before are dealt with. */
export interface ListChange {
  readonly leftStart: number
  readonly left: readonly Slot[]
  readonly rightStart: number
  readonly right: readonly Slot[]
}
