/** Events of sessions as they might come, in any order: for properties. */
import fc from 'fast-check'
import type { RunEvent } from '../../src/core/event.js'
import type { Hash } from '../../src/core/hash.js'

const id = fc.constantFrom('a', 'b', 'c', '__proto__')
const content = fc.oneof(
  fc.string({ maxLength: 8 }),
  fc.array(fc.record({ type: fc.constant('text'), text: fc.string({ maxLength: 8 }) }), {
    maxLength: 2,
  }),
)
const one = fc.oneof(
  fc.record({ type: fc.constant('turn/start'), data: fc.record({ turn: fc.nat(9) }) }),
  fc.record({
    type: fc.constant('turn/end'),
    data: fc.record({
      turn: fc.nat(9),
      reason: fc.constantFrom('completed', 'error', 'interrupted'),
    }),
  }),
  fc.record({ type: fc.constant('user/message'), data: fc.record({ content }) }),
  fc.record({
    type: fc.constant('assistant/message'),
    data: fc.record({ content, id, restates: fc.boolean() }, { requiredKeys: ['content'] }),
  }),
  fc.record({ type: fc.constant('assistant/chunk'), data: fc.record({ message: id }) }),
  fc.record({ type: fc.constant('tool/call'), data: fc.record({ id, name: id }) }),
  fc.record({
    type: fc.constant('tool/result'),
    data: fc.record(
      { id, content, files: fc.array(fc.record({ path: id, op: id }), { maxLength: 2 }) },
      { requiredKeys: ['id', 'content'] },
    ),
  }),
  fc.record({ type: fc.constant('step/start'), data: fc.record({ id, key: id, name: id }) }),
  fc.record({ type: fc.constant('step/end'), data: fc.record({ id, status: fc.constant('ok') }) }),
  fc.record({ type: fc.constant('todo/write'), data: fc.record({ items: fc.array(id) }) }),
  fc.record({ type: fc.constant('state/write'), data: fc.record({ value: fc.array(id) }) }),
  fc.record({
    type: fc.constant('compaction'),
    data: fc.record({
      replaces: fc.array(fc.nat(20), { maxLength: 6 }),
      message: fc.record({ role: fc.constant('user'), content }),
    }),
  }),
  fc.record({
    type: fc.constant('request/header'),
    data: fc.record({ model: id, provider: id }),
  }),
  fc.record({ type: fc.constant('note'), data: fc.jsonValue({ maxDepth: 1 }) }),
)

export function anyEvents(): fc.Arbitrary<RunEvent[]> {
  return fc.array(one, { maxLength: 40 }).map((rows) =>
    rows.map(({ type, data }, seq) => ({
      seq,
      time: 1000 + seq,
      type,
      data: data as never,
      hash: `${seq}` as Hash,
    })),
  )
}
