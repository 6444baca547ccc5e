/**
 * Sidechains inside a session's file, where old versions of Claude Code wrote what sub-agents did:
 * which lines belong to which of them.
 */
import { readLines } from '../fold/import-lines.js'
import type { Parting, PartLines } from './format.js'

const MARKS = ['"isSidechain":true', '"isSidechain": true']

type Json = Readonly<Record<string, unknown>>

export class ClaudeSidechains implements Parting {
  /** Which sidechain a line is in, by its uuid. */
  private readonly roots = new Map<string, string>()
  private unnamed = 0
  /** Whether the file as a whole is a sub-agent's own: then there is nothing to part. */
  private alone: boolean | undefined;

  *parts(bytes: Buffer): Generator<PartLines> {
    this.alone ??= firstFlag(bytes)
    if (this.alone === true || !MARKS.some((mark) => bytes.includes(mark))) return
    const found = new Map<string, Buffer[]>()
    let at = 0
    while (at < bytes.length) {
      const end = bytes.indexOf(0x0a, at)
      const next = end < 0 ? bytes.length : end + 1
      const line = bytes.subarray(at, next)
      const record = MARKS.some((mark) => line.includes(mark)) ? recordOf(line) : undefined
      if (record?.isSidechain === true) {
        const part = this.rootOf(record)
        const lines = found.get(part)
        if (lines === undefined) found.set(part, [line])
        else lines.push(line)
      }
      at = next
    }
    for (const [part, lines] of found)
      yield { part, lines: lines.length, bytes: Buffer.concat(lines) }
  }

  /**
   * An agent has one chain; without its name, a chain begins where there is no parent in a
   * sidechain.
   */
  private rootOf({ agentId, uuid, parentUuid }: Json): string {
    if (typeof agentId === 'string') return `agent-${agentId}`
    const above = typeof parentUuid === 'string' ? this.roots.get(parentUuid) : undefined
    const own = typeof uuid === 'string' ? uuid : undefined
    const root = above ?? `side-${own?.slice(0, 8) ?? this.nextUnnamed()}`
    if (own !== undefined) this.roots.set(own, root)
    return root
  }

  private nextUnnamed(): number {
    this.unnamed += 1
    return this.unnamed
  }
}

function firstFlag(bytes: Buffer): boolean | undefined {
  const at = bytes.indexOf('"isSidechain"')
  if (at < 0) return undefined
  return /^"isSidechain"\s*:\s*true/.test(bytes.toString('latin1', at, at + 32))
}

function recordOf(line: Buffer): Json | undefined {
  for (const { value } of readLines(line))
    if (typeof value === 'object' && value !== null) return value as Json
  return undefined
}
