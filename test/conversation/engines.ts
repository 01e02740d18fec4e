/** Several engines that share one place: a place and a number go in, engines with a store each and a conversation `c` come out. */

import type { Conversation } from '../../src/conversation/conversation.ts'
import { createEngine, type Engine } from '../../src/conversation/engine.ts'
import type { Event } from '../../src/event/types.ts'
import type { Store } from '../../src/store/contract/store.ts'
import type { Place } from './places.ts'

/** One engine, its store and its side of the conversation `c`. */
export interface Party {
  readonly engine: Engine
  readonly store: Store
  readonly conversation: Conversation
  /** Closes engine and store. */
  readonly end: () => Promise<void>
}

/** Opens an engine on a place. Its clock is a millisecond on at each look, as it may be between any two of them. */
export async function party(backend: Place): Promise<Party> {
  const store = backend.open()
  let time = BigInt(Date.now()) * 1000n
  const engine = createEngine({ store, clock: () => (time += 1000n) })
  if ((await store.getConversation('c')) === null) await engine.create({ id: 'c' })
  const end = async (): Promise<void> => {
    await engine.close()
    await store.close()
  }
  return { engine, store, conversation: await engine.open('c'), end }
}

/** Opens two engines on a place. */
export async function parties(backend: Place): Promise<[Party, Party]> {
  return [await party(backend), await party(backend)]
}

/** The event without its id. */
export function nameless<E extends Event>(event: E): Event {
  const { id: _, ...rest } = event
  return rest as Event
}

export const idsOf = (events: readonly { readonly id: string | null }[]): (string | null)[] =>
  events.map(({ id }) => id)
