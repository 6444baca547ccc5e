/**
 * Both verifiers on the same store, and what they must agree on.
 */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { createInterface } from 'node:readline'
import { openStore } from '../../src/open.js'
import type { RunReport } from '../../src/store/verify-report.js'

/** What a store is found to be, in few words: per run whether it is whole, and the first thing wrong. */
export interface Finding {
  readonly exit: number
  readonly runs: readonly string[]
}

export interface Auditors {
  audit(dir: string): Promise<{ readonly daglog: Finding; readonly verifier: Finding }>
  close(): void
}

/** One Python process for many stores: starting it takes longer than an audit. */
const SERVE = `
import json, os, sys
sys.path.insert(0, os.path.dirname(sys.argv[1]))
sys.dont_write_bytecode = True
sys.setrecursionlimit(20000)
import verify
for line in sys.stdin:
    store = verify.Store(line.rstrip('\\n'))
    runs = [verify.Run(store, run, None).report() for run in sorted({*store.places, *store.heads})]
    print(json.dumps({'storeLog': store.report, 'runs': runs}), flush=True)
`

export function auditors(verifier: string): Auditors {
  const python = spawn('python3', ['-c', SERVE, verifier], { stdio: ['pipe', 'pipe', 'inherit'] })
  const answers = createInterface(python.stdout)[Symbol.asyncIterator]()
  return {
    async audit(dir) {
      python.stdin.write(`${dir}\n`)
      const answer = await answers.next()
      if (answer.done === true) throw new Error(`docs/verify.py broke off at ${dir}`)
      return { daglog: await auditByDaglog(dir), verifier: findingOf(JSON.parse(answer.value)) }
    },
    close: () => python.stdin.end(),
  }
}

async function auditByDaglog(dir: string): Promise<Finding> {
  const store = await openStore(dir, { create: false, onNotice: () => {} })
  try {
    return findingOf(await store.verify())
  } finally {
    await store.close()
  }
}

function findingOf(report: {
  readonly storeLog: { readonly ok: boolean; readonly incomplete: readonly string[] }
  readonly runs: readonly RunReport[]
}): Finding {
  const { storeLog, runs } = report
  const ok = storeLog.ok && runs.every((run) => run.ok)
  const complete = [storeLog, ...runs].every(({ incomplete }) => incomplete.length === 0)
  return {
    exit: ok ? (complete ? 0 : 5) : 3,
    runs: runs.map(({ run, ok, events, problems: [first] }) => {
      return ok ? `${run} ok ${events}` : `${run} ${first?.kind} ${first?.seq}`
    }),
  }
}

/** Flip one bit of one file of the store; which one follows from `round`. @returns Where. */
export function flipBit(dir: string, round: number): string {
  const files = readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(?:jsonl|z|open|pack)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readFileSync(path).length > 0 && dirname(path) !== join(dir, 'torn'))
    .sort()
  const draw = createHash('sha256').update(String(round)).digest()
  const path = files[draw.readUInt32LE(0) % files.length] as string
  const bytes = readFileSync(path)
  const at = draw.readUInt32LE(4) % bytes.length
  const bit = draw.readUInt32LE(8) % 8
  bytes[at] = (bytes[at] as number) ^ (1 << bit)
  writeFileSync(path, bytes)
  return `${relative(dir, path)}, byte ${at}, bit ${bit}`
}
