/** Waits until a state meets a condition. */

import type { State } from '../state/state.ts'
import type { Replica } from './replica.ts'

/**
 * The first state from now on of which `fits` is true; it may be the one that there is.
 * @throws the reason of `signal` when that is aborted first, `unknown_conversation` when the conversation is deleted.
 */
export async function waitForState(
  replica: Replica,
  fits: (state: State) => boolean,
  signal?: AbortSignal,
): Promise<State> {
  signal?.throwIfAborted()
  replica.gone.throwIfAborted()
  const found = Promise.withResolvers<State>()
  const look = (state: State): void => {
    if (fits(state)) found.resolve(state)
  }
  const over = signal === undefined ? replica.gone : AbortSignal.any([signal, replica.gone])
  const give = (): void => found.reject(over.reason as Error)
  // Timers of `AbortSignal.timeout` do not keep a process alive, and it is waited for.
  const alive = setInterval(() => undefined, 2 ** 30)
  const ends = [replica.changes.add(look), replica.follow()]
  over.addEventListener('abort', give, { once: true })
  try {
    replica.refresh().then(look, found.reject)
    return await found.promise
  } finally {
    clearInterval(alive)
    for (const end of ends) end()
    over.removeEventListener('abort', give)
  }
}
