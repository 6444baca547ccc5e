/**
 * What readers derive from the lines of a transcript beside messages. Never stored. Types only.
 * @see docs/import.md#derived
 */

/** What the source says of the session itself; whole, when it changes. Derived only. */
export interface SessionInfo {
  readonly title?: string
  readonly session?: string
  readonly cwd?: string
  readonly branch?: string
  readonly model?: string
  /** The program that wrote the transcript, and its version. */
  readonly client?: string
  readonly version?: string
  /** Sessions that this one came from or belongs to, as the source calls them. */
  readonly parent?: SessionParent
  readonly source?: SourceRecord
}

/** A record of a source that has no neutral form, kept whole: "other". Derived only. */
export interface SessionRecord {
  /** What the source calls it: its type, with its subtype behind a slash. */
  readonly record: string
  readonly value: unknown
  readonly source?: SourceRecord
}

/** A place of a source that no record, or only a part of one, could be read of. Derived only. */
export interface SessionFault {
  /** `torn`, `fused`, `zeros`, `not-json`, `not-utf8`: see `fold/import-lines.ts`. */
  readonly fault: string
  /** In words, without a byte of what is there. */
  readonly text: string
  /** Where, in bytes of the source. */
  readonly from: number
  readonly to: number
}

/**
 * What the source says of one of its records beside its content: which it is, and what it hangs on.
 * In derived events as `source`, wherever there is something to say.
 */
export interface SourceRecord {
  readonly id?: string
  readonly parent?: string | null
  /** Neutral marks, by the names of the format: `sidechain`, `meta`, `approximate`, ... */
  readonly [mark: string]: unknown
}

export interface SessionParent {
  readonly session: string
  readonly kind: 'fork' | 'child'
  /**
   * Set where this one goes on from that without a copy: how far that counts, by the number of its
   * first record that does not, or by bytes of its source.
   */
  readonly before?: { readonly ordinal?: number; readonly bytes?: number }
}
