/** A program is recorded and the disk is full: it goes on, and nobody says that it was recorded. */
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { daglog } from '../../cli/command.js'
import { smallDisk } from '../../crash/small-disk.js'
import { temporaryDir } from '../../store/temporary.js'

it('what cannot be written is counted, is a gap in the log, and makes the exit code 5', async (context) => {
  const disk = smallDisk(600 * 1024)
  if (disk === undefined) {
    console.log('skipped: a tmpfs cannot be mounted here (needs root)')
    return context.skip()
  }
  const server = createServer((request, response) => {
    response.end(request.url === '/small' ? 'small' : randomBytes(3_000_000))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const fetching = `for (const path of ['small', 'large', 'large'])
    console.log((await (await fetch('http://127.0.0.1:${port}/' + path)).arrayBuffer()).byteLength)`
  const store = ['--store', join(disk, 'store')]
  const program = [process.execPath, '--input-type=module', '-e', fetching]
  const options = { cwd: temporaryDir() }
  const { code, out, err } = await daglog([...store, 'record', '--', ...program], options)
  expect(out.trim().split('\n')).toEqual(['5', '3000000', '3000000'])
  expect(err).toMatch(/recorded 1 call into /)
  expect(err).toMatch(/not recorded: 2 calls/)
  expect(code).toBe(5)
  const shown = await daglog([...store, 'show', '@last'], options)
  expect(shown.out).toMatch(/http\/gap .*ENOSPC/)
  expect((await daglog([...store, 'verify', '@last'], options)).code).toBe(0)
})
