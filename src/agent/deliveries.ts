/**
 * Outcomes of bodies that ran, told one in a turn of the event loop and in the order of the log.
 * Two that were told in one turn would race on who has fewer promises in between, and no log says
 * that.
 */
interface Delivery {
  readonly seq: number
  readonly go: () => void
}

export class Deliveries {
  private waiting: Delivery[] = []
  private armed = false

  /** Resolves when the outcome at `seq` may be told. */
  next(seq: number): Promise<void> {
    return new Promise((go) => {
      this.waiting.push({ seq, go })
      this.arm()
    })
  }

  private arm(): void {
    if (this.armed) return
    this.armed = true
    setImmediate(() => {
      this.armed = false
      let lowest = 0
      for (const [at, { seq }] of this.waiting.entries())
        if (seq < (this.waiting[lowest] as Delivery).seq) lowest = at
      const [first] = this.waiting.splice(lowest, 1)
      if (this.waiting.length > 0) this.arm()
      first?.go()
    })
  }
}
