/**
 * Answering a question that another process asks: which ones are open, and where an answer goes.
 * The first answer to a question counts, and there is no second: who answers holds the lock of the
 * run of answers.
 */
import { answersId } from './ask-answers.js'
import { askNotFound, severalAsk } from './ask-errors.js'
import { parentLink } from './parent-link.js'
import type { Run } from './run.js'
import type { RunBeginning } from './run-beginning.js'
import type { RunView } from './run-view.js'

/** A question that is open in a log. */
interface OpenQuestion {
  readonly id: string
  readonly key: string
  readonly name: string
  /** Of the question. */
  readonly seq: number
}

/**
 * What a run asks now, or will ask again when it is resumed.
 * A crash ends its steps as `interrupted`; a function that is run again asks under the same key.
 */
export async function openQuestions(view: RunView): Promise<readonly OpenQuestion[]> {
  const open = new Map<string, OpenQuestion>()
  let started: { readonly id: string; readonly key: string } | undefined
  let isFunction = false
  const types = ['agent/start', 'agent/end', 'run/end', 'step/start', 'step/end', 'ask/question']
  for await (const { type, seq, data } of view.events({ types, refs: true })) {
    const { id, key, name, status } = (data ?? {}) as Record<string, string>
    if (type === 'agent/start') isFunction = true
    else if (type === 'agent/end' || type === 'run/end') open.clear()
    // Start and question are one append.
    else if (type === 'step/start') started = { id: id as string, key: key as string }
    else if (type === 'ask/question' && started !== undefined)
      open.set(started.key, { ...started, name: name as string, seq })
    else if (type === 'step/end' && !(isFunction && status === 'interrupted')) {
      for (const one of open.values()) if (one.id === id) open.delete(one.key)
    }
  }
  return [...open.values()]
}

/** Where an answer was put. */
export interface GivenAnswer {
  /** The run that asks. */
  readonly run: string
  /** The run that holds its answers. */
  readonly answers: string
  /** Id of the step that asks. */
  readonly step: string
  readonly seq: number
  readonly hash: string
}

/**
 * Put an answer where the asker finds it. Resolves once it would survive power loss.
 * @param open Opens a run for writing, or begins it.
 * @throws ASK_NOT_FOUND, USAGE where several steps ask that; VALUE_UNSUPPORTED; RUN_LOCKED
 */
export async function putAnswer(
  view: RunView,
  { name, value }: { readonly name: string; readonly value: unknown },
  open: (id: string, beginning: RunBeginning) => Promise<Run>,
): Promise<GivenAnswer> {
  const question = await questionOf(view, name)
  const parent = await parentLink(view, question.seq, 'child')
  const depth = ((await view.summary()).depth ?? 0) + 1
  const run = await open(await answersId(view), { parent, depth, name: 'answers' })
  try {
    for await (const { data } of run.events({ types: ['ask/answer'], refs: true }))
      if (data?.step === question.key) throw askNotFound(view.id, name, [])
    const { seq, hash } = await run.append('ask/answer', {
      step: question.key,
      name: question.name,
      ...(value === undefined ? {} : { value }),
    })
    await run.end()
    return { run: view.id, answers: run.id, step: question.id, seq, hash }
  } finally {
    await run.close()
  }
}

async function questionOf(view: RunView, name: string): Promise<OpenQuestion> {
  const open = await openQuestions(view)
  const found = open.filter((one) => one.name === name || one.id === name)
  if (found.length > 1)
    throw severalAsk(
      view.id,
      name,
      found.map(({ id }) => id),
    )
  const [only] = found
  if (only === undefined)
    throw askNotFound(
      view.id,
      name,
      open.map((one) => one.name),
    )
  return only
}
