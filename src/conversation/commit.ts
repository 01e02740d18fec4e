/** Appends what a decision says, and gives it in the form in which a conversation gives events. */

import { type LoggedEvent, toLogged } from './logged-event.ts'
import type { CommitOptions, Decision, Replica } from './replica.ts'

/** The events that were appended, or stood there already. @throws what `Replica.commit` throws. */
export const commit = async (
  replica: Replica,
  decide: Decision,
  options: CommitOptions,
): Promise<readonly LoggedEvent[]> => (await replica.commit(decide, options)).map(toLogged)
