/**
 * Rules by which requests that differ count as the same: opt-in, named, versioned.
 * Applied to what a key is made of and to nothing that is stored or sent.
 */
import { DaglogError } from '../core/errors.js'

interface NormaliserName {
  /** Stands in the place of what is taken out, and in the record. */
  readonly name: string
  /** Bumped whenever the rule changes what it does. */
  readonly version: number
}

/** What is at a JSON pointer of the body; `*` stands for every member or element. */
export interface PointerNormaliser extends NormaliserName {
  readonly pointer: string
}

/** What matches in the body's text (JSON: canonical), or in the URL. */
export interface RegexNormaliser extends NormaliserName {
  readonly regex: RegExp
  readonly in?: 'body' | 'url'
}

/** A header does not count. */
export interface HeaderNormaliser extends NormaliserName {
  readonly header: string
}

export type Normaliser = PointerNormaliser | RegexNormaliser | HeaderNormaliser

/** @throws USAGE where two have one name, or a pattern is not global. */
export function checkNormalisers(rules: readonly Normaliser[]): void {
  const names = new Set<string>()
  for (const rule of rules) {
    if (names.has(rule.name)) throw badRule(rule, 'its name is taken by another one')
    names.add(rule.name)
    if ('regex' in rule && !rule.regex.global) throw badRule(rule, 'its pattern needs the flag g')
    if ('pointer' in rule && !rule.pointer.startsWith('/')) {
      throw badRule(rule, 'its pointer must begin with /')
    }
  }
}

function badRule({ name }: Normaliser, what: string): DaglogError {
  return new DaglogError('USAGE', `normaliser "${name}": ${what}; try: correct it`, { name })
}

/** Applies rules, and remembers which of them changed anything. */
export class Normalising {
  readonly changed = new Set<string>()

  constructor(readonly rules: readonly Normaliser[]) {}

  /** A parsed body; changed in place. */
  value(value: unknown): void {
    for (const rule of this.rules) {
      if (!('pointer' in rule)) continue
      const steps = rule.pointer
        .slice(1)
        .split('/')
        .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
      this.replaceAt(value, steps, rule.name)
    }
  }

  private replaceAt(value: unknown, steps: readonly string[], name: string): void {
    if (typeof value !== 'object' || value === null) return
    const [step, ...rest] = steps as [string, ...string[]]
    const members = value as Record<string, unknown>
    for (const key of step === '*' ? Object.keys(members) : [step]) {
      if (!Object.hasOwn(members, key)) continue
      if (rest.length > 0) this.replaceAt(members[key], rest, name)
      else {
        members[key] = name
        this.changed.add(name)
      }
    }
  }

  text(text: string, place: 'body' | 'url'): string {
    let result = text
    for (const rule of this.rules) {
      if (!('regex' in rule) || (rule.in ?? 'body') !== place) continue
      const after = result.replaceAll(rule.regex, () => rule.name)
      if (after !== result) this.changed.add(rule.name)
      result = after
    }
    return result
  }

  /** Whether a header, in lower case, counts. */
  counts(header: string): boolean {
    const rule = this.rules.find((one) => 'header' in one && one.header.toLowerCase() === header)
    if (rule !== undefined) this.changed.add(rule.name)
    return rule === undefined
  }

  get wantsText(): boolean {
    return this.rules.some((rule) => 'regex' in rule && rule.in !== 'url')
  }
}
