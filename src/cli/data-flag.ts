/**
 * `--data JSON|-`: a value for verbs that record one.
 */
import type { Call } from './call.js'
import { readInput } from './input-file.js'
import { JsonFault, parseJsonText } from './json-text.js'

/** What `--data` says; `otherwise` where it is not given. @throws USAGE */
export async function dataOf(call: Call, otherwise: unknown): Promise<unknown> {
  const given = call.text('data')
  if (given === undefined) return otherwise
  const text = given === '-' ? (await readInput('-')).toString() : given
  try {
    return parseJsonText(text)
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error
    throw call.usage(
      `--data is no JSON that can be kept: ${error.message}`,
      `--data '{"text":"hello"}'`,
    )
  }
}
