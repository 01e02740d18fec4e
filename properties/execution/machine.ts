/** Simulates processes and timers. */

import type * as fc from 'fast-check'
import type { Store } from '../../src/store/contract/store.ts'
import { scheduled } from '../../src/testing/deterministic.ts'
import type { Cue } from './commands.ts'

/** Store calls that are neither delayed nor reported. */
const AT_ONCE: ReadonlySet<string> = new Set(['name', 'watch', 'close'])

/** Stories with more steps are endless. */
const MAX_STEPS = 6_000

export class Fate {
  readonly #scheduler: fc.Scheduler
  #steps = 0
  #now = 0

  constructor(scheduler: fc.Scheduler) {
    this.#scheduler = scheduler
  }

  get endless(): boolean {
    return this.#steps > MAX_STEPS
  }

  /** Returns a time later than all earlier ones. */
  tick(): number {
    return (this.#now += 1)
  }

  async point(label: string): Promise<void> {
    this.#steps += 1
    await (this.endless ? never() : this.#scheduler.schedule(Promise.resolve(), label))
  }

  async settle(): Promise<void> {
    await this.#scheduler.waitIdle()
  }
}

const never = (): Promise<never> => new Promise(() => undefined)

/** Once it dies, none of its work continues. */
export class Machine {
  readonly number: number
  readonly store: Store
  readonly #fate: Fate
  readonly #death = Promise.withResolvers<void>()
  #dead = false

  /** @param reports receives every call that the store has answered */
  constructor(
    number: number,
    fate: Fate,
    store: Store,
    reports: (call: string, args: readonly unknown[], result: unknown) => void,
  ) {
    this.number = number
    this.#fate = fate
    this.store = scheduled(store, (label) => this.point(`${number} ${label}`), {
      atOnce: AT_ONCE,
      onCall: reports,
    })
  }

  get dead(): boolean {
    return this.#dead
  }

  /** Never resolves once the machine is dead. */
  async point(label: string): Promise<void> {
    if (!this.#dead) await this.#fate.point(label)
    if (this.#dead) await never()
  }

  /** Resolves to undefined if the machine dies first. */
  async orDeath<T>(work: Promise<T>): Promise<T | undefined> {
    return Promise.race([work, this.#death.promise.then(() => undefined)])
  }

  die(): void {
    this.#dead = true
    this.#death.resolve()
  }
}

export class Cues {
  readonly #waiting: { readonly cue: Cue; readonly go: () => void }[] = []

  async wait(cue: Cue): Promise<void> {
    if (cue !== 'now') await new Promise<void>((go) => this.#waiting.push({ cue, go }))
  }

  give(cue: Cue): void {
    for (const each of this.#waiting.filter((waiting) => waiting.cue === cue)) this.#release(each)
  }

  /** Releases the command that has waited longest. Returns false if none waits. */
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

/** The scheduler decides how long waits take; heartbeats run on command. */
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
