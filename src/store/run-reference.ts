/**
 * How people name a run: its id, the beginning of it (with or without the date), or `@last`.
 */
import { DaglogError } from '../core/errors.js'
import { holdsAnswers } from './ask-answers.js'
import type { RunInfo } from './run-infos.js'

const LAST = /^@last(?:~(\d+))?$/
const DATE = /^\d{4}-\d\d-\d\d-/

/**
 * The run meant by `reference` among `runs`, which are newest first.
 * @throws RUN_NOT_FOUND, RUN_AMBIGUOUS naming the candidates.
 */
export function resolveRun(reference: string, runs: readonly RunInfo[]): string {
  const last = LAST.exec(reference)
  if (last !== null) {
    // A replay is about another run, and so are answers; "the last" is one that people made.
    const own = runs.filter(
      ({ id, parent }) => parent?.kind !== 'replay' && !holdsAnswers(id, parent?.kind),
    )
    const found = own[Number(last[1] ?? 0)]
    if (found !== undefined) return found.id
    throw notFound(reference, `there are ${own.length} runs`)
  }
  const exact = runs.find(({ id }) => id === reference)
  if (exact !== undefined) return exact.id
  const found = runs.filter(
    ({ id }) => id.startsWith(reference) || id.replace(DATE, '').startsWith(reference),
  )
  if (found.length === 1) return (found[0] as RunInfo).id
  if (found.length === 0) throw notFound(reference, 'no id begins like that')
  const ids = found.map(({ id }) => id)
  const shown = ids.slice(0, 5).join(', ')
  throw new DaglogError(
    'RUN_AMBIGUOUS',
    `"${reference}" can be ${ids.length} runs (${shown}${ids.length > 5 ? ', ...' : ''}); try: more of the id`,
    { reference, ids },
  )
}

function notFound(reference: string, why: string): DaglogError {
  return new DaglogError('RUN_NOT_FOUND', `no run "${reference}": ${why}; try: daglog runs`, {
    reference,
  })
}
