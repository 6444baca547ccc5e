/**
 * The exchanges of a run, each as what is needed to find it by its key. Bodies are not looked at.
 * Survives any data: what makes no sense as an exchange is none.
 */
import type { RunEvent } from '../core/event.js'
import { isHash } from '../core/hash.js'
import { appendTo, EMPTY_LIST, type GrowingList, toArray } from './growing-list.js'
import type { Projection } from './projection.js'
import { fieldsOf, listOf, nameOf } from './provider/shape.js'

/** One exchange. A tuple, since there may be very many. */
export type ExchangeRow = readonly [
  key: string,
  ordinal: number,
  seq: number,
  /** Of its request, as it began: what is like it has the same. */
  method: string,
  url: string,
  end: string,
  /** Names and versions of the normalisers that its key was made with. */
  rules: string,
]

export interface ExchangesState {
  readonly rows: GrowingList<ExchangeRow>
  /** Requests that have no exchange yet: ordinal, method, url. */
  readonly open: readonly (readonly [ordinal: number, method: string, url: string])[]
}

export const exchanges: Projection<ExchangesState, readonly ExchangeRow[]> = {
  key: 'http-exchanges',
  version: 1,
  types: ['http/start', 'http/exchange'],
  init: () => ({ rows: EMPTY_LIST, open: [] }),
  apply: (state, event) =>
    event.type === 'http/start' ? begun(state, event) : ended(state, event),
  view: ({ rows }) => toArray(rows),
}

function begun(state: ExchangesState, { data }: RunEvent): ExchangesState {
  const { ordinal, method, url } = fieldsOf(data)
  if (typeof ordinal !== 'number') return state
  return { ...state, open: [...state.open, [ordinal, nameOf(method), nameOf(url)]] }
}

function ended(state: ExchangesState, { seq, data }: RunEvent): ExchangesState {
  const { key, ordinal, end, request, rules } = fieldsOf(data)
  if (!isHash(key) || typeof ordinal !== 'number') return state
  const start = state.open.find(([one]) => one === ordinal)
  const { method, url } = fieldsOf(request)
  const row: ExchangeRow = [
    key,
    ordinal,
    seq,
    start?.[1] ?? nameOf(method),
    start?.[2] ?? nameOf(url),
    nameOf(end),
    ruleNames(rules),
  ]
  const open = start === undefined ? state.open : state.open.filter((one) => one !== start)
  return { rows: appendTo(state.rows, row), open }
}

function ruleNames(rules: unknown): string {
  return listOf(rules)
    .map((rule) => `${nameOf(fieldsOf(rule).name)}@${String(fieldsOf(rule).version)}`)
    .join(' ')
}
