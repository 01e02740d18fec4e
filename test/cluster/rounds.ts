/**
 * How a process of the run is told what to do: by lines on its standard input, which ends with the run. A round begins,
 * and work is done again and again until it is held; then each work has come to an end.
 */

import { createInterface } from 'node:readline'

/** What a process says, a line of JSON each. */
export type Said =
  /** Acknowledged: by what kind of writer, in which conversation, what, and from when to when in milliseconds. */
  | readonly [
      type: 'acknowledged',
      kind: string,
      conversation: string,
      name: string,
      from: number,
      to: number,
    ]
  /** A call failed, and is made again. */
  | readonly [type: 'failed', code: string]
  | readonly [type: 'started', round: number]
  | readonly [type: 'held', round: number]
  /** What readers have of a round: by reader and conversation the ids by position; what came out of order. */
  | readonly [
      type: 'seen',
      seen: Readonly<Record<string, readonly (readonly [seq: number, id: string])[]>>,
      disorder: readonly string[],
      resets: number,
    ]

/** Says a line. */
export const say = (...output: Said): void => void process.stdout.write(`${JSON.stringify(output)}\n`)

/** What a process does in the rounds. */
export interface Worker {
  /** Called at the beginning of each round, and tried again until it succeeds. */
  begin(round: number): Promise<void>
  /** Called again and again, with a number that counts up within the round. */
  work(round: number, count: number): Promise<void>
}

/** Milliseconds between two works, and before one that failed is tried again. */
const PAUSE = 40
const RETRY = 100

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Does something until it succeeds; what it fails for is said. */
export async function insist<T>(attempt: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
      say('failed', code)
      await sleep(RETRY)
    }
  }
}

/** Carries out the rounds that it is told of, and hands other lines on; ends the process with its standard input. */
export async function work(
  workers: readonly Worker[],
  tell: (line: string) => Promise<void> = async () => undefined,
): Promise<void> {
  let hold = new AbortController()
  let atWork: Promise<unknown> = Promise.resolve()
  for await (const line of createInterface({ input: process.stdin })) {
    const [command, number] = line.split(' ')
    const round = Number(number)
    if (command === 'round') {
      hold = new AbortController()
      const { signal } = hold
      atWork = Promise.all(
        workers.map(async (worker) => {
          await insist(() => worker.begin(round))
          for (let count = 1; !signal.aborted; count += 1) {
            await worker.work(round, count)
            await sleep(PAUSE)
          }
        }),
      )
      say('started', round)
    } else if (command === 'hold') {
      hold.abort()
      await atWork
      say('held', round)
    } else await tell(line)
  }
  process.exit(0)
}
