/**
 * The data of events that are a LangGraph thread. Types only.
 * Values of channels are trees: in `events()` they stand as the tree holds them, which is not as
 * the graph had them; `daglog/langgraph` gives those.
 * @see docs/langgraph.md#events
 */

export type LanggraphVersions = Readonly<Record<string, number | string>>

/** A checkpoint, whole. */
export interface LanggraphCheckpoint {
  /** The namespace: empty for the graph itself, of subgraphs what LangGraph calls them. */
  readonly ns: string
  readonly id: string
  /** The id of the checkpoint that it follows. */
  readonly parent?: string
  /** The version of LangGraph's checkpoint format. */
  readonly v: number
  readonly ts: string
  readonly versions: LanggraphVersions
  readonly seen: Readonly<Record<string, LanggraphVersions>>
  /** As LangGraph gave it; what JSON cannot say stands under `$`. */
  readonly metadata: unknown
  /** What its run was told about itself, for searches; LangGraph does not get it back. */
  readonly labels?: unknown
  /** The value of each channel that has one: a tree. */
  readonly values: unknown
}

/** What a task wrote while the checkpoint was the last one. */
export interface LanggraphWrites {
  readonly ns: string
  /** Of the checkpoint, which may come later in the log. */
  readonly id: string
  readonly task: string
  /** The place of the task in its step, by which writes are ordered. */
  readonly path: string
  readonly channels: readonly (readonly [channel: string, index: number])[]
  /** In the order of `channels`; a tree where they are not short. */
  readonly values: unknown
}

export interface LanggraphDelete {
  /** All that there were by then, unless given. */
  readonly checkpoints?: readonly (readonly [ns: string, id: string])[]
  /** Why, in a word: `thread`, `prune` or `runs`. */
  readonly reason: string
}

/** By type. */
export interface LanggraphEvents {
  'langgraph/checkpoint': LanggraphCheckpoint
  'langgraph/writes': LanggraphWrites
  'langgraph/delete': LanggraphDelete
}
