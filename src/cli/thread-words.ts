/**
 * One event of a LangGraph thread in a few words: which checkpoint, after which, in which channels.
 * Data may have any shape, whatever its type says.
 */
import type { RunEvent } from '../core/event.js'
import { printable } from '../value/preview.js'
import type { Piece } from './output.js'
import { countText } from './quantity.js'

type Members = Readonly<Record<string, unknown>>
type Words = (event: RunEvent, data: Members) => readonly Piece[] | undefined

const NAME_LENGTH = 60
/**
 * Enough of a checkpoint's id to tell it from its neighbours: the time in front is alike in all.
 */
const ID_LENGTH = 13
const CHANNELS_MAX = 8

export const THREAD_WORDS: Readonly<Record<string, Words>> = {
  'langgraph/checkpoint': (_, data) => {
    const { step, source } = (data.metadata ?? {}) as Members
    const channels = Object.keys((data.versions ?? {}) as object)
    return [
      ['bold', short(data.id)],
      ...spaceOf(data),
      ' ',
      ['cyan', `step ${printable(String(step))}`],
      ` ${printable(String(source))}`,
      ...(data.parent === undefined ? [] : [['dim', ` after ${short(data.parent)}`] as const]),
      ['dim', `  ${countText(channels.length, 'channel')}`],
    ]
  },
  'langgraph/writes': (_, data) => {
    const names = Array.isArray(data.channels) ? data.channels.map(nameIn) : []
    const shown = names.slice(0, CHANNELS_MAX).join(', ')
    return [
      ['dim', `on ${short(data.id)}`],
      ...spaceOf(data),
      ' ',
      ['cyan', shown + (names.length > CHANNELS_MAX ? ', …' : '')],
    ]
  },
  'langgraph/delete': (_, data) => [
    ['red', 'deleted '],
    Array.isArray(data.checkpoints)
      ? countText(data.checkpoints.length, 'checkpoint')
      : 'the thread',
    ['dim', `  ${printable(String(data.reason), NAME_LENGTH)}`],
  ],
}

function spaceOf({ ns }: Members): readonly Piece[] {
  return typeof ns === 'string' && ns !== '' ? [' ', ['yellow', printable(ns, NAME_LENGTH)]] : []
}

function nameIn(channel: unknown): string {
  return printable(String(Array.isArray(channel) ? channel[0] : channel), NAME_LENGTH)
}

function short(id: unknown): string {
  return printable(String(id).slice(0, ID_LENGTH), ID_LENGTH)
}
