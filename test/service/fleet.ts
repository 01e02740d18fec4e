/** Services as processes over one PostgreSQL, which are killed and started again, and their clients. */

import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { inject } from 'vitest'

/** What a client was told. */
export interface Told {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

/** Processes by their number, some of which are dead. */
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

  /** Starts one under a number, unless one lives there. */
  async start(index: number): Promise<void> {
    if (this.#children[index] !== undefined && this.#children[index] !== null) return
    const child = spawn(process.execPath, [join(inject('built'), 'test/soak-child.ts'), ...this.#arguments], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#children[index] = child
    const [text] = await once(child.stdout.setEncoding('utf8'), 'data')
    this.#urls[index] = String(text).trim()
  }

  /** SIGKILL: nothing of it runs on. */
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

  /** Where one is that lives, another one each time; an address where none is, when all are dead. */
  get url(): string {
    const living = this.#urls.filter((url) => typeof url === 'string')
    this.#turn += 1
    return living[this.#turn % Math.max(1, living.length)] ?? 'http://127.0.0.1:9'
  }

  /** Asks any of them, and another one where that dies: an operation is asked again as it was. */
  async ask(method: string, path: string, body?: object): Promise<Told> {
    for (;;) {
      try {
        const response = await fetch(`${this.url}${path}`, {
          method,
          ...(body !== undefined && { body: JSON.stringify(body) }),
        })
        const text = await response.text()
        if (response.status < 500) return { status: response.status, body: JSON.parse(text) as Told['body'] }
      } catch {
        // It was killed.
      }
      await sleep(20)
    }
  }
}

export const sleep = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => void setTimeout(resolve, milliseconds))
