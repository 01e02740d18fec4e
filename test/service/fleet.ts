/** Service processes over one PostgreSQL that are killed and restarted, and their clients. */

import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { inject } from 'vitest'

export interface Reply {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

export class Fleet {
  readonly #arguments: readonly string[]
  readonly #children: (ChildProcessByStdio<null, Readable, null> | null)[] = []
  readonly #urls: (string | null)[] = []
  #turn = 0
  kills = 0

  /** @param inputs the arguments of each process */
  constructor(inputs: readonly string[]) {
    this.#arguments = inputs
  }

  /** Starts a process unless it runs. */
  async start(index: number): Promise<void> {
    if (this.#children[index] !== undefined && this.#children[index] !== null) return
    const child = spawn(process.execPath, [join(inject('built'), 'test/soak-child.js'), ...this.#arguments], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#children[index] = child
    const [text] = await once(child.stdout.setEncoding('utf8'), 'data')
    this.#urls[index] = String(text).trim()
  }

  /** Kills with SIGKILL. */
  async kill(index: number): Promise<void> {
    const child = this.#children[index]
    if (child === undefined || child === null) return
    this.#children[index] = null
    this.#urls[index] = null
    const dead = once(child, 'exit')
    child.kill('SIGKILL')
    await dead
    this.kills += 1
  }

  async killAll(): Promise<void> {
    await Promise.all(this.#children.map((_, index) => this.kill(index)))
  }

  /** Address of a living process, in turn; an unused address if all are dead. */
  get url(): string {
    const living = this.#urls.filter((url) => typeof url === 'string')
    this.#turn += 1
    return living[this.#turn % Math.max(1, living.length)] ?? 'http://127.0.0.1:9'
  }

  /** Sends a request to any process. If that process dies, repeats the request unchanged at another. */
  async request(method: string, path: string, body?: object): Promise<Reply> {
    for (;;) {
      try {
        const response = await fetch(`${this.url}${path}`, {
          method,
          ...(body !== undefined && { body: JSON.stringify(body) }),
        })
        const text = await response.text()
        if (response.status < 500) return { status: response.status, body: JSON.parse(text) as Reply['body'] }
      } catch {
        // The process was killed: retry.
      }
      await sleep(20)
    }
  }
}

export const sleep = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => void setTimeout(resolve, milliseconds))
