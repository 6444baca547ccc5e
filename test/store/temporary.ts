/**
 * Stores in directories that go away with the test.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { type Notice, type OpenStoreOptions, openStore, type Store } from '../../src/index.js'

export function temporaryDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'daglog-test-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

/** A store in a fresh directory, or in the one given; notices are kept instead of printed. */
export async function temporaryStore(
  dir = join(temporaryDir(), 'store'),
  options: OpenStoreOptions = {},
): Promise<{ store: Store; dir: string; notices: Notice[] }> {
  const notices: Notice[] = []
  const store = await openStore(dir, { onNotice: (notice) => notices.push(notice), ...options })
  return { store, dir, notices }
}

export function logPath(dir: string, id: string, segment = 0): string {
  return join(dir, 'runs', id, `log.${String(segment).padStart(6, '0')}.jsonl`)
}

/** Change a file's bytes behind everybody's back. */
export function tamper(path: string, change: (bytes: Buffer) => Buffer): void {
  writeFileSync(path, change(readFileSync(path)))
}

export function flipBit(bytes: Buffer, bit: number): Buffer {
  const flipped = Buffer.from(bytes)
  flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7))
  return flipped
}
