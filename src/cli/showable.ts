/**
 * Which bytes may go to a terminal as they are.
 */
import { isUtf8 } from 'node:buffer'

/** Text without anything that a terminal obeys; tabs and line ends are fine. */
export function isShowable(bytes: Uint8Array): boolean {
  if (!isUtf8(bytes)) return false
  return !/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/.test(
    Buffer.from(bytes).toString(),
  )
}
