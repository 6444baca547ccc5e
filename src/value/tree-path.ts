/**
 * Reading and changing one place of a tree. A change copies the nodes on the way to it.
 */
import { DaglogError } from '../core/errors.js'
import { slotOf } from './tree-convert.js'
import { bodyGet, bodySet, bodySplice } from './tree-list.js'
import {
  ABSENT,
  bodySize,
  type ContainerNode,
  containerIn,
  KIND,
  ListNode,
  type Slot,
} from './tree-node.js'
import { objectDelete, objectGet, objectSet } from './tree-object.js'
import { indexOfStep, pointerOf, type TreePath } from './tree-pointer.js'

type Step = string | number

/** What lies at `path`. */
export function findAt(root: Slot, path: TreePath): Slot | typeof ABSENT {
  let slot = root
  for (const step of path) {
    const node = containerIn(slot)
    const child = node === undefined ? ABSENT : childAt(node, step)
    if (child === ABSENT) return ABSENT
    slot = child
  }
  return slot
}

/** The root with what `change` makes of the container at `path`. Throws POINTER_NOT_FOUND. */
export function changedAt(
  root: Slot,
  path: TreePath,
  change: (node: ContainerNode, pointer: string) => ContainerNode,
): Slot {
  const above: ContainerNode[] = []
  let node = containerIn(root)
  for (const [i, step] of path.entries()) {
    if (node === undefined) throw notFound(path.slice(0, i), 'is not a container')
    const child = childAt(node, step)
    if (child === ABSENT) throw notFound(path.slice(0, i + 1), 'is not there')
    above.push(node)
    node = containerIn(child)
  }
  if (node === undefined) throw notFound(path, 'is not a container')
  let next = change(node, pointerOf(path))
  if (next === node) return root
  for (let i = above.length - 1; i >= 0; i--) next = withChild(above[i]!, path[i]!, next)
  return next
}

/** The root with `value` at `path`. Throws POINTER_NOT_FOUND and VALUE_UNSUPPORTED. */
export function replacedAt(root: Slot, path: TreePath, value: unknown): Slot {
  const pointer = () => pointerOf(path)
  const step = path.at(-1)
  if (step === undefined) return slotOf(value, { pointer, prior: root })
  return changedAt(root, path.slice(0, -1), (node) => {
    const prior = childAt(node, step)
    const slot = slotOf(value, { pointer, prior })
    if (prior !== ABSENT || node.kind !== KIND.list) return withChild(node, step, slot)
    const { body } = node
    if (indexOfStep(step) === bodySize(body)) {
      return new ListNode(bodySplice(body, bodySize(body), 0, [slot]))
    }
    throw notFound(path, `is not in the list, which has ${bodySize(body)} elements`)
  })
}

/** The root without what is at `path`; the same where nothing is. Throws POINTER_NOT_FOUND. */
export function removedAt(root: Slot, path: TreePath): Slot {
  const step = path.at(-1)
  if (step === undefined) {
    throw new DaglogError('USAGE', 'the root can not be deleted; set it to another value')
  }
  return changedAt(root, path.slice(0, -1), (node) => {
    if (node.kind !== KIND.list) return objectDelete(node, String(step))
    const index = indexOfStep(step)
    if (index === undefined || index >= bodySize(node.body)) return node
    return new ListNode(bodySplice(node.body, index, 1, []))
  })
}

function childAt(node: ContainerNode, step: Step): Slot | typeof ABSENT {
  if (node.kind !== KIND.list) return objectGet(node, String(step))
  const index = indexOfStep(step)
  return index === undefined || index >= bodySize(node.body) ? ABSENT : bodyGet(node.body, index)
}

function withChild(node: ContainerNode, step: Step, slot: Slot): ContainerNode {
  if (node.kind !== KIND.list) return objectSet(node, String(step), slot)
  const body = bodySet(node.body, Number(step), slot)
  return body === node.body ? node : new ListNode(body)
}

function notFound(path: TreePath, what: string): DaglogError {
  const pointer = pointerOf(path)
  return new DaglogError(
    'POINTER_NOT_FOUND',
    `${pointer === '' ? 'the root' : pointer} ${what}. Set what it should be in first.`,
    { pointer },
  )
}
