import { afterAll, describe, it } from 'vitest'
import { directory } from '../../src/backend/fs.js'
import { backendContract, SimulatedDisk } from '../../src/testing.js'
import { cleanUp, tempRoot } from '../backend/stores.js'

afterAll(cleanUp)

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
