/** A machine on which an engine runs: a store goes in; the same store comes out, of which every call takes its time, until the machine dies. */

import type * as fc from 'fast-check'
import type { Store } from '../../src/store/contract/store.ts'
import { scheduled } from '../../src/testing/deterministic.ts'
import type { Cue } from './commands.ts'

/** Calls of a store that resolve at once and answer to nobody. */
const AT_ONCE: ReadonlySet<string> = new Set(['name', 'watch', 'close'])

/** How many steps a story may have before it is said to have no end. */
const MOST_STEPS = 6_000

/** Decides what happens next among all that is under way. */
export class Fate {
  readonly #scheduler: fc.Scheduler
  #steps = 0
  #now = 0

  constructor(scheduler: fc.Scheduler) {
    this.#scheduler = scheduler
  }

  /** Whether there is no end to it. */
  get endless(): boolean {
    return this.#steps > MOST_STEPS
  }

  /** A moment later than all before. */
  tick(): number {
    return (this.#now += 1)
  }

  /** Resolves when fate wants it. */
  async point(label: string): Promise<void> {
    this.#steps += 1
    await (this.endless ? never() : this.#scheduler.schedule(Promise.resolve(), label))
  }

  /** Lets everything happen that can. */
  async settle(): Promise<void> {
    await this.#scheduler.waitIdle()
  }
}

const never = (): Promise<never> => new Promise(() => undefined)

/** A process with a store: when it dies, nothing of it goes on. */
export class Machine {
  readonly no: number
  readonly store: Store
  readonly #fate: Fate
  readonly #death = Promise.withResolvers<void>()
  #dead = false

  /** @param reports of every call that the store has answered */
  constructor(
    number: number,
    fate: Fate,
    store: Store,
    reports: (call: string, args: readonly unknown[], result: unknown) => void,
  ) {
    this.no = number
    this.#fate = fate
    this.store = scheduled(store, (label) => this.point(`${number} ${label}`), {
      atOnce: AT_ONCE,
      told: reports,
    })
  }

  get dead(): boolean {
    return this.#dead
  }

  /** Goes on when fate wants it, and never when the machine is dead by then. */
  async point(label: string): Promise<void> {
    if (!this.#dead) await this.#fate.point(label)
    if (this.#dead) await never()
  }

  /** What a work comes to, or nothing when the machine dies before. */
  async orDeath<T>(work: Promise<T>): Promise<T | undefined> {
    return Promise.race([work, this.#death.promise.then(() => undefined)])
  }

  die(): void {
    this.#dead = true
    this.#death.resolve()
  }
}

/** Those who wait for their cue. */
export class Cues {
  readonly #waiting: { readonly cue: Cue; readonly go: () => void }[] = []

  /** Resolves at the next such moment. */
  async wait(cue: Cue): Promise<void> {
    if (cue !== 'now') await new Promise<void>((go) => this.#waiting.push({ cue, go }))
  }

  /** It is such a moment. */
  give(cue: Cue): void {
    for (const each of this.#waiting.filter((waiting) => waiting.cue === cue)) this.#release(each)
  }

  /** Nothing happens any more: whoever has waited longest goes on. False when nobody waits. */
  giveAny(): boolean {
    const [first] = this.#waiting
    if (first !== undefined) this.#release(first)
    return first !== undefined
  }

  #release(each: { readonly go: () => void }): void {
    this.#waiting.splice(
      this.#waiting.findIndex(({ go }) => go === each.go),
      1,
    )
    each.go()
  }
}

/** The timers of the machines: waiting takes as long as fate wants, and hearts beat when they are told to. */
export class Timers {
  readonly beats = new Map<unknown, () => void>()
  readonly #fate: Fate
  readonly #real = {
    setTimeout: globalThis.setTimeout,
    setInterval: globalThis.setInterval,
    clearInterval: globalThis.clearInterval,
  }

  constructor(fate: Fate) {
    this.#fate = fate
  }

  /** Puts them in the place of the real ones. */
  install(): void {
    const later = (call: () => void): void => void this.#fate.point('timer').then(call)
    const beat = (call: () => void): object => {
      const handle = {}
      this.beats.set(handle, call)
      return handle
    }
    Object.assign(globalThis, {
      setTimeout: later,
      setInterval: beat,
      clearInterval: (handle: unknown) => void this.beats.delete(handle),
    })
  }

  remove(): void {
    Object.assign(globalThis, this.#real)
  }
}
