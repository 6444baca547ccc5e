/**
 * One line on standard error that says how far a long verb is; only where a person can see it.
 */
import type { Output } from './output.js'

const EVERY_MS = 100

export class Progress {
  private shown = 0
  private length = 0

  constructor(private readonly out: Output) {}

  say(text: string): void {
    const now = performance.now()
    if (now - this.shown < EVERY_MS) return
    this.shown = now
    this.length = Math.max(this.length, text.length)
    this.out.progress(`\r${text.padEnd(this.length)}`)
  }

  done(): void {
    if (this.length > 0) this.out.progress(`\r${' '.repeat(this.length)}\r`)
    this.length = 0
  }
}
