/** What becomes of a run when its service is told to end. */

import { expect, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import type { Step } from '../../src/conversation/run/step.ts'
import { serve } from '../../src/service/node/serve.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { gate } from './gate.ts'

/** The kinds and the status of a conversation whose service closes in the middle of its first reply. */
async function closedIn(
  step: Step,
  options: { reached: Promise<void>; shutdownTimeout: number; open?(): void },
) {
  const store = memoryStore()
  const server = await serve({
    store,
    port: 0,
    shutdownTimeout: options.shutdownTimeout,
    agent: () => step,
  })
  const response = await fetch(`${server.url}/api/conversations`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      workspace: { working_dir: '/tmp' },
      initial_message: { role: 'user', content: [{ type: 'text', text: 'Hi' }], run: true },
    }),
  })
  const { id } = (await response.json()) as { readonly id: string }
  await options.reached
  const closed = server.close()
  setTimeout(() => options.open?.(), 20)
  await closed
  const stored = await createEngine({ store }).open(id)
  const events = await stored.search({ limit: 100 })
  return {
    status: await stored.read(({ header }) => header.status),
    kinds: events.items
      .map(({ fact }) => ('kind' in fact ? fact.kind : fact))
      .filter((kind) => kind !== 'ConversationStateUpdateEvent'),
  }
}

it('it may end, in half of the time', async () => {
  const { step, reached, open } = gate()
  expect(await closedIn(step, { reached, open, shutdownTimeout: 60_000 })).toEqual({
    status: 'finished',
    kinds: ['MessageEvent', 'MessageEvent'],
  })
})

it('if it does not, it is interrupted, and its conversation says so', async () => {
  const { step, reached } = gate()
  expect(await closedIn(step, { reached, shutdownTimeout: 200 })).toEqual({
    status: 'paused',
    kinds: ['MessageEvent', 'InterruptEvent'],
  })
})
