/**
 * Where one golden store is made: a live store, the copy of it that is kept, and what is expected
 * of it.
 */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { directory } from '../../src/backend/fs.js'
import { nameOfRunId } from '../../src/backend/run-path.js'
import { openStore } from '../../src/open.js'
import type { Store } from '../../src/store/store.js'
import { clock, processTable } from './seed.js'
import { statedHash } from './tamper.js'

/** What both verifiers must say of a run. */
export interface ExpectedRun {
  readonly run: string
  readonly ok: boolean
  readonly level: string
  readonly events: number
  readonly objects: number
  /** The last frame that stands. */
  readonly head: { readonly seq: number; readonly hash: string } | null
  readonly coveredSeq: number
  readonly problems: readonly (readonly [kind: string, seq: number])[]
  /** How many things are missing without being wrong. */
  readonly incomplete: number
  readonly redacted: readonly number[]
  readonly stray: readonly (readonly [segment: number, offset: number, bytes: number])[]
}

export interface Golden {
  readonly name: string
  readonly about: string
  /** How the store opens: for writing unless told. */
  readonly opens?: 'read-only' | 'FORMAT_TOO_NEW'
  readonly exit: number
  readonly storeLog?: { readonly ok?: boolean; readonly incomplete?: number }
  readonly runs: readonly Verdict[]
  build(shop: Workshop): Promise<void>
}

/**
 * A run's verdict as it is written down: what differs from a whole run that the store's log covers.
 */
export type Verdict = { readonly run: string; readonly events: number } & Partial<
  Omit<ExpectedRun, 'ok' | 'head'> & { readonly head: number }
>

const KEPT = /^(?:store\.json|store\.\d+\.jsonl|runs|packs)$/

export class Workshop {
  readonly live = mkdtempSync(join(tmpdir(), 'golden-'))
  private readonly now = clock()
  private readonly open: Store[] = []

  constructor(readonly target: string) {}

  /**
   * Open the live store; a second time as another process, which takes the first for dead or alive.
   */
  async store(pid = 4242, others: 'alive' | 'dead' = 'alive'): Promise<Store> {
    const backend = directory(this.live, {
      codec: 'deflate',
      processes: processTable(pid, others),
    })
    const store = await openStore(backend, {
      now: this.now,
      program: 'golden',
      onNotice: () => {},
    })
    this.open.push(store)
    return store
  }

  /**
   * Keep the live store as it is on disk now; what is changed afterwards is changed in the copy.
   */
  keep(): void {
    mkdirSync(this.target, { recursive: true })
    for (const name of readdirSync(this.live)) {
      if (KEPT.test(name))
        cpSync(join(this.live, name), join(this.target, name), { recursive: true })
    }
  }

  /** What git would lose goes at once: empty directories. */
  prune(dir = this.target): void {
    for (const entry of readdirSync(dir, { withFileTypes: true })) {
      if (!entry.isDirectory()) continue
      this.prune(join(dir, entry.name))
      if (readdirSync(join(dir, entry.name)).length === 0) rmdirSync(join(dir, entry.name))
    }
  }

  /** A file of the copy. */
  file(...names: string[]): string {
    return join(this.target, ...names)
  }

  /** A segment of a run in the copy. */
  log(run: string, segment = 0): string {
    const name = `log.${String(segment).padStart(6, '0')}.jsonl`
    return this.file('runs', nameOfRunId(run), name)
  }

  async close(): Promise<void> {
    for (const store of this.open) await store.close().catch(() => {})
    rmSync(this.live, { recursive: true })
  }

  /** The verdicts in full, the hashes of heads taken from the bytes. */
  async expected(golden: Golden): Promise<unknown> {
    const { about, opens = 'writable', exit, storeLog, runs } = golden
    return {
      about,
      opens,
      exit,
      storeLog: { ok: storeLog?.ok ?? true, incomplete: storeLog?.incomplete ?? 0 },
      runs: await Promise.all(runs.map((verdict) => this.expectedRun(verdict))),
    }
  }

  private async expectedRun(verdict: Verdict): Promise<ExpectedRun> {
    const { run, events, head = events - 1, problems = [] } = verdict
    const ok = problems.length === 0
    return {
      run,
      ok,
      level: verdict.level ?? (ok ? 'head-log' : 'none'),
      events,
      objects: verdict.objects ?? 0,
      head: head < 0 ? null : { seq: head, hash: statedHash(await this.textOf(run), head) },
      coveredSeq: verdict.coveredSeq ?? head,
      problems,
      incomplete: verdict.incomplete ?? 0,
      redacted: verdict.redacted ?? [],
      stray: verdict.stray ?? [],
    }
  }

  /** The lines of a run in the copy, the newest segment first. */
  private async textOf(run: string): Promise<string> {
    const backend = directory(this.target)
    let text = ''
    for (const { number, bytes } of await backend.segments({ run }))
      text = `${(await backend.read({ run }, number, 0, bytes)).toString('latin1')}${text}`
    await backend.close()
    return text
  }
}
