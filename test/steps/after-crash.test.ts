/**
 * A process crashes while tools run: repeatable tools run again, and the results of the others state that
 * their effect is unknown.
 */

import { afterAll, expect, it } from 'vitest'
import { createEngine, type Engine } from '../../src/conversation/engine.ts'
import type { StepTool } from '../../src/steps/index.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { scripted, STEP_WIRES } from './wires.ts'

const engines: Engine[] = []
afterAll(() => Promise.all(engines.map((engine) => engine.close())))

/** Runs a conversation in processes that crash while tools run, then in a last one that does not. */
async function runWithCrashes(crashes: number, { policy }: { readonly policy: boolean }) {
  let clock = 1_000_000n
  const store = memoryStore({ clock: () => clock })
  const executed: string[] = []
  const ids: string[] = []
  for (let process = 0; process <= crashes; process += 1) {
    const engine = createEngine({ store, clock: () => clock })
    engines.push(engine)
    const conversation = process === 0 ? await engine.create({ id: 'c' }) : await engine.open('c')
    const reached = Promise.withResolvers<void>()
    const tool = (name: string, more: Partial<StepTool>): StepTool => ({
      name,
      description: '',
      parameters: { type: 'object' },
      execute: async (_, { call }) => {
        executed.push(name)
        ids.push(call.id)
        if (process === crashes) return `${name} done`
        reached.resolve()
        return new Promise(() => undefined)
      },
      ...more,
    })
    const tools = [tool('read', { repeatable: true }), tool('send', {})]
    const calls = tools.map(({ name }) => ({ id: name, name, args: '{}' }))
    const { step, requests } = scripted(STEP_WIRES.chat, process === 0 ? [{ calls }] : [], {
      tools,
    })
    if (process === 0) await conversation.sendMessage('Read, and send.')
    const running = conversation.run(step, {
      leaseTtl: 1_000_000,
      ...(policy && process > 0 && { policy: () => true }),
    })
    if (process === crashes) return { ...(await running), executed, ids, requests, conversation, step }
    running.catch(() => undefined)
    await Promise.race([reached.promise, running])
    clock += 10_000_000_000n
  }
  throw new Error('no process lives')
}

it('after a crash, a repeatable call runs again with the same id, and another call does not', async () => {
  const { status, executed, ids, requests } = await runWithCrashes(1, { policy: false })
  expect(status).toBe('finished')
  expect(executed).toEqual(['read', 'send', 'read'])
  expect(ids[2]).toBe(ids[0])
  const sent = JSON.stringify(requests)
  expect(sent).toContain('read done')
  expect(sent).toContain('The call was interrupted; whether it took effect is not known.')
})

it('after two crashes, a repeatable call has an error result and does not run again', async () => {
  const { status, executed, requests } = await runWithCrashes(2, { policy: false })
  expect(status).toBe('finished')
  expect(executed).toEqual(['read', 'send', 'read'])
  expect(JSON.stringify(requests).match(/whether it took effect is not known/g)).toHaveLength(2)
})

it('after a crash, a repeatable call that needs confirmation waits for it again', async () => {
  const { status, executed, ids, conversation, step } = await runWithCrashes(1, { policy: true })
  expect(status).toBe('waiting_for_confirmation')
  expect(executed).toEqual(['read', 'send'])
  await conversation.approve([ids[0] ?? ''])
  expect((await conversation.run(step, { policy: () => true })).status).toBe('finished')
  expect(executed).toEqual(['read', 'send', 'read'])
})
