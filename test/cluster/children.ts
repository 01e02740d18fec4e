/** Child processes of a run. */

import { type ChildProcess, spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { ChildMessage } from './rounds.ts'

export interface Child {
  /** Starts or holds a round; resolves once the child has. */
  send(command: 'round' | 'hold', round: number): Promise<void>
  /** What a reader has received of a round. */
  query(round: number): Promise<Extract<ChildMessage, readonly ['seen', ...unknown[]]>>
  end(): void
}

/** Starts a file of this folder as a child, which ends with this process. */
export function startChild(
  file: string,
  args: readonly string[],
  logs: string,
  onMessage: (text: ChildMessage) => void,
): Child {
  const child: ChildProcess = spawn(process.execPath, [join(import.meta.dirname, file), ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    // Keeps an interrupt at the terminal from the children: the run ends them.
    detached: true,
  })
  child.stderr?.pipe(createWriteStream(join(logs, `${file}-${child.pid}.log`)))
  const waiting = new Map<string, (text: ChildMessage) => void>()
  let failure: Error | null = null
  const gone = Promise.withResolvers<never>()
  gone.promise.catch(() => undefined)
  child.once('exit', (code, signal) => {
    failure = new Error(`${file} ended with ${code ?? signal}; see ${logs}`)
    gone.reject(failure)
  })
  if (child.stdout !== null) {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const text = JSON.parse(line) as ChildMessage
      onMessage(text)
      waiting.get(text[0])?.(text)
    })
  }
  const report = async <T extends ChildMessage>(line: string, type: T[0]): Promise<T> => {
    if (failure !== null) throw failure
    const { promise, resolve } = Promise.withResolvers<ChildMessage>()
    waiting.set(type, resolve)
    child.stdin?.write(`${line}\n`)
    return (await Promise.race([promise, gone.promise])) as T
  }
  return {
    async send(command, round) {
      await report(`${command} ${round}`, command === 'round' ? 'started' : 'held')
    },
    query: (round) => report(`seen ${round}`, 'seen'),
    end: () => void child.stdin?.end(),
  }
}
