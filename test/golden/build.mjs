// node test/golden/build.mjs [--check]
// Node 20 runs no TypeScript; vite, which vitest brings along, does.
import { runnerImport } from 'vite'

const { module } = await runnerImport('./test/golden/build.ts', { logLevel: 'error' })
process.exitCode = await module.main(process.argv.slice(2))
