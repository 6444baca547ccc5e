/**
 * Questions to people: a step whose outcome comes from outside of the program. Its body waits for
 * `run.answer` of this process, or for an answer that another one puts into the run's answers.
 * Being a step, it is answered from the log when the function is resumed or replayed.
 * @see docs/again.md#questions-to-people
 */
import { setTimeout as wait } from 'node:timers/promises'
import { encodeData } from '../core/body.js'
import { DaglogError } from '../core/errors.js'
import { ASK_POLL_MS } from '../core/limits.js'
import { AnswersReader } from './ask-answers.js'
import { askClosed, askNotFound, askTimedOut, severalAsk } from './ask-errors.js'
import type { Run } from './run.js'
import { runStep } from './step-runner.js'
import type { Step } from './steps.js'

export interface AskOptions {
  /** How long to wait, in ms, from when this process asks; for ever unless told. */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}

/** A question that was asked in this process. */
interface Waiting {
  readonly name: string
  /** Once its body runs; one that the log answers has none. */
  step?: Step
  given?: { readonly value: unknown }
  /** What was given is what came of it. */
  used: boolean
  /** Its outcome is in the log; undefined until then. */
  settled?: 'ok' | 'error'
  /** Somebody gave an answer, wanted or not. */
  claimed: boolean
  readonly wake: AbortController
  done: Promise<void>
}

export class Asks {
  /** Those that wait, and those that a log has answered and that nobody has answered here. */
  private readonly waiting = new Set<Waiting>()

  private closing: AbortController | undefined

  constructor(private readonly run: Run) {}

  /**
   * Ask a person. Recorded as a step of this name whose input is the question, and whose output is
   * the answer; it changes nothing by itself, so a resume asks again where no answer is there yet.
   * @throws ASK_TIMEOUT, which is recorded as well; USAGE
   */
  readonly ask = async <R = unknown>(
    name: string,
    question?: unknown,
    options: AskOptions = {},
  ): Promise<R> => {
    const { timeoutMs, signal } = options
    if (timeoutMs !== undefined && !(timeoutMs >= 0)) {
      throw new DaglogError(
        'USAGE',
        `the question "${name}" cannot wait ${timeoutMs} ms; try: { timeoutMs: 60_000 }, or none, to wait for ever`,
        { name },
      )
    }
    const asked: Waiting = {
      name,
      used: false,
      claimed: false,
      wake: new AbortController(),
      done: Promise.resolve(),
    }
    const outcome = runStep<R>({
      run: this.run,
      name,
      input: question,
      hasInput: question !== undefined,
      body: (step) => this.wait(step, asked, timeoutMs ?? Number.POSITIVE_INFINITY) as Promise<R>,
      options: { effect: 'read', ...(signal === undefined ? {} : { signal }) },
      events: {
        start: [
          {
            type: 'ask/question',
            data: { name, ...(timeoutMs === undefined ? {} : { timeoutMs }) },
          },
        ],
      },
    })
    this.waiting.add(asked)
    asked.done = outcome.then(
      () => this.settle(asked, 'ok'),
      () => this.settle(asked, 'error'),
    )
    return outcome
  }

  /**
   * Answer a question that this process asked, by its name or the id of its step. Resolves once the
   * answer is recorded: to true, or to false where another answer is in the log already and counts.
   * @throws ASK_NOT_FOUND where nobody asks that (any more), USAGE where several do; VALUE_UNSUPPORTED
   */
  readonly answer = async (name: string, value?: unknown): Promise<boolean> => {
    // What cannot be recorded is the mistake of who answers, and the question stays open.
    encodeData(value === undefined ? {} : { value })
    const found = this.find(name)
    found.claimed = true
    if (found.settled === undefined) {
      found.given = { value }
      found.wake.abort()
      await found.done
    }
    this.waiting.delete(found)
    if (found.settled === 'error') throw askNotFound(this.run.id, name, this.openNames())
    return found.used
  }

  private find(name: string): Waiting {
    const all = [...this.waiting].filter(
      (asked) => !asked.claimed && (asked.name === name || asked.step?.id === name),
    )
    const open = all.filter(({ settled }) => settled === undefined)
    if (open.length > 1)
      throw severalAsk(
        this.run.id,
        name,
        open.flatMap(({ step }) => step?.id ?? []),
      )
    const [found] = open.length > 0 ? open : all
    if (found === undefined) throw askNotFound(this.run.id, name, this.openNames())
    return found
  }

  private openNames(): string[] {
    const open = [...this.waiting].filter(
      ({ settled, claimed }) => settled === undefined && !claimed,
    )
    return open.map(({ name }) => name)
  }

  private settle(asked: Waiting, how: 'ok' | 'error'): void {
    asked.settled = how
    // One that a log answered stays: a function that answers itself does so in each replay.
    if (asked.step !== undefined || asked.claimed) this.waiting.delete(asked)
  }

  private closed(): AbortSignal {
    if (this.closing === undefined) {
      const closing = new AbortController()
      this.run.onClosed(() => closing.abort())
      this.closing = closing
    }
    return this.closing.signal
  }

  private async wait(step: Step, asked: Waiting, timeoutMs: number): Promise<unknown> {
    asked.step = step
    const answers = new AnswersReader(this.run)
    const closed = this.closed()
    const woken = AbortSignal.any([asked.wake.signal, step.signal, closed])
    const begun = performance.now()
    for (;;) {
      if (asked.given !== undefined) {
        asked.used = true
        return asked.given.value
      }
      step.signal.throwIfAborted()
      // Nothing can be recorded any more, and a question that waits would keep the process alive.
      if (closed.aborted) throw askClosed(this.run.id, asked.name)
      // Looked for before the time is up, too: an answer that is there counts.
      const left = timeoutMs - (performance.now() - begun)
      const found = await answers.find(step.key)
      if (found !== undefined) return found.value
      if (asked.given !== undefined) continue
      if (left <= 0) throw askTimedOut(this.run.id, asked.name, timeoutMs)
      const nap = wait(Math.min(ASK_POLL_MS, left), undefined, { signal: woken })
      await nap.catch(() => {}) // It only fails because it is woken.
    }
  }
}
