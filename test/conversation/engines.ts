/** Engines that share a backend, each with its own store and a conversation `c`. */

import type { Conversation } from '../../src/conversation/conversation.ts'
import { createEngine, type Engine } from '../../src/conversation/engine.ts'
import type { Event } from '../../src/event/types.ts'
import type { Store } from '../../src/store/contract/store.ts'
import type { Backend } from './backends.ts'

export interface OpenEngine {
  readonly engine: Engine
  readonly store: Store
  readonly conversation: Conversation
  readonly close: () => Promise<void>
}

/** Opens an engine. Its clock advances by a millisecond at each read, to find code that assumes equal times. */
export async function openEngine(backend: Backend): Promise<OpenEngine> {
  const store = backend.open()
  let time = BigInt(Date.now()) * 1000n
  const engine = createEngine({ store, clock: () => (time += 1000n) })
  if ((await store.getConversation('c')) === null) await engine.create({ id: 'c' })
  const close = async (): Promise<void> => {
    await engine.close()
    await store.close()
  }
  return { engine, store, conversation: await engine.open('c'), close }
}

export async function openEngines(backend: Backend): Promise<[OpenEngine, OpenEngine]> {
  return [await openEngine(backend), await openEngine(backend)]
}

export function withoutId<E extends Event>(event: E): Event {
  const { id: _, ...rest } = event
  return rest as Event
}

export const idsOf = (events: readonly { readonly id: string | null }[]): (string | null)[] =>
  events.map(({ id }) => id)
