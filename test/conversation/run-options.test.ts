/** What a caller without types may give by mistake is refused before anything is begun, and no error of the conversation. */

import { afterEach, describe, expect, it } from 'vitest'
import { createEngine, type Engine, type EngineOptions } from '../../src/conversation/engine.ts'
import type { RunOptions } from '../../src/conversation/run/loop.ts'
import type { Step } from '../../src/conversation/run/step.ts'
import type { Status } from '../../src/state/status.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { agent, branch } from './agent.ts'

let engine: Engine | null = null
afterEach(() => engine?.close())

const begin = () => {
  engine = createEngine({ store: memoryStore() })
  return engine.create()
}

const hook = { on: 'Stop', name: 'h', run: () => undefined }

describe('a run', () => {
  it.each<[string, object]>([
    ['step', { step: undefined }],
    ['step', { step: {} }],
    ['hooks', { hooks: hook }],
    ['hooks.0', { hooks: [undefined] }],
    ['hooks.1.on', { hooks: [hook, { ...hook, on: 'stop' }] }],
    ['hooks.0.name', { hooks: [{ ...hook, name: undefined }] }],
    ['hooks.0.run', { hooks: [{ ...hook, run: 'true' }] }],
    ['hooks.0.tools', { hooks: [{ ...hook, tools: ['terminal'] }] }],
    ['policy', { policy: { kind: 'AlwaysConfirm' } }],
    ['stuck', { stuck: true }],
    ['onPrefix', { onPrefix: 'log' }],
    ['condenser', { condenser: { summarise: () => '' } }],
    ['maxIterations', { maxIterations: Number.NaN }],
    ['maxIterations', { maxIterations: -1 }],
    ['leaseTtl', { leaseTtl: 0 }],
    ['leaseTtl', { leaseTtl: Infinity }],
    ['leaseTtl', { leaseTtl: 2 ** 33 }],
  ])('refuses %s', async (field, given) => {
    const conversation = await begin()
    await conversation.sendMessage('Hello')
    const { step, ...options } = { step: agent().step, ...given }
    const running = conversation.run(step as Step, options as RunOptions)
    await expect(running).rejects.toMatchObject({ code: 'invalid_argument', data: { field } })
    expect(await branch(conversation)).toHaveLength(1)
    expect(await conversation.run(agent().step, { hooks: [], maxIterations: 1 })).toMatchObject({
      status: 'finished',
    })
  })
})

it('an engine refuses what is no store', () => {
  for (const store of [undefined, null, {}, 'file.db']) {
    const options = { store } as unknown as EngineOptions
    expect(() => createEngine(options)).toThrow(
      expect.objectContaining({ code: 'invalid_argument', data: { field: 'store' } }),
    )
  }
})

it('an engine refuses a bound of memory that is none', () => {
  for (const cacheBytes of [Number.NaN, -1, '1' as never]) {
    expect(() => createEngine({ store: memoryStore(), cacheBytes })).toThrow(
      expect.objectContaining({ code: 'invalid_argument', data: { field: 'cacheBytes' } }),
    )
  }
})

it('nobody waits for a status that there is none of', async () => {
  const conversation = await begin()
  for (const status of ['done', ['idle', 'done']]) {
    await expect(conversation.waitFor(status as Status)).rejects.toMatchObject({ data: { field: 'status' } })
  }
})

it('a confirmation policy is an object or null', async () => {
  const conversation = await begin()
  await expect(conversation.setConfirmationPolicy('AlwaysConfirm' as never)).rejects.toMatchObject({
    code: 'invalid_argument',
  })
  expect(await conversation.setConfirmationPolicy({ kind: 'AlwaysConfirm' })).toHaveLength(1)
})
