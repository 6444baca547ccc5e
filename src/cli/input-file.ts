/**
 * Files named on the command line; `-` is standard input.
 */
import { constants, isUtf8 } from 'node:buffer'
import { readFile } from 'node:fs/promises'
import { DaglogError, systemCode } from '../core/errors.js'

/** @throws USAGE where there is no such file, READ_FAILED where it cannot be read. */
export async function readInput(path: string): Promise<Buffer> {
  if (path === '-') return readStdin()
  try {
    return await readFile(path)
  } catch (cause) {
    throw unreadable(path, cause)
  }
}

/** Why a file cannot be read, in words. */
export function unreadable(path: string, cause: unknown): DaglogError {
  const system = systemCode(cause)
  if (system === 'ENOENT' || system === 'ENOTDIR')
    return new DaglogError('USAGE', `there is no file ${path}; try: ls -l ${path}`, { path })
  return new DaglogError(
    'READ_FAILED',
    `${path} cannot be read (${system ?? 'unknown'}); try: ls -l ${path}`,
    { path, system },
    { cause },
  )
}

async function readStdin(): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of process.stdin) pieces.push(piece as Buffer)
  return Buffer.concat(pieces)
}

/** UTF-8 as text, exactly (byte order mark and line ends stay); anything else as bytes. */
export function textOrBytes(bytes: Buffer): string | Uint8Array {
  const isText = bytes.length <= constants.MAX_STRING_LENGTH && isUtf8(bytes)
  return isText ? bytes.toString('utf8') : new Uint8Array(bytes)
}
