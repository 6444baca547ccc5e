/**
 * What `doctor` found: one thing, in words.
 */
export interface Finding {
  /** `note`: neither good nor bad. `incomplete`: somebody has to finish something. */
  readonly state: 'good' | 'note' | 'incomplete' | 'bad'
  readonly about: string
  readonly what: string
  readonly advice?: string
}
