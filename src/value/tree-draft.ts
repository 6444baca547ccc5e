/**
 * Drafts: a tree that is changed as plain JavaScript is, for the length of one function. A draft
 * keeps the node that it stands for and the drafts handed out below it; only those are looked at in
 * the end, so an update costs what it touches.
 *
 * As in plain JavaScript a draft put into a second place, or taken out and put back, is the same
 * object in both. A plain value is copied when it is put in. Dates and bytes are handed out as
 * copies.
 */
import { DaglogError } from '../core/errors.js'
import type { Alias } from './tree-convert.js'
import { ListDraft } from './tree-draft-list.js'
import { type Draft, type DraftSession, draftOf } from './tree-draft-node.js'
import { ObjectDraft } from './tree-draft-object.js'
import { type ContainerNode, KIND, type Slot } from './tree-node.js'
import { pointerStep } from './tree-pointer.js'

/**
 * Runs `change` on a draft of `root`. Returns the container after it: `root` itself if nothing
 * changed. What `change` throws passes through; its result is ignored, but a promise is USAGE, as a
 * draft ends with the call. A draft put somewhere inside itself is VALUE_UNSUPPORTED.
 */
export function updated(root: ContainerNode, change: (draft: object) => unknown): ContainerNode {
  const session = new Session()
  const draft = session.draft(root, root, undefined)
  try {
    const result = change(draft.proxy) as { then?: unknown } | null | undefined
    if (typeof result?.then === 'function') {
      throw new DaglogError(
        'USAGE',
        'the function that changes a draft returned a promise, but a draft ends with the call. ' +
          'Do what is asynchronous first, then update with what it gave.',
      )
    }
    finish(draft)
    return draft.node
  } finally {
    session.isOpen = false
  }
}

class Session implements DraftSession {
  isOpen = true

  draft(node: ContainerNode, origin: Slot, parent: Draft | undefined): Draft {
    return node.kind === KIND.list
      ? new ListDraft(this, origin, parent, node)
      : new ObjectDraft(this, origin, parent, node)
  }

  find(value: object): Draft | undefined {
    const draft = draftOf(value)
    // A draft of another update is a plain value here: it may go on changing there.
    return draft?.session === this ? draft : undefined
  }

  enclose(node: ContainerNode, held: ReadonlyMap<string | number, Alias>): Draft {
    const draft = this.draft(node, node, undefined)
    for (const [key, alias] of held) {
      const inner = alias as Draft
      inner.parent ??= draft
      draft.hold(key, { draft: inner, isPut: true })
    }
    return draft
  }
}

/** Finishes a draft and all below it, each after those that it holds. Iterative. */
function finish(root: Draft): void {
  const path = [{ draft: root, key: '' as string | number, rest: [...root.entries()] }]
  const open = new Set([root])
  const done = new Set<Draft>()
  for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
    const next = top.rest.pop()
    if (next === undefined) {
      top.draft.finish()
      open.delete(top.draft)
      done.add(top.draft)
      path.pop()
      continue
    }
    const [key, { draft }] = next
    if (done.has(draft)) continue
    path.push({ draft, key, rest: [...draft.entries()] })
    if (open.has(draft)) {
      const pointer = path
        .slice(1)
        .map((step) => pointerStep(step.key))
        .join('')
      throw new DaglogError(
        'VALUE_UNSUPPORTED',
        `${pointer} is a part of the draft that it lies in, which can not be kept: ` +
          'a tree has no cycles. Put in a copy.',
        { pointer },
      )
    }
    open.add(draft)
  }
}
