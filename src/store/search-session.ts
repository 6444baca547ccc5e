/**
 * Where a text stands in what readers derive: session events of transcripts and exchanges, by type.
 * What is derived is not stored, so it is made again and searched as the JSON that it would be.
 * @see docs/cli.md#search
 */
import { encodeValue } from '../core/encode.js'
import { type Found, Needle } from '../value/needle.js'
import type { RunView } from './run-view.js'
import type { SearchHit, SearchOptions } from './search.js'
import { excerptOf } from './search-context.js'
import { Pattern } from './search-pattern.js'

export class SessionSearch {
  private readonly find: (bytes: Buffer) => readonly Found[]
  private readonly types: readonly string[]

  constructor({ text, regex = false, ignoreCase = false, types = [] }: SearchOptions) {
    this.types = types
    if (regex || ignoreCase) {
      const source = regex ? text : text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
      const pattern = new Pattern(source, { ignoreCase })
      this.find = (bytes) => [...pattern.inPiece(bytes)]
    } else {
      const needle = new Needle(text)
      this.find = (bytes) => needle.find(bytes)
    }
  }

  async *run(view: RunView): AsyncGenerator<SearchHit> {
    for await (const { seq, line, type, data } of view.session({ types: this.types })) {
      if (line === undefined) continue
      const bytes = Buffer.from(encodeValue(data).text)
      for (const found of this.find(bytes))
        yield { run: view.id, seq, line, type, ...excerptOf(bytes, found) }
    }
  }
}
