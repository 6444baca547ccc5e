/**
 * A file that the command line makes: whole or not at all, readable by its owner only.
 */
import { randomBytes } from 'node:crypto'
import { open, rename, unlink } from 'node:fs/promises'
import { DaglogError, systemCode } from '../core/errors.js'

/**
 * Write `pieces` to a file and sync it. With `replace` the old one stays until the new one is
 * whole.
 * @returns How many bytes were written.
 * @throws USAGE where the file is there and may not be replaced, WRITE_FAILED.
 */
export async function writeNewFile(
  path: string,
  pieces: AsyncIterable<Uint8Array>,
  { replace }: { readonly replace: boolean },
): Promise<number> {
  const target = replace ? `${path}.${randomBytes(4).toString('hex')}.part` : path
  const file = await open(target, 'wx', 0o600).catch((cause: unknown) => {
    throw unwritable(path, cause)
  })
  try {
    let bytes = 0
    for await (const piece of pieces) {
      await file.writeFile(piece)
      bytes += piece.length
    }
    await file.sync()
    if (replace) await rename(target, path)
    return bytes
  } catch (error) {
    await unlink(target).catch(() => {}) // What is only half there helps nobody.
    throw error instanceof DaglogError ? error : unwritable(path, error)
  } finally {
    await file.close()
  }
}

function unwritable(path: string, cause: unknown): DaglogError {
  const system = systemCode(cause)
  if (system === 'EEXIST')
    return new DaglogError('USAGE', `${path} is there already; try: another name, or --force`, {
      path,
    })
  return new DaglogError(
    'WRITE_FAILED',
    `${path} cannot be written (${system ?? 'unknown'}); try: another place`,
    { path, system },
    { cause },
  )
}
