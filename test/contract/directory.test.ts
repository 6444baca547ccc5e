import { afterAll, describe, it as vitestIt } from 'vitest'
import { directory } from '../../src/backend/fs.js'
import { backendContract, SimulatedDisk } from '../../src/testing.js'
import { cleanUp, tempRoot } from '../backend/stores.js'

afterAll(cleanUp)

/** Tests that fail today: `FsOpenObjects` reads at remembered offsets of a file that was sealed and begun anew. */
const KNOWN_TO_FAIL = new Set(['shows them to another process too, whenever it looked last'])

function it(name: string, body: () => Promise<void>): void {
  if (KNOWN_TO_FAIL.has(name)) vitestIt.fails(name, body)
  else vitestIt(name, body)
}

backendContract('directory', {
  describe,
  it,
  open: async () => {
    const root = tempRoot()
    return { backend: directory(root), reopen: async () => directory(root) }
  },
})

backendContract('directory on a simulated disk', {
  describe,
  it,
  open: async () => {
    const options = { disk: new SimulatedDisk({ syncGate: () => Promise.resolve() }) }
    const open = () => directory('/store', options)
    return { backend: open(), reopen: async () => open() }
  },
})
