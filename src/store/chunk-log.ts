/**
 * Pieces of a message on their way into the log: many in a frame, each with its time.
 * They ride along unsynced; the message that follows is authoritative and synced.
 */
import { CHUNK_PIECES_MAX, CHUNK_WAIT_MS } from '../core/limits.js'
import type { Run } from './run.js'

export class ChunkLog {
  private pieces: unknown[] = []
  private times: number[] = []
  private timer: NodeJS.Timeout | undefined
  private writing: Promise<unknown> = Promise.resolve()

  constructor(
    private readonly run: Run,
    /** The step of the model call. */
    private readonly message: string,
  ) {}

  async add(piece: unknown): Promise<void> {
    this.pieces.push(piece)
    this.times.push(this.run.context.now())
    if (this.pieces.length >= CHUNK_PIECES_MAX) await this.flush()
    // A stream may stall: what came must not wait for what comes.
    else this.timer ??= setTimeout(() => this.write(), CHUNK_WAIT_MS).unref()
  }

  /** Resolves once all that came is in the log. @throws WRITE_FAILED, WRITER_FENCED */
  async flush(): Promise<void> {
    this.write()
    await this.writing
  }

  private write(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    if (this.pieces.length === 0) return
    const { message, pieces, times } = this
    this.pieces = []
    this.times = []
    const appending = this.run.append('assistant/chunk', { message, pieces, times })
    const writing = this.writing.then(() => appending)
    // Whoever flushes next is told; until then nobody may call it unhandled.
    writing.catch(() => {})
    this.writing = writing
  }
}
