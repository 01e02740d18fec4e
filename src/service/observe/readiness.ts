/** Finds whether a store can be written: a full disk serves every read, and a load balancer must learn of it. */

import { hasCode } from '../../event/errors.ts'
import type { Store } from '../../store/contract/store.ts'
import { systemConversationId } from '../records/collection.ts'

/** Bytes that are written: more than a page of a database, so that they need room. */
const SIZE = 16_384

/** Milliseconds for which the outcome of a write holds. */
const EVERY = 5_000

/**
 * Whether there is room to write, tried by a write of 16 KiB in place of the last one, at most every five seconds in
 * all. Any other failure than a full store shows in reads. Never rejects.
 */
export function writeProbe(store: Store, now: () => number = Date.now): () => Promise<boolean> {
  const id = systemConversationId('ready')
  let until = -Infinity
  let outcome: Promise<boolean> = Promise.resolve(true)

  const write = async (): Promise<boolean> => {
    const bytes = crypto.getRandomValues(new Uint8Array(SIZE))
    const save = () => store.saveSnapshot(id, [{ part: 0, bytes }], { complete: true })
    try {
      await save().catch(async (error: unknown) => {
        if (!hasCode(error, 'unknown_conversation')) throw error
        await store.createConversation({ id })
        await save()
      })
      return true
    } catch (error) {
      return !hasCode(error, 'store_full')
    }
  }
  return () => {
    if (now() >= until) {
      until = now() + EVERY
      outcome = write()
    }
    return outcome
  }
}
