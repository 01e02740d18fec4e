/** Ends streams whose API key was deleted or has expired, because a stream must not outlive its key. */

import { HttpProblem } from '../http/problem.ts'
import { isWithin } from './api-keys.ts'
import type { Caller, Credential, Identify } from './caller.ts'

export interface Access {
  readonly caller: Caller
  readonly credential: Credential | null
  readonly org: string | null
}

/** Maximum milliseconds between two checks of a key. */
const INTERVAL = 5_000

export const keyInterval = (heartbeat: number): number => Math.min(heartbeat, INTERVAL)

interface Watched {
  readonly access: Access
  readonly ends: Set<() => void>
  timer: ReturnType<typeof setTimeout> | undefined
}

export class KeyWatch {
  readonly #identify: Identify
  readonly #interval: number
  readonly #watched = new Map<string, Watched>()

  constructor(identify: Identify, interval: number) {
    this.#identify = identify
    this.#interval = interval
  }

  async isGood({ caller, credential, org }: Access): Promise<boolean> {
    // Service keys are valid while the process lives.
    if (caller.type !== 'api_key') return true
    if (!isWithin(caller.key, Date.now())) return false
    try {
      return (await this.#identify(credential, org)) !== null
    } catch (error) {
      if (error instanceof HttpProblem) return false
      throw error
    }
  }

  watch(access: Access, end: () => void): () => void {
    if (access.caller.type !== 'api_key') return () => undefined
    const name = JSON.stringify([access.credential?.text, access.org])
    const watched = this.#watched.get(name) ?? { access, ends: new Set(), timer: undefined }
    this.#watched.set(name, watched)
    const callEnd = (): void => end()
    watched.ends.add(callEnd)
    watched.timer ??= this.#after(name, watched)
    return () => {
      watched.ends.delete(callEnd)
      if (watched.ends.size > 0) return
      clearTimeout(watched.timer)
      if (this.#watched.get(name) === watched) this.#watched.delete(name)
    }
  }

  #after(name: string, { access: { caller } }: Watched): ReturnType<typeof setTimeout> {
    const until = caller.type === 'api_key' ? caller.key.expires_at : null
    const remaining = until === null ? Infinity : Math.max(0, Date.parse(until) - Date.now())
    return setTimeout(() => void this.#check(name), Math.min(this.#interval, remaining))
  }

  async #check(name: string): Promise<void> {
    const watched = this.#watched.get(name)
    if (watched === undefined) return
    // While the store is unavailable, streams remain open: they have nothing to send.
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
