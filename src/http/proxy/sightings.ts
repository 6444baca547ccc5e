/**
 * What a sidecar saw, and what went past it: the summary at the end of a recording or a replay.
 * Counts and names hosts; holds no header, no body and no query.
 */

/** Why traffic went past the record. */
export type Unseen =
  /** Tunnelled as it is: the host is not among those asked for. */
  | 'not-asked-for'
  /** Tunnelled as it is: what the client spoke is neither TLS nor HTTP. */
  | 'not-http'
  /** The client would not have our certificate. */
  | 'tls-refused'
  /** The client speaks HTTP/2 and nothing else. */
  | 'http2-only'
  /** An upgrade, of a WebSocket say, was refused by closing the connection. */
  | 'upgrade-refused'
  /** Refused in a replay: nothing is connected to. */
  | 'replay-refused'
  /** Bytes that are no request. */
  | 'no-request'
  /** Without the token of a run. */
  | 'not-admitted'

export interface UnseenHost {
  readonly why: Unseen
  /** `host:port`, or who knows what a stranger asked for. */
  readonly host: string
  readonly count: number
  /** The system's or the library's code of the last one, where there was one. */
  readonly code?: string
}

export interface Coverage {
  /** Exchanges that were recorded, those that broke included. */
  readonly recorded: number
  /** Exchanges that were answered from a recording. */
  readonly replayed: number
  readonly missed: number
  /** Calls that a program's own recorder recorded; they were passed on. */
  readonly ownRecorder: number
  /** Of the recorded: no answer came, since the host could not be reached. */
  readonly unreachable: readonly {
    readonly host: string
    readonly code: string
    readonly count: number
  }[]
  readonly unseen: readonly UnseenHost[]
}

/** Hosts that are told apart; more are counted under one name. */
const HOSTS_MAX = 1000
const OTHERS = '(others)'

export class Sightings {
  recorded = 0
  replayed = 0
  missed = 0
  ownRecorder = 0
  private readonly past = new Map<string, { -readonly [K in keyof UnseenHost]: UnseenHost[K] }>()
  private readonly dead = new Map<string, { host: string; code: string; count: number }>()

  unseen(why: Unseen, host: string, code?: string): void {
    const found = this.past.get(`${why} ${host}`)
    if (found === undefined && this.past.size >= HOSTS_MAX && host !== OTHERS) {
      this.unseen(why, OTHERS, code)
      return
    }
    const entry = found ?? { why, host, count: 0 }
    entry.count += 1
    if (code !== undefined) entry.code = code
    this.past.set(`${why} ${host}`, entry)
  }

  unreachable(host: string, code: string): void {
    const key = `${code} ${this.dead.size >= HOSTS_MAX ? OTHERS : host}`
    const entry = this.dead.get(key) ?? { host, code, count: 0 }
    entry.count += 1
    this.dead.set(key, entry)
  }

  coverage(): Coverage {
    const { recorded, replayed, missed, ownRecorder } = this
    return {
      recorded,
      replayed,
      missed,
      ownRecorder,
      unreachable: [...this.dead.values()].map((entry) => ({ ...entry })),
      unseen: [...this.past.values()].map((entry) => ({ ...entry })),
    }
  }
}

/** What a run's session saw, with what could not be told to be anybody's. */
export function joined(own: Coverage, strangers: Coverage): Coverage {
  return { ...own, unseen: [...own.unseen, ...strangers.unseen] }
}
