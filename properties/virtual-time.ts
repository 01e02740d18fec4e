/** Virtual time: hours pass in milliseconds, at the same speed on every machine. */

interface Timer {
  time: number
  readonly every: number | null
  readonly call: () => void
}

/** Completes work that needs no time. */
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

/** Milliseconds. */
const STEP = 10

export class VirtualTime {
  readonly #timers = new Map<object, Timer>()
  readonly #real = {
    setTimeout: globalThis.setTimeout,
    clearTimeout: globalThis.clearTimeout,
    setInterval: globalThis.setInterval,
    clearInterval: globalThis.clearInterval,
  }
  readonly #dateNow = Date.now
  readonly #begun = Date.now()
  #now = 0

  install(): void {
    const begin = (call: () => void, after: number, every: number | null): object => {
      const timer = { ref: () => timer, unref: () => timer, hasRef: () => true }
      this.#timers.set(timer, { time: this.#now + Math.max(1, after), every, call })
      return timer
    }
    const end = (timer: object): void => void this.#timers.delete(timer)
    Object.assign(globalThis, {
      setTimeout: (call: () => void, after = 1) => begin(call, after, null),
      clearTimeout: end,
      setInterval: (call: () => void, after = 1) => begin(call, after, Math.max(1, after)),
      clearInterval: end,
    })
    Date.now = () => this.#begun + Math.floor(this.#now)
    Object.defineProperty(performance, 'now', { configurable: true, value: () => this.#now })
  }

  remove(): void {
    Object.assign(globalThis, this.#real)
    Date.now = this.#dateNow
    Reflect.deleteProperty(performance, 'now')
    this.#timers.clear()
  }

  async pass(milliseconds: number): Promise<void> {
    const end = this.#now + milliseconds
    while (this.#now < end) {
      const to = Math.min(end, this.#now + STEP)
      for (let next = this.#next(to); next !== null; next = this.#next(to)) {
        this.#now = Math.max(this.#now, next.timer.time)
        if (next.timer.every === null) this.#timers.delete(next.key)
        else next.timer.time += next.timer.every
        next.timer.call()
        await turn()
      }
      this.#now = to
      await turn()
    }
  }

  #next(to: number): { readonly key: object; readonly timer: Timer } | null {
    let first: { readonly key: object; readonly timer: Timer } | null = null
    for (const [key, timer] of this.#timers)
      if (timer.time <= to && timer.time < (first?.timer.time ?? Infinity)) first = { key, timer }
    return first
  }

  /** Advances the time until the work ends. */
  async ended<T>(work: Promise<T>): Promise<T> {
    const over = new AbortController()
    const watched = work.finally(() => over.abort())
    watched.catch(() => undefined)
    for (let turns = 0; !over.signal.aborted; turns += 1) {
      if (turns > 1_000) throw new Error('it does not end')
      await this.pass(STEP)
    }
    return watched
  }
}
