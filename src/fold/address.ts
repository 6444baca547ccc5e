/**
 * How an event is named from inside its run, and from a fork of it.
 */
import type { RunEvent } from '../core/event.js'

/** Hex digits of a run's identity that tell the runs of one lineage apart. */
const RUN_DIGITS = 16

/**
 * `12`; `12.3` for the fourth thing that a reader found in event 12; `9f2c0a17b3d4e5f6:12` for
 * event 12 of the run that a fork begins in. Plain numbers are numbers.
 */
export type Address = number | string

export function addressOf({ seq, line, run }: Pick<RunEvent, 'seq' | 'line' | 'run'>): Address {
  if (line === undefined && run === undefined) return seq
  const place = line === undefined ? `${seq}` : `${seq}.${line}`
  return run === undefined ? place : `${run.slice(0, RUN_DIGITS)}:${place}`
}
