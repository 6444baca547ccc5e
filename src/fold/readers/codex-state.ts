/**
 * What the Codex reader remembers from one record to the next, and the one place where it changes.
 * Plain data, bounded by the model's view: addresses of what is visible, never the messages
 * themselves. Knows no record: `codex-records.ts` does.
 */
import type { Compaction, CompactionMessage, SessionInfo } from '../../core/event-map.js'

import type { Hash } from '../../core/hash.js'
import type { Address } from '../address.js'

import type { Derived } from '../reader.js'
import { NO_PAIRS, type Pairs } from './codex-pairs.js'

/** What the first `session_meta` says: it owns the file; later ones are copies of a parent's. */
export interface CodexSession {
  readonly id: string
  /** When it began, in ms since 1970; tells what was copied from a parent. */
  readonly started?: number
  /** The session that this one goes on from, or whose sub-agent it is. */
  readonly parent?: string
  /** Records of paginated files below this ordinal are the parent's. */
  readonly ownOrdinal?: number
}

export interface CodexTurn {
  readonly number: number
  /** The vendor's id, where it gave one. */
  readonly id?: string
  /** True where a record says that it began, false where only its content does. */
  readonly recorded: boolean
  /** What the model did last: an answer may end a turn that nothing else ends. */
  readonly last?: 'answer' | 'work'
}

/**
 * What the model sees: its address, the turn that it belongs to (0 for none), and whose words it
 * is.
 */
export type Visible = readonly [address: Address, turn: number, who: 'user' | 'model' | 'summary']

/** A call without a result: its id, and the files that its arguments say it will change. */
export type OpenCall = readonly [id: string, files: readonly TouchedFile[]]
export interface TouchedFile {
  readonly path: string
  readonly op: string
}

/**
 * Tokens of one call, or of all so far: input, of it cached, of it written; output, of it
 * reasoning.
 */
export type TokenVector = readonly number[]

export interface TokenState {
  /** The running total that was told last. */
  readonly total?: TokenVector
  /** Calls so far; names them where nothing else does. */
  readonly calls: number
  /** Shares of responses that have a record, and whose count has not come yet. */
  readonly records: readonly TokenVector[]
  /** The last count that no record was found for, and what the call was named. */
  readonly counted?: readonly [id: string, share: TokenVector]
  /** What is read was written all at once, as a copy of a parent's history. */
  readonly copying: boolean
  readonly before?: number
}

export const NO_TOKENS: TokenState = { calls: 0, records: [], copying: false }

export interface CodexState {
  readonly session?: CodexSession
  /** The time of the last record that had one. */
  readonly time?: number
  /** A record has said when a turn begins, so that nothing else has to. */
  readonly turnsRecorded: boolean
  /** How many turns there were. */
  readonly turns: number
  readonly turn?: CodexTurn
  /** What the session is, as last derived. */
  readonly info: SessionInfo
  readonly model?: string
  /** Whose model it is, as messages name it. */
  readonly provider?: string
  /** Hash of what requests are made with beside messages, as last derived. */
  readonly header?: Hash
  readonly instructions?: string
  /** Id of the model's last item, where it has one. */
  readonly lastItem?: string | undefined
  readonly visible: readonly Visible[]
  readonly calls: readonly OpenCall[]
  readonly pairs: Pairs
  readonly tokens: TokenState
}

export const CODEX_START: CodexState = {
  turnsRecorded: false,
  turns: 0,
  info: {},
  visible: [],
  calls: [],
  pairs: NO_PAIRS,
  tokens: NO_TOKENS,
}

/** A state while a batch of lines is read: changed in place, copied before and after. */
export class CodexReading {
  readonly events: Derived[] = []
  visible: Visible[]
  state: CodexState
  /** Of the record that is being read. */
  line = 0
  time: number | undefined
  ordinal: number | undefined

  constructor(
    state: CodexState,
    readonly seq: number,
  ) {
    this.state = state
    this.visible = [...state.visible]
  }

  /** The state after all that was read. */
  end(): CodexState {
    return { ...this.state, visible: this.visible }
  }

  set(change: Partial<CodexState>): void {
    this.state = { ...this.state, ...change }
  }

  /** The session is something else than before, as far as `change` says so. */
  describe(change: SessionInfo): void {
    const { info } = this.state
    const news = Object.entries(change).some(
      ([key, value]) => JSON.stringify(info[key as keyof SessionInfo]) !== JSON.stringify(value),
    )
    if (!news) return
    this.set({ info: { ...info, ...change } })
    this.out('session/info', this.state.info)
  }

  out(type: string, data: unknown): void {
    const { line, time } = this
    this.events.push({ line, ...(time === undefined ? {} : { time }), type, data })
  }

  get address(): Address {
    return `${this.seq}.${this.line}`
  }

  /** An event that the model sees. */
  outVisible(who: Visible[2], type: string, data: unknown): void {
    this.out(type, data)
    const { address } = this
    const last = this.visible.at(-1)
    // Several messages of one line share an address: what a person said must not go with the
    // others.
    if (last?.[0] === address) {
      if (who === 'user') this.visible[this.visible.length - 1] = [address, last[1], who]
      return
    }
    this.visible.push([address, this.state.turn?.number ?? 0, who])
  }

  /** From here on the model sees `message` in the place of what is replaced. */
  replace(replaced: readonly Visible[], message: readonly CompactionMessage[]): void {
    const gone = new Set(replaced)
    this.visible = this.visible.filter((one) => !gone.has(one))
    const data: Compaction = { replaces: replaced.map(([address]) => address), message }
    if (message.length > 0) this.outVisible('summary', 'compaction', data)
    else this.out('compaction', data)
  }

  /** A record that has no neutral form: kept as it is, and shown. */
  other(record: string, value: unknown): void {
    this.out('session/record', { record, value })
  }
}
