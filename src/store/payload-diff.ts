/**
 * How two payloads differ: as places in them, or as two texts for the caller to render.
 */
import { diffJson, type JsonChange } from '../value/json-diff.js'

/** Changes listed of one pair of payloads. */
export const PAYLOAD_CHANGES_MAX = 100

export interface PayloadDiff {
  /** Empty where `text` is given. */
  readonly changes: readonly JsonChange[]
  /** Changes beyond those listed; absent where there are none. */
  readonly more?: number
  /** Where lists were too different to be aligned in the best way. */
  readonly cut?: true
  /** The payloads are texts of JSON; the changes are inside them. */
  readonly parsed?: true
  /** Two texts that differ as texts. */
  readonly text?: { readonly left: string; readonly right: string }
}

/** Compare two payloads; undefined where they are equal. */
export function diffPayloads(left: unknown, right: unknown): PayloadDiff | undefined {
  if (typeof left === 'string' && typeof right === 'string') {
    return left === right ? undefined : diffTexts(left, right)
  }
  return diffValues(left, right)
}

function diffTexts(left: string, right: string): PayloadDiff {
  const leftJson = parsed(left)
  const rightJson = leftJson === undefined ? undefined : parsed(right)
  // Texts of the same JSON differ in what JSON does not say, such as spaces: show them as texts.
  const diff = rightJson === undefined ? undefined : diffValues(leftJson?.value, rightJson.value)
  return diff === undefined ? { changes: [], text: { left, right } } : { ...diff, parsed: true }
}

function diffValues(left: unknown, right: unknown): PayloadDiff | undefined {
  const { changes, more, cut } = diffJson(left, right, { limit: PAYLOAD_CHANGES_MAX })
  if (changes.length === 0) return undefined
  return { changes, ...(more > 0 && { more }), ...(cut && { cut }) }
}

/** Only objects and lists are worth it: `12` against `13` reads well as text. */
function parsed(text: string): { readonly value: object } | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}
