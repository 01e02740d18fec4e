/**
 * Changes a sealed record without losing another's change: sealing takes time, so it is tried again when the record
 * moved.
 */

import type { CollectionChanges, Collection } from '../records/collection.ts'

/**
 * Does what `prepare` comes to, when the record is still there as it was given to it; else it is asked again. Gives
 * back what was decided.
 * @param prepare is given the record, and gives the decision over all records as `change` of the collection takes it
 */
export async function changeSealed<T extends object, R extends CollectionChanges<T>>(
  records: Pick<Collection<T>, 'all' | 'change'>,
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
