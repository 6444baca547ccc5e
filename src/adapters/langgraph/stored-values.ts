/**
 * What the tree of a checkpoint holds, as plain data: for people, and without LangGraph beside it.
 */
import { DaglogError } from '../../core/errors.js'
import { bodyEach } from '../../value/tree-list.js'
import {
  ABSENT,
  type ContainerNode,
  isNode,
  KIND,
  type ObjectNode,
  openValue,
  type Slot,
} from '../../value/tree-node.js'
import { objectEach, objectGet } from '../../value/tree-object.js'
import { unbox } from '../../value/tree-scalar.js'

/** Under this key stands what JSON cannot say. */
export const MARK = '$'
/**
 * The fields of an object that was cut, and the order of their keys where it is not the usual one.
 */
export const FIELDS = 'fields'
export const ORDER = 'order'

/** The fields of an object that was cut; undefined for anything else. */
export function fieldsIn(node: ContainerNode | undefined): ObjectNode | undefined {
  if (node === undefined || node.kind === KIND.list) return undefined
  const fields = objectGet(node, FIELDS)
  const inside = fields === ABSENT || !isNode(fields) ? undefined : openValue(fields)
  if (inside === undefined || inside.kind === KIND.list || inside.kind === KIND.box)
    return undefined
  return inside
}

export function textIn(slot: Slot): string {
  if (typeof slot === 'string') return slot
  const node = isNode(slot) ? openValue(slot) : undefined
  if (node?.kind !== KIND.box || node.type !== 'text') throw notOurs()
  return unbox(node) as string
}

export function notOurs(): DaglogError {
  return new DaglogError(
    'VALUE_UNSUPPORTED',
    'a stored value is not as this adapter writes it; try: the version of daglog that wrote it',
  )
}

/** A value as plain data: a message as its fields, what else JSON cannot say as it is stored. */
export function readableValue(slot: Slot): unknown {
  if (typeof slot === 'string') return readableText(slot)
  if (!isNode(slot)) return slot
  const node = openValue(slot)
  if (node.kind === KIND.box) return node.type === 'text' ? readableText(textIn(node)) : unbox(node)
  if (node.kind === KIND.list) {
    const list: unknown[] = []
    bodyEach(node.body, (member) => list.push(readableValue(member)))
    return list
  }
  return readableFields(fieldsIn(node) ?? node)
}

/** The same for each field of an object. */
export function readableFields(node: ObjectNode): Record<string, unknown> {
  const fields: [string, unknown][] = []
  objectEach(node, (key, slot) => fields.push([key, readableValue(slot)]))
  return Object.fromEntries(fields.sort(([a], [b]) => (a < b ? -1 : 1)))
}

function readableText(text: string): unknown {
  try {
    return JSON.parse(text, (_, value: unknown) => messageFields(value) ?? value)
  } catch {
    // A serializer of the user's wrote it.
    return text
  }
}

function messageFields(value: unknown): object | undefined {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, MARK)) return undefined
  const mark = (value as { readonly [MARK]?: unknown })[MARK]
  const [tag, type, given, own] = Array.isArray(mark) ? mark : []
  if (tag !== 'message' || typeof given !== 'object') return undefined
  return { type, ...given, ...(own as object | undefined) }
}
