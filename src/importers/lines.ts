/**
 * Lines of no format that is known, taken in because somebody named the file: kept exactly, shown
 * as they are.
 */
import { basename } from 'node:path'
import type { TranscriptFormat } from './format.js'

export const linesFormat: TranscriptFormat = {
  key: 'lines',
  prefix: 'lines',
  neverRecorded: ['what the lines mean: their form is not known'],
  identify({ path, records }) {
    if (records.length === 0) return undefined
    const stem = basename(path).replace(/\.jsonl?$/, '')
    return { session: path, label: stem.replace(/[^\w-]+/g, '-').slice(0, 32) }
  },
}
