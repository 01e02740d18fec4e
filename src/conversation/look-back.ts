/**
 * Questions about the past of a conversation: cheap where the state is in memory, and still possible where it was
 * evicted.
 */

import { hasCode } from '../event/errors.ts'
import type { State } from '../state/state.ts'
import type { Replica } from './replica.ts'

/** What a question finds in a state; where that was evicted, the whole log is folded again. */
export async function withFullLog<T>(replica: Replica, question: (state: State) => T): Promise<T> {
  try {
    return question(await replica.refresh())
  } catch (error) {
    if (!hasCode(error, 'evicted')) throw error
    return question(await replica.whole())
  }
}
