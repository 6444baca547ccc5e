/**
 * Whether two names mean one model. Knows how providers write names, not which models there are.
 */

const PREFIX = /^.*\/|^(?:[a-z]+\.)?anthropic\./
const VERSION = /[-@](?:latest|(?<date>\d{8}|\d{4}-\d{2}-\d{2}|\d{3,4}))(?:-v\d+(?::\d+)?)?$/

/**
 * An alias (`gpt-5`, `claude-sonnet-4-5`, `...-latest`) and the dated name that the provider
 * answers with are one model; two different dates are two.
 */
export function sameModel(left: string, right: string): boolean {
  if (left === right) return true
  const [one, other] = [nameOf(left), nameOf(right)]
  if (one.family !== other.family) return false
  return one.date === undefined || other.date === undefined || one.date === other.date
}

function nameOf(model: string): { family: string; date: string | undefined } {
  const name = model.replace(PREFIX, '')
  const found = VERSION.exec(name)
  const family = found === null ? name : name.slice(0, found.index)
  return { family: family.replace(/-0$/, ''), date: found?.groups?.date }
}
