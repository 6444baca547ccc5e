/**
 * `docs/verify.py`, started once for many stores: starting Python takes longer than an audit.
 */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { RunReport } from '../../src/store/verify-report.js'

/** What both verifiers report of a store. */
export interface Report {
  readonly storeLog: { readonly ok: boolean; readonly incomplete: readonly string[] }
  readonly runs: readonly RunReport[]
}

export interface Verifier {
  /** The report on a store, or the words with which it was refused. */
  audit(dir: string): Promise<Report | { readonly refused: string }>
  close(): void
}

const SERVE = `
import json, os, sys
sys.path.insert(0, os.path.dirname(sys.argv[1]))
sys.dont_write_bytecode = True
sys.setrecursionlimit(20000)
import verify
for line in sys.stdin:
    try:
        store = verify.Store(line.rstrip('\\n'))
        runs = [verify.Run(store, run, None).report() for run in sorted({*store.places, *store.heads})]
        print(json.dumps({'storeLog': store.report, 'runs': runs}), flush=True)
    except SystemExit as refusal:
        print(json.dumps({'refused': str(refusal)}), flush=True)
`

export function startVerifier(path: string): Verifier {
  const python = spawn('python3', ['-c', SERVE, path], { stdio: ['pipe', 'pipe', 'inherit'] })
  const answers = createInterface(python.stdout)[Symbol.asyncIterator]()
  return {
    async audit(dir) {
      python.stdin.write(`${dir}\n`)
      const answer = await answers.next()
      if (answer.done === true) throw new Error(`docs/verify.py broke off at ${dir}`)
      return JSON.parse(answer.value)
    },
    close: () => python.stdin.end(),
  }
}
