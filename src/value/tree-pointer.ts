/**
 * Places in a tree: paths as callers give them, and as JSON pointers for messages and differences.
 */

/** Steps from the root: keys of objects, and indexes of lists as numbers or as their digits. */
export type TreePath = readonly (string | number)[]

/** One more step of a JSON pointer (RFC 6901). */
export function pointerStep(step: string | number): string {
  const text = String(step)
  return `/${/[~/]/.test(text) ? text.replaceAll('~', '~0').replaceAll('/', '~1') : text}`
}

/** The JSON pointer of a path. */
export function pointerOf(path: TreePath): string {
  return path.map(pointerStep).join('')
}

/** The index that `step` names, or undefined where it names none: -1, 1.5, '01', 'length'. */
export function indexOfStep(step: string | number): number | undefined {
  if (typeof step === 'number') return Number.isSafeInteger(step) && step >= 0 ? step : undefined
  // The longest index that an array can have is of ten digits.
  if (step.length > 10 || !/^(0|[1-9]\d*)$/.test(step)) return undefined
  return Number(step)
}
