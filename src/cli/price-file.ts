/**
 * Prices that somebody wrote into a file of their own.
 */
import { readFile } from 'node:fs/promises'
import { DaglogError } from '../core/errors.js'
import type { Price } from '../fold/prices.js'
import { unreadable } from './input-file.js'

const NUMBERS = ['input', 'output'] as const
const MAYBE_NUMBERS = ['cacheRead', 'cacheWrite', 'cacheWrite1h', 'inputTokensMax'] as const

/** `{"prices": [{"model", "input", "output", ...}]}`. @throws READ_FAILED, USAGE */
export async function readPrices(path: string): Promise<readonly Price[]> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw unreadable(path, cause)
  })
  let file: unknown
  try {
    file = JSON.parse(text)
  } catch (cause) {
    throw wrong(path, 'it is no JSON', cause)
  }
  const prices = (file as { prices?: unknown } | null)?.prices
  if (!Array.isArray(prices)) throw wrong(path, 'it has no list "prices"')
  return prices.map((price, at) => checked(price, (what) => wrong(path, `price ${at}: ${what}`)))
}

function checked(price: unknown, wrongPrice: (what: string) => DaglogError): Price {
  if (typeof price !== 'object' || price === null) throw wrongPrice('it is no object')
  const given = price as Record<string, unknown>
  if (typeof given.model !== 'string') throw wrongPrice('"model" is no string')
  for (const name of NUMBERS) if (!isPrice(given[name])) throw wrongPrice(`"${name}" is no price`)
  for (const name of MAYBE_NUMBERS)
    if (given[name] !== undefined && !isPrice(given[name]))
      throw wrongPrice(`"${name}" is no number`)
  const { from } = given
  if (from !== undefined && (typeof from !== 'string' || !/^\d{4}-\d\d-\d\d$/.test(from)))
    throw wrongPrice('"from" is no day like 2026-10-07')
  return given as unknown as Price
}

function isPrice(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

function wrong(path: string, what: string, cause?: unknown): DaglogError {
  return new DaglogError(
    'USAGE',
    `${path} holds no prices: ${what}; try: {"prices":[{"model":"my-model","input":1.5,"output":6}]}`,
    { path },
    { cause },
  )
}
