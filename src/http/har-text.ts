/**
 * Bytes as HAR holds them: text where they are UTF-8, base64 where not; and back, exactly.
 */
import { Buffer, isUtf8 } from 'node:buffer'
import { type Fields, textOf } from '../fold/provider/shape.js'
import type { HarText } from './har-log.js'

export function harText(bytes: Uint8Array, mimeType: string): HarText {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (isUtf8(buffer)) return { mimeType, text: buffer.toString('utf8') }
  return { mimeType, text: buffer.toString('base64'), encoding: 'base64' }
}

/** Undefined where there is no text, or where it is in an encoding that nobody has told of. */
export function bytesOfHarText({ text, encoding }: Fields): Uint8Array | undefined {
  const said = textOf(text)
  if (said === undefined) return undefined
  if (encoding === undefined || encoding === '' || encoding === 'utf-8' || encoding === 'utf8')
    return Buffer.from(said, 'utf8')
  return encoding === 'base64' ? Buffer.from(said, 'base64') : undefined
}
