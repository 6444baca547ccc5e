/**
 * Which channel of a thread costs what: each object counts once, for the channel that had it first.
 */
import type { Hash } from '../../core/hash.js'
import {
  isNode,
  KIND,
  type ListBody,
  type OpenNode,
  openBody,
  type Slot,
  type StubNode,
} from '../../value/tree-node.js'

export interface ChannelSize {
  readonly channel: string
  /** What was stored for it, in bytes before compression. */
  readonly bytes: number
  /** Values of it that differ from the one before. */
  readonly values: number
}

export class ChannelSizes {
  readonly #seen = new Set<Hash>()
  readonly #bytes = new Map<string, number>()
  readonly #values = new Map<string, number>()

  add(channel: string, slot: Slot): void {
    const bytes = this.#below(slot)
    this.#bytes.set(channel, (this.#bytes.get(channel) ?? 0) + bytes)
    if (bytes > 0) this.#values.set(channel, (this.#values.get(channel) ?? 0) + 1)
  }

  /** The most costly first. */
  report(): ChannelSize[] {
    const rows = [...this.#bytes].map(([channel, bytes]) => ({
      channel,
      bytes,
      values: this.#values.get(channel) ?? 0,
    }))
    return rows.sort((a, b) => b.bytes - a.bytes)
  }

  /** Bytes of the objects below that were not met before. */
  #below(slot: Slot): number {
    let bytes = 0
    const work: (Slot | ListBody | StubNode)[] = [slot]
    while (work.length > 0) {
      const next = work.pop()
      if (typeof next === 'string') bytes += next.length
      if (typeof next !== 'object' || next === null) continue
      if (next.hash !== undefined && this.#seen.has(next.hash)) continue
      if (next.hash !== undefined) this.#seen.add(next.hash)
      const opened: OpenNode = next.kind === KIND.stub ? next.home.open(next) : next
      // The object of a list is that of its body.
      const node = opened.kind === KIND.list ? openBody(opened.body) : opened
      if (node.kind === KIND.box) bytes += node.length
      else {
        bytes += node.hash === undefined ? 0 : node.bytes
        for (const child of node.slots) if (isNode(child as Slot)) work.push(child as Slot)
      }
    }
    return bytes
  }
}
