/** The recorder is killed while an answer is on its way: what began is visible, and nothing else is lost. */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { daglog, finished, json, printed, start } from '../../cli/command.js'
import { temporaryDir } from '../../store/temporary.js'

it('a request without an end is in the log, the store verifies, and the next recording goes on', async () => {
  const open = new Set<ServerResponse>()
  const server = createServer((request, response) => {
    if (request.url !== '/stream') return response.end(`answer to ${request.url}`)
    open.add(response)
    response.write('data: 1\n\n')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const response of open) response.destroy()
    server.close()
  })
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const asking = `const base = process.argv[1]
    console.log(await (await fetch(base + '/whole')).text())
    const reader = (await fetch(base + '/stream')).body.getReader()
    console.log(new TextDecoder().decode((await reader.read()).value))
    await reader.read().catch(() => process.exit(7))`
  const program = [process.execPath, '--input-type=module', '-e', asking, base]
  const options = { cwd: temporaryDir() }

  const child = start(['record', '--', ...program], options)
  const said = printed(child)
  const ended = finished(child)
  const ordinals = async (): Promise<{ starts: number[]; exchanges: number[] }> => {
    const { doc } = await json(['events', '@last'], options)
    const { events } = doc as unknown as {
      events: { type: string; data: { ordinal: number } }[]
    }
    const of = (type: string): number[] =>
      events.filter((event) => event.type === type).map(({ data }) => data.ordinal)
    return { starts: of('http/start'), exchanges: of('http/exchange') }
  }
  await said('data: 1')
  // The client is served before the log is: nobody waits for a disk.
  await expect.poll(ordinals, { timeout: 20_000 }).toEqual({ starts: [1, 2], exchanges: [1] })
  child.kill('SIGKILL')
  expect((await ended).code).toBe(null)

  expect((await daglog(['verify', '--all'], options)).code).toBe(0)
  expect(await ordinals()).toEqual({ starts: [1, 2], exchanges: [1] })
  const again = await daglog(
    ['record', '--', ...program.slice(0, 3), 'await fetch(process.argv[1])', base],
    options,
  )
  expect(again.err).toMatch(/recorded 1 call into /)
  expect(again.code).toBe(0)
  expect((await daglog(['verify', '--all'], options)).code).toBe(0)
})
