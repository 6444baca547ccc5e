/**
 * Answers requests from what was recorded, and from nothing else: it has no network to go to.
 * Per key in sequence, with a cursor for each client; a request that nothing answers is a miss,
 * which is told to the client, to the log of the replay, and in the report at the end.
 */
import type { FoundExchange, LoadedExchange } from '../store/exchange-index.js'
import { exchangesOf, loadExchange } from '../store/exchange-index.js'
import type { RunView } from '../store/run-view.js'
import { piecesOf } from './chunk-table.js'
import type { Answer, Miss } from './exchange.js'
import { type Fingerprint, passingFingerprint, storeFingerprint } from './fingerprint.js'
import { type AskedRequest, type IdentifiedRequest, identify } from './identify.js'
import { requestIdentity } from './key.js'
import { missOf } from './miss.js'
import { checkNormalisers, type Normaliser } from './normalise.js'
import { collected, cutTo } from './pieces.js'
import { ExchangeScrub } from './scrub.js'

/** What the n-th request of a key gets. */
export type SequencePolicy =
  /** The n-th exchange; there is none after the last. */
  | 'sequence'
  /** The same, and the last one from then on. */
  | 'last'
  /** Always the first. */
  | 'first'
  /** The first again after the last. */
  | 'loop'

/** When pieces of an answer come: at once, as they came, or that many times as fast. */
export type ReplayTiming = 'instant' | 'recorded' | { readonly speed: number }

export interface ReplayerOptions {
  readonly policy?: SequencePolicy
  readonly timing?: ReplayTiming
  readonly normalisers?: readonly Normaliser[]
  readonly secrets?: readonly string[]
  readonly secretHeaders?: readonly string[]
}

export interface ReplayReport {
  /** Whether every request was answered. What was never asked for does not count against it. */
  readonly ok: boolean
  readonly answered: number
  readonly misses: readonly Miss[]
  /** Recorded exchanges that nobody asked for, oldest first. */
  readonly unused: readonly {
    readonly run: string
    readonly ordinal: number
    readonly method: string
    readonly url: string
  }[]
}

export class Replayer {
  private readonly byKey = new Map<string, FoundExchange[]>()
  private readonly cursors = new Map<string, Map<string, number>>()
  private readonly used = new Set<FoundExchange>()
  private readonly misses: Miss[] = []
  private answered = 0
  private readonly seen = new Set<string>()

  /** @internal `openReplayer` makes one. */
  constructor(
    private readonly all: readonly FoundExchange[],
    keys: readonly string[],
    private readonly options: ReplayerOptions,
    private readonly fingerprint: Fingerprint,
  ) {
    for (const [index, found] of all.entries()) {
      const key = keys[index] as string
      const list = this.byKey.get(key)
      if (list === undefined) this.byKey.set(key, [found])
      else list.push(found)
    }
    for (const list of this.byKey.values()) {
      if (list.length > 1) list.sort(inOrder)
    }
  }

  /**
   * The recorded answer to a request, or what can be said about there being none.
   * @param options `client`: who asks; each has cursors of its own. `quiet`: a miss is no fault,
   * since somebody else will answer.
   * @throws OBJECT_MISSING, OBJECT_CORRUPT, CHAIN_BROKEN where what is recorded cannot be read
   */
  async answer(
    request: AskedRequest,
    { client = '', quiet = false }: { readonly client?: string; readonly quiet?: boolean } = {},
  ): Promise<Answer | Miss> {
    const { options } = this
    const scrub = new ExchangeScrub({
      fingerprint: this.fingerprint,
      seen: this.seen,
      ...(options.secrets && { secrets: options.secrets }),
      ...(options.secretHeaders && { headers: options.secretHeaders }),
    })
    const asked = await identify(request, scrub, options.normalisers ?? [])
    const { found, recorded, times } = this.next(asked.identity.key, client)
    if (found === undefined) return this.miss(asked, { recorded, times, quiet })
    this.used.add(found)
    this.answered += 1
    return answerOf(asked.identity.key, await loadExchange(found), options.timing ?? 'instant')
  }

  /** The exchange that a key comes to now, and moves its cursor. */
  private next(
    key: string,
    client: string,
  ): { found: FoundExchange | undefined; recorded: number; times: number } {
    const list = this.byKey.get(key) ?? []
    let cursors = this.cursors.get(client)
    if (cursors === undefined) {
      cursors = new Map()
      this.cursors.set(client, cursors)
    }
    const at = cursors.get(key) ?? 0
    cursors.set(key, at + 1)
    const place = placeOf(this.options.policy ?? 'sequence', at, list.length)
    return { found: list[place], recorded: list.length, times: at + 1 }
  }

  private async miss(
    asked: IdentifiedRequest,
    facts: { readonly recorded: number; readonly times: number; readonly quiet: boolean },
  ): Promise<Miss> {
    const { recorded, times, quiet } = facts
    // Where it goes live, nobody reads how near it was.
    const miss = await missOf({ asked, recorded, times, all: quiet ? [] : this.all })
    if (!quiet) this.misses.push(miss)
    return miss
  }

  /** What was asked so far, and how that went. */
  report(): ReplayReport {
    return {
      ok: this.misses.length === 0,
      answered: this.answered,
      misses: [...this.misses],
      unused: this.all
        .filter((found) => !this.used.has(found))
        .map(({ row: [, ordinal, , method, url], source }) => ({
          run: source.run,
          ordinal,
          method,
          url,
        })),
    }
  }
}

function placeOf(policy: SequencePolicy, at: number, count: number): number {
  if (policy === 'first') return 0
  if (policy === 'last') return Math.min(at, count - 1)
  return policy === 'loop' && count > 0 ? at % count : at
}

/** In the order in which requests began. Runs one after the other: they are in order already. */
function inOrder(a: FoundExchange, b: FoundExchange): number {
  return a.source.run === b.source.run ? a.row[1] - b.row[1] : 0
}

/**
 * Replay what these runs recorded, in their order. Reads their logs; never writes to them.
 * @throws USAGE where a normaliser makes no sense; RUN_NOT_FOUND
 */
export async function openReplayer(
  sources: RunView | readonly RunView[],
  options: ReplayerOptions = {},
): Promise<Replayer> {
  const normalisers = options.normalisers ?? []
  checkNormalisers(normalisers)
  const views: readonly RunView[] = Array.isArray(sources) ? sources : [sources as RunView]
  const all = (await Promise.all(views.map((view) => exchangesOf(view)))).flat()
  const rules = normalisers.map(({ name, version }) => `${name}@${version}`).join(' ')
  const keys: string[] = []
  for (const found of all) {
    // The same rules on both sides: what was keyed by others is keyed again.
    const [key, , , , , , keyedBy] = found.row
    keys.push(keyedBy === rules ? key : await keyedAgain(found, normalisers))
  }
  const backend = views[0]?.context.backend
  const fingerprint = backend === undefined ? passingFingerprint() : await storeFingerprint(backend)
  return new Replayer(all, keys, options, fingerprint)
}

async function keyedAgain(
  found: FoundExchange,
  normalisers: readonly Normaliser[],
): Promise<string> {
  const { data, body } = await loadExchange(found)
  const whole = await collected(body('request').bytes())
  return requestIdentity({ ...data.request, body: whole }, normalisers).key
}

/** A recorded exchange as an answer. */
export function answerOf(key: string, loaded: LoadedExchange, timing: ReplayTiming): Answer {
  const { data, run, seq } = loaded
  const { response, failure } = data
  const { size, bytes } = loaded.body('response')
  return {
    kind: 'answer',
    key,
    ordinal: data.ordinal,
    seq,
    run,
    status: response?.status ?? 0,
    statusText: response?.statusText ?? '',
    ...(response?.httpVersion && { httpVersion: response.httpVersion }),
    headers: response?.headers ?? [],
    ...(response?.trailers && { trailers: response.trailers }),
    ...(response?.informational && { informational: response.informational }),
    ...(response?.url && { url: response.url }),
    form: response?.form ?? 'decoded',
    end: data.end,
    ...(failure && { failure }),
    size: response === undefined ? 0 : size,
    chunks: () =>
      response === undefined
        ? collectNothing()
        : cutTo(bytes(), piecesOf(data.chunks, size), paceOf(timing)),
  }
}

async function* collectNothing(): AsyncGenerator<Uint8Array> {}

/** By how much recorded waits are divided; undefined for none at all. */
function paceOf(timing: ReplayTiming): number | undefined {
  if (timing === 'instant') return undefined
  return timing === 'recorded' ? 1 : timing.speed
}
