/**
 * Whether anything can still move in this process without us: timers, files, sockets that were
 * begun since. No clock is asked: what is on its way holds the event loop open, and Node says what
 * does.
 */
export class Quiet {
  private readonly before = busy()

  /** True where nothing is on its way that was not when this was made. */
  now(): boolean {
    return busy() <= this.before
  }
}

/** What the loop itself uses to turn. */
const TURNING: ReadonlySet<string> = new Set(['Immediate', 'TickObject'])

function busy(): number {
  return process.getActiveResourcesInfo().filter((kind) => !TURNING.has(kind)).length
}

/** The next turn of the event loop: all that was ready has run. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** A little later, for what is on its way. */
export function later(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, LATER_MS))
}

/** How often it is looked whether what is on its way has come; decides nothing. */
const LATER_MS = 1
