/**
 * Requests between the steps of a function: recorded, answered in a replay, and never sent again.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { memory, openStore, type Run } from '../../src/index.js'

it('run.fetch is answered from the recording in a replay; another request is a traffic miss', async () => {
  let served = 0
  const server = createServer((_, response) => {
    served += 1
    response.end(`answer ${served}`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const store = await openStore(memory())
  const agent = (path: string) => async (run: Run) => {
    const text = await (await run.fetch(`${url}${path}`)).text()
    return run.step('use', { text }, () => text.toUpperCase())
  }
  const r1 = await store.record('a', null, agent('/x'))
  expect(r1.output).toBe('ANSWER 1')
  const r3 = await store.replay(r1.id, agent('/x'))
  expect(r3.text()).toMatch(/^same/)
  expect(r3.output).toBe('ANSWER 1')
  const r4 = await store.replay(r1.id, agent('/y'))
  expect(r4.first).toMatchObject({ kind: 'traffic-miss', now: { name: `GET ${url}/y` } })
  expect(served).toBe(1)
  await store.close()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})
