/**
 * One use of a verb: its arguments, its flags, where it prints, and the store it works on.
 */
import { DaglogError } from '../core/errors.js'
import type { Notice } from '../store/notices.js'
import type { OpenRunOptions } from '../store/run-writer.js'
import type { Store } from '../store/store.js'
import type { Output } from './output.js'

/** Values of flags by name, as the parser gives them. */
export type FlagValues = Readonly<Record<string, unknown>>

/** How long a verb that writes waits for its turn, in ms: many processes may write to one run. */
export const LOCK_WAIT_MS = 10_000

export class Call {
  /** The verb sees to interrupts by itself: it has something to finish first. */
  ownInterrupts = false
  private opened: Store | undefined

  constructor(
    readonly verb: string,
    private readonly args: Readonly<Record<string, string | readonly string[] | undefined>>,
    private readonly flags: FlagValues,
    readonly out: Output,
  ) {}

  /** A required argument. */
  argument(name: string): string {
    return this.args[name] as string
  }

  /** An argument that may be left out. */
  optional(name: string): string | undefined {
    return this.args[name] as string | undefined
  }

  /** An argument that may be given many times. */
  many(name: string): readonly string[] {
    return (this.args[name] ?? []) as readonly string[]
  }

  has(flag: string): boolean {
    return this.value(flag) === true
  }

  text(flag: string): string | undefined {
    return this.value(flag) as string | undefined
  }

  number(flag: string): number | undefined {
    return this.value(flag) as number | undefined
  }

  list(flag: string): readonly string[] {
    return (this.value(flag) ?? []) as readonly string[]
  }

  /** The parser calls `--dry-run` `dryRun`. */
  private value(flag: string): unknown {
    return this.flags[flag.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())]
  }

  /** An error of the person at the command line. */
  usage(what: string, advice = `daglog ${this.verb} --help`): DaglogError {
    return new DaglogError('USAGE', `${what}; try: ${advice}`, { verb: this.verb })
  }

  /** The store of `--store`, `DAGLOG_DIR`, or the nearest one; closed when the verb is done. */
  async store(
    options: {
      /** Make one where there is none. */
      readonly create?: boolean
      /** Notices that would be no news to anybody. */
      readonly hush?: Notice['about']
    } = {},
  ): Promise<Store> {
    const { openStore } = await import('../open.js')
    this.opened ??= await openStore(this.text('store'), {
      create: options.create ?? false,
      program: `daglog ${this.verb}`,
      lockWaitMs: this.number('wait') ?? LOCK_WAIT_MS,
      onNotice: (notice) => {
        if (notice.about !== options.hush) this.notice(notice)
      },
    })
    return this.opened
  }

  /** How `--wait` and `--takeover` open a run. */
  writing(): OpenRunOptions {
    return { lockWaitMs: this.number('wait') ?? LOCK_WAIT_MS, force: this.has('takeover') }
  }

  private notice({ about, message, cause }: Notice): void {
    const reason = cause instanceof Error ? ` (${cause.message})` : ''
    // A cache that does not work costs time only.
    if (about === 'cache') this.out.detail('note: ', message, reason)
    else this.out.note('note: ', message, reason)
  }

  async close(): Promise<void> {
    const store = this.opened
    this.opened = undefined
    await store?.close()
  }
}
