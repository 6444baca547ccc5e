import { describe, it } from 'vitest'
import { memory } from '../../src/backend/memory.js'
import { backendContract } from '../../src/testing.js'

backendContract('memory', { describe, it, open: async () => ({ backend: memory() }) })
