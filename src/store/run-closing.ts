/**
 * The end of an open run: who has something to append first, then the writer, then who is told.
 */
export class RunClosing {
  private begun: Promise<void> | undefined
  private writerClosing: Promise<void> | undefined
  private readonly before: (() => Promise<void>)[] = []
  private readonly after: (() => void)[] = []

  constructor(private readonly closeWriter: () => Promise<void>) {}

  /** Nothing can be appended any more. */
  get done(): boolean {
    return this.writerClosing !== undefined
  }

  /** Awaited while the run can still be appended to. */
  onClosing(listener: () => Promise<void>): void {
    this.before.push(listener)
  }

  /** Called once the run is closed. */
  onClosed(listener: () => void): void {
    this.after.push(listener)
  }

  /** @throws the first error of a write that nobody has seen yet. */
  close(): Promise<void> {
    if (this.before.length === 0) return this.closeNow()
    this.begun ??= (async () => {
      try {
        for (const listener of this.before) await listener()
      } finally {
        await this.closeNow()
      }
    })()
    return this.begun
  }

  private closeNow(): Promise<void> {
    this.writerClosing ??= this.closeWriter().finally(() => {
      for (const listener of this.after) listener()
    })
    return this.writerClosing
  }
}
