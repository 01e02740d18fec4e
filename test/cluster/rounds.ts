/**
 * The protocol of child processes. They read commands from standard input, and end when it ends. A round
 * repeats its work until the command `hold`, and then finishes pending work.
 */

import { createInterface } from 'node:readline'

/** Output of a child, one JSON line each. */
export type ChildMessage =
  /** An acknowledged write: writer kind, conversation, name, start and end in milliseconds. */
  | readonly [
      type: 'acknowledged',
      kind: string,
      conversation: string,
      name: string,
      from: number,
      to: number,
    ]
  /** A failed call that will be retried. */
  | readonly [type: 'failed', code: string]
  | readonly [type: 'started', round: number]
  | readonly [type: 'held', round: number]
  /** The events that readers received in a round: ids by position for each reader and conversation, and events out of order. */
  | readonly [
      type: 'seen',
      seen: Readonly<Record<string, readonly (readonly [seq: number, id: string])[]>>,
      disorder: readonly string[],
      resets: number,
    ]

export const emit = (...output: ChildMessage): void =>
  void process.stdout.write(`${JSON.stringify(output)}\n`)

export interface Worker {
  /** Called at the start of each round; retried until it succeeds. */
  begin(round: number): Promise<void>
  /** Called repeatedly, with a counter within the round. */
  work(round: number, count: number): Promise<void>
}

/** Milliseconds between two calls, and before a retry. */
const PAUSE = 40
const RETRY = 100

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Retries until success, and reports each failure. */
export async function retry<T>(attempt: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
      emit('failed', code)
      await sleep(RETRY)
    }
  }
}

/** Executes rounds on command, passes other lines to `onOtherLine`, and ends the process when its standard input ends. */
export async function work(
  workers: readonly Worker[],
  onOtherLine: (line: string) => Promise<void> = async () => undefined,
): Promise<void> {
  let hold = new AbortController()
  let pending: Promise<unknown> = Promise.resolve()
  for await (const line of createInterface({ input: process.stdin })) {
    const [command, number] = line.split(' ')
    const round = Number(number)
    if (command === 'round') {
      hold = new AbortController()
      const { signal } = hold
      pending = Promise.all(
        workers.map(async (worker) => {
          await retry(() => worker.begin(round))
          for (let count = 1; !signal.aborted; count += 1) {
            await worker.work(round, count)
            await sleep(PAUSE)
          }
        }),
      )
      emit('started', round)
    } else if (command === 'hold') {
      hold.abort()
      await pending
      emit('held', round)
    } else await onOtherLine(line)
  }
  process.exit(0)
}
