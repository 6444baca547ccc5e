/**
 * Types merge into `EventMap`, and what is read is narrowed by them. Most of this test is that it
 * compiles.
 */

import { type EventMap, memory, openStore } from 'daglog'
import { expect, it } from 'vitest'

declare module 'daglog' {
  interface EventMap {
    'cart/add': { readonly sku: string; readonly count: number }
  }
}

it('knows the data of an event type that its user declared', async () => {
  const store = await openStore(memory())
  const run = await store.run('r')
  await run.append('cart/add', { sku: 'a', count: 2 })
  // @ts-expect-error a count is a number
  await run.append('cart/add', { sku: 'a', count: '2' })
  await run.append('unheard/of', { anything: true })
  const counts: number[] = []
  for await (const event of run.events({ types: ['cart/add'] })) {
    if (event.type === 'cart/add') counts.push(Number(event.data.count))
  }
  expect(counts).toEqual([2, 2])
  const last = await run.last('cart/add')
  const sku: EventMap['cart/add']['sku'] | undefined = last?.data.sku
  expect(sku).toBe('a')
  await store.close()
})
