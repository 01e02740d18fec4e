/**
 * A stream outlives the request that began it, and must not outlive its key: keys that were deleted or ran out end what
 * they opened.
 */

import { HttpProblem } from '../http/problem.ts'
import { isWithin } from './api-keys.ts'
import type { Caller, Credential, Identify } from './caller.ts'

/** A caller who was let in, and what with. */
export interface Access {
  readonly caller: Caller
  readonly credential: Credential | null
  /** The organization that the request was for. */
  readonly org: string | null
}

/** Milliseconds between two looks at a key, at most. */
const INTERVAL = 5_000

/** The same for streams with such a heartbeat. */
export const keyInterval = (heartbeat: number): number => Math.min(heartbeat, INTERVAL)

interface Watched {
  readonly access: Access
  readonly ends: Set<() => void>
  timer: ReturnType<typeof setTimeout> | undefined
}

/** Looks after the keys of open streams; those of one key share a look. */
export class KeyWatch {
  readonly #identify: Identify
  readonly #interval: number
  readonly #watched = new Map<string, Watched>()

  /** @param interval milliseconds between two looks at a key; the time at which one runs out is met besides */
  constructor(identify: Identify, interval: number) {
    this.#identify = identify
    this.#interval = interval
  }

  /** Whether the caller would be let in now. @throws what the store throws, and then it is not known. */
  async isGood({ caller, credential, org }: Access): Promise<boolean> {
    // Session keys are those of the process, and hold as long as it does.
    if (caller.type !== 'api_key') return true
    if (!isWithin(caller.key, Date.now())) return false
    try {
      return (await this.#identify(credential, org)) !== null
    } catch (error) {
      if (error instanceof HttpProblem) return false
      throw error
    }
  }

  /** Calls `end` once, when the caller would no longer be let in; returns what ends the watch. */
  watch(access: Access, end: () => void): () => void {
    if (access.caller.type !== 'api_key') return () => undefined
    const name = JSON.stringify([access.credential?.text, access.org])
    const watched = this.#watched.get(name) ?? { access, ends: new Set(), timer: undefined }
    this.#watched.set(name, watched)
    const own = (): void => end()
    watched.ends.add(own)
    watched.timer ??= this.#after(name, watched)
    return () => {
      watched.ends.delete(own)
      if (watched.ends.size > 0) return
      clearTimeout(watched.timer)
      if (this.#watched.get(name) === watched) this.#watched.delete(name)
    }
  }

  #after(name: string, { access: { caller } }: Watched): ReturnType<typeof setTimeout> {
    const until = caller.type === 'api_key' ? caller.key.expires_at : null
    const left = until === null ? Infinity : Math.max(0, Date.parse(until) - Date.now())
    return setTimeout(() => void this.#look(name), Math.min(this.#interval, left))
  }

  async #look(name: string): Promise<void> {
    const watched = this.#watched.get(name)
    if (watched === undefined) return
    // While the store is away it is not known, and a stream has nothing to give.
    const good = await this.isGood(watched.access).catch(() => true)
    if (this.#watched.get(name) !== watched) return
    if (good) {
      watched.timer = this.#after(name, watched)
      return
    }
    this.#watched.delete(name)
    for (const end of watched.ends) end()
  }
}
