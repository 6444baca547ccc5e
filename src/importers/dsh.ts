/**
 * Session logs of the DeepSeek harness: a header line that says which session it is, then events.
 */
import type { TranscriptFormat } from './format.js'

export const dshFormat: TranscriptFormat = {
  key: 'dsh',
  prefix: 'dsh',
  neverRecorded: ['the exact requests and responses'],
  identify({ records }) {
    const header = records[0] as Readonly<Record<string, unknown>> | null | undefined
    if (header?.type !== 'session' || typeof header.version !== 'number') return undefined
    const { id, createdAt, parentSession } = header
    if (typeof id !== 'string' || typeof createdAt !== 'number') return undefined
    return {
      session: id,
      label: id.replace(/[^\w-]+/g, '').slice(0, 8),
      ...(createdAt > 0 ? { started: createdAt } : {}),
      ...(typeof parentSession === 'string' ? { parent: parentSession } : {}),
    }
  },
}
