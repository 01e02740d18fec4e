/** Sealed records, and a change of one that takes its time to be sealed, go in; it comes out done, with no change of anybody else lost. */

import type { Changes, Ledger } from '../ledger.ts'

/**
 * Does what `prepare` comes to, when the record is still there as it was given to it; else it is asked again. Gives back what was decided.
 * @param prepare is given the record, and gives the decision over all records as `change` of the ledger takes it
 */
export async function changeSealed<T extends object, R extends Changes<T>>(
  records: Pick<Ledger<T>, 'all' | 'change'>,
  id: string,
  prepare: (kept: T | undefined) => Promise<(records: ReadonlyMap<string, T>) => R>,
): Promise<R> {
  for (;;) {
    const kept = (await records.all()).get(id)
    const decide = await prepare(kept)
    const { decided } = await records.change((now) => {
      const decided = now.get(id) === kept ? decide(now) : null
      return { decided, changes: decided?.changes ?? [] }
    })
    if (decided !== null) return decided
  }
}
