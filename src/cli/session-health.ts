/**
 * The health of a run as a session, as findings: its turns, its tool calls, what is cached of it.
 */
import { toolPairs } from '../fold/tool-pairs.js'
import type { RunView } from '../store/run-view.js'
import { auditSnapshots } from '../store/snapshot-audit.js'
import type { Store } from '../store/store.js'
import type { Finding } from './finding.js'
import { countText } from './quantity.js'

/** @param held Whether a writer that is alive has the run. */
export async function* sessionFindings(
  store: Store,
  view: RunView,
  held: boolean,
): AsyncGenerator<Finding> {
  const about = `run ${view.id}`
  const { turn, steps } = await view.open()
  const open = [...(turn === undefined ? [] : [`turn ${turn}`]), ...steps.map((id) => `step ${id}`)]
  const what = open.slice(0, 5).join(', ')
  if (open.length > 0 && held) yield { state: 'note', about, what: `at work: ${what}` }
  if (open.length > 0 && !held) yield { state: 'incomplete', about, what: `left open: ${what}` }
  const { unanswered, unasked } = await view.project(toolPairs)
  if (unanswered.count > 0) {
    const calls = countText(unanswered.count, 'tool call')
    yield { state: 'note', about, what: `${calls} without a result${places(unanswered)}` }
  }
  if (unasked.count > 0) {
    const results = countText(unasked.count, 'tool result')
    yield { state: 'note', about, what: `${results} without a call${places(unasked)}` }
  }
  const { found, unusable } = await auditSnapshots(store.context, view)
  if (unusable.length > 0) {
    const which = `${unusable.length} of ${countText(found, 'snapshot')} cannot be used`
    const why = `${which} (${unusable.join(', ')}); they are made anew`
    yield { state: 'note', about, what: why }
  }
}

const PLACES_SHOWN = 5

function places({
  count,
  at,
}: {
  readonly count: number
  readonly at: readonly unknown[]
}): string {
  const shown = at.slice(0, PLACES_SHOWN).join(', ')
  return ` (seq ${shown}${count > PLACES_SHOWN ? ', ...' : ''}); \`messages --provider\` pairs them`
}
