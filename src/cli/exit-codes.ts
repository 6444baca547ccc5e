/**
 * What the command line's exit codes mean. Scripts rely on them: a meaning is never changed.
 */
export const EXIT_CODES = {
  0: 'yes, or done',
  1: 'an error; for `diff`: the runs differ',
  2: 'wrong usage',
  3: 'verification failed, or data is damaged',
  4: 'not found',
  5: 'incomplete: an open turn or step, a torn tail, something left out',
  6: 'replay miss or divergence',
  7: 'locked by another writer',
  130: 'interrupted',
  141: 'nobody reads standard output any more',
} as const

export type ExitCode = keyof typeof EXIT_CODES

/** A child's own code becomes ours: it may be any, and means what the child means by it. */
export function childExit(code: number): ExitCode {
  return code as ExitCode
}
