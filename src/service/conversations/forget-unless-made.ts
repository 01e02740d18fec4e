/** Takes out what was kept to start a conversation that did not come to be. */

import type { JsonObject } from '../../event/shapes.ts'
import type { Lifecycle } from './conversations.ts'
import { findConversation } from './find.ts'
import { startOf } from './starts.ts'

/** What a conversation would have been made with. */
interface Planned {
  readonly id: string
  readonly metadata: JsonObject
}

/** A conversation that is there with it keeps it: what failed may have failed after it was made. */
export async function forgetUnlessMade(
  { engine, starts }: Pick<Lifecycle, 'engine' | 'starts'>,
  { id, metadata }: Planned,
): Promise<void> {
  const { start_ref: ref } = startOf(metadata)
  if (ref === null) return
  const found = await findConversation(engine.store, id)
  if (found === null || startOf(found.metadata).start_ref !== ref) await starts.forget({ metadata })
}

/** The same where some work fails, with what that throws. */
export async function orForget<T>(
  lifecycle: Pick<Lifecycle, 'engine' | 'starts'>,
  planned: Planned,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    // Where the store is away by now, why the work failed is still what is to be told.
    await forgetUnlessMade(lifecycle, planned).catch(() => undefined)
    throw error
  }
}
