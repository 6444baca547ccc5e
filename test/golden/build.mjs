// node test/golden/build.mjs [--check]
// Makes the golden stores that are not there; never touches one that is. `--check` makes all of them anew, elsewhere, and
// says which bytes differ: a golden stays as the release that wrote it left it, so once a later daglog writes other bytes,
// both are right. Packs are compared by what they hold, since deflate has more than one output.
// Node 20 runs no TypeScript; vite, which vitest brings along, does. Each store gets modules of its own, and so the same
// salts in whatever order the stores are made.
import { runnerImport } from 'vite'

const load = async () =>
  (await runnerImport('./test/golden/build.ts', { logLevel: 'error' })).module
const verb = process.argv.includes('--check') ? 'check' : 'make'
for (const name of (await load()).names) {
  if (!(await (await load())[verb](name))) process.exitCode = 1
}
