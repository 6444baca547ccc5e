/**
 * Events as lines of JSON.
 * Exact: what JSON cannot carry is named in `enc`, the way frames do it.
 * @see docs/format.md#values
 */
import { encodeValue } from '../core/encode.js'
import type { RunEvent } from '../core/event.js'
import type { EventsOptions } from './event-reader.js'
import type { RunView } from './run-view.js'

/**
 * The events of a run, one JSON object a line, without the newline: `{"seq":3,"time":1790000000000,
 * "type":"tool/result","data":{...},"hash":"..."}`. Further members where they apply: `enc`, a list
 * of
 * `[pointer, tag]` for values in `data` that JSON cannot carry; `refs` for values left out of line;
 * `"redacted":true` in place of `data`.
 * @throws OBJECT_MISSING, OBJECT_CORRUPT at an event whose values cannot be loaded.
 */
export async function* jsonlEvents(
  view: Pick<RunView, 'events'>,
  options: EventsOptions = {},
): AsyncGenerator<string, void> {
  for await (const event of view.events(options)) yield lineOf(event)
}

/** One event as a line of JSON, without the newline. */
export function lineOf(event: RunEvent): string {
  const { seq, time, type, data, hash, redacted, ...rest } = event
  let line = `{"seq":${seq},"time":${time},"type":${JSON.stringify(type)}`
  if (redacted === true) {
    line += ',"redacted":true'
  } else {
    const { text, tags } = encodeValue(data)
    line += `,"data":${text}`
    if (tags.length > 0) line += `,"enc":${JSON.stringify(tags)}`
  }
  line += `,"hash":${JSON.stringify(hash)}`
  for (const [key, value] of Object.entries(rest)) {
    line += `,${JSON.stringify(key)}:${JSON.stringify(value)}`
  }
  return escapeControls(`${line}}`)
}

/** Outside strings JSON has none of these, so escaping them changes no value. */
const CONTROLS = /[\u007f-\u009f\u2028\u2029]/g

/** Characters that JSON lets stand and that terminals obey or take for the end of a line. */
function escapeControls(line: string): string {
  return line.replace(CONTROLS, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
