/**
 * The transcript files below some paths, in an order in which parents come before their sub-agents.
 * Follows links, each place once; what cannot be looked at is told and hides nothing else.
 */
import { opendir, realpath, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { DaglogError, systemCode } from '../core/errors.js'

export interface FoundFile {
  /** Absolute. */
  readonly path: string
  readonly size: number
  /** In ms since 1970. */
  readonly mtime: number
  /** True where it was named itself, not found in a folder. */
  readonly named: boolean
}

/** A place that was left out, and why. */
export interface LeftOut {
  readonly path: string
  readonly reason: string
}

const TRANSCRIPT = /\.jsonl(?:\.zst)?$/

/** @throws READ_FAILED for a path that was given and is not there. */
export async function* findFiles(
  paths: readonly string[],
  onLeftOut: (left: LeftOut) => void,
): AsyncGenerator<FoundFile> {
  const seen = new Set<string>()
  for (const given of paths) {
    const path = resolve(given)
    const found = await stat(path).catch((cause: unknown) => {
      throw new DaglogError(
        'READ_FAILED',
        `${path} cannot be read (${systemCode(cause)}); try: another path`,
        { path },
        { cause },
      )
    })
    if (found.isDirectory()) yield* filesBelow(path, seen, onLeftOut)
    else yield* fileAt(path, seen, onLeftOut, true)
  }
}

async function* filesBelow(
  dir: string,
  seen: Set<string>,
  onLeftOut: (left: LeftOut) => void,
): AsyncGenerator<FoundFile> {
  // A link may lead back up: each directory is walked once, whatever leads there.
  const real = await realpath(dir).catch(() => dir)
  if (seen.has(real)) return
  seen.add(real)
  const names: { name: string; isDir: boolean; isLink: boolean }[] = []
  try {
    for await (const entry of await opendir(dir))
      names.push({ name: entry.name, isDir: entry.isDirectory(), isLink: entry.isSymbolicLink() })
  } catch (error) {
    onLeftOut({ path: dir, reason: `cannot be listed (${systemCode(error)})` })
  }
  names.sort((a, b) => (a.name < b.name ? -1 : 1))
  const here = new Set(names.map(({ name }) => name))
  // A session's file before the directory with its sub-agents.
  const dirs: string[] = []
  for (const { name, isDir, isLink } of names) {
    const path = join(dir, name)
    if (isDir || (isLink && (await isDirectory(path)))) dirs.push(path)
    else if (TRANSCRIPT.test(name) && !(name.endsWith('.zst') && here.has(name.slice(0, -4))))
      yield* fileAt(path, seen, onLeftOut, false)
  }
  for (const path of dirs) yield* filesBelow(path, seen, onLeftOut)
}

async function isDirectory(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false
}

async function* fileAt(
  path: string,
  seen: Set<string>,
  onLeftOut: (left: LeftOut) => void,
  named: boolean,
): AsyncGenerator<FoundFile> {
  try {
    const { dev, ino, size, mtimeMs } = await stat(path)
    const place = `${dev}:${ino}`
    if (seen.has(place)) return
    seen.add(place)
    yield { path, size, mtime: Math.trunc(mtimeMs), named }
  } catch (error) {
    onLeftOut({ path, reason: `cannot be read (${systemCode(error)})` })
  }
}
