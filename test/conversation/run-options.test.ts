/** Invalid options of untyped callers are rejected before a run starts, and leave no error in the conversation. */

import { afterEach, describe, expect, it } from 'vitest'
import { createEngine, type Engine, type EngineOptions } from '../../src/conversation/engine.ts'
import type { Conversation } from '../../src/conversation/conversation.ts'
import type { Event } from '../../src/event/types.ts'
import type { RunOptions } from '../../src/conversation/run/options.ts'
import type { Step } from '../../src/conversation/run/step.ts'
import type { Status } from '../../src/state/status.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { agent, branch } from './agent.ts'
import { script } from './script.ts'
import { wrapStore } from './stores.ts'

let engine: Engine | null = null
afterEach(() => engine?.close())

const begin = () => {
  engine = createEngine({ store: memoryStore() })
  return engine.create()
}

const hook = { on: 'Stop', name: 'h', run: () => undefined }

describe('run()', () => {
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
    ['leaseTtl', { leaseTtl: 1.5 }],
    ['leaseTtl', { leaseTtl: Infinity }],
    ['leaseTtl', { leaseTtl: 2 ** 33 }],
  ])('rejects an invalid %s', async (field, input) => {
    const conversation = await begin()
    await conversation.sendMessage('Hello')
    const { step, ...options } = { step: agent().step, ...input }
    const running = conversation.run(step as Step, options as RunOptions)
    await expect(running).rejects.toMatchObject({ code: 'invalid_argument', data: { field } })
    expect(await branch(conversation)).toHaveLength(1)
    expect(await conversation.run(agent().step, { hooks: [], maxIterations: 1 })).toMatchObject({
      status: 'finished',
    })
  })
})

describe('a run without a message to reply to', () => {
  const PROMPT: Event = {
    kind: 'SystemPromptEvent',
    system_prompt: { type: 'text', text: 'Be brief.' },
    tools: [],
  }

  it.each<[string, (conversation: Conversation) => Promise<unknown>]>([
    ['an empty log', async () => undefined],
    ['a system prompt only', (conversation) => conversation.append(PROMPT)],
    [
      'an empty HEAD',
      async (conversation) => {
        await conversation.sendMessage('Hello')
        await conversation.navigate(null)
      },
    ],
    [
      'a restart',
      async (conversation) => {
        await conversation.append(PROMPT)
        await conversation.sendMessage('Hello')
        await conversation.restart()
      },
    ],
  ])('rejects with empty_view before it calls the step: %s', async (_, prepare) => {
    const conversation = await begin()
    await prepare(conversation)
    const before = (await conversation.search()).items
    const { status } = (await conversation.state()).header
    const { step, requests } = script([])
    for (const options of [{}, { wait: true }]) {
      await expect(conversation.run(step, options)).rejects.toMatchObject({ code: 'empty_view' })
    }
    expect(requests).toEqual([])
    expect((await conversation.search()).items).toEqual(before)
    expect((await conversation.state()).header.status).toBe(status)
    expect(await engine?.store.getLease(conversation.id)).toBeNull()
    await conversation.sendMessage('Hello')
    expect((await conversation.run(step)).status).toBe('finished')
  })
})

it.each<[string, object, object, number]>([
  ['the default', {}, {}, 45_000],
  ['the engine', { leaseTtl: 7_000 }, {}, 7_000],
  ['the run', { leaseTtl: 7_000 }, { leaseTtl: 3_000 }, 3_000],
])('a run acquires its lease with the leaseTtl of %s', async (_, ofEngine, ofRun, ttl) => {
  const ttls: number[] = []
  const memory = memoryStore()
  const store = wrapStore(memory, {
    async acquireLease(...input) {
      ttls.push(input[2])
      return memory.acquireLease(...input)
    },
  })
  engine = createEngine({ store, ...ofEngine })
  const conversation = await engine.create()
  await conversation.sendMessage('Hello')
  await conversation.run(agent().step, ofRun)
  expect(ttls).toEqual([ttl])
})

it.each([0, -1, 0.5, 1_000.5, Number.NaN, Infinity, 2 ** 33, '45000'])(
  'createEngine() rejects leaseTtl %s',
  (leaseTtl) => {
    expect(() => createEngine({ store: memoryStore(), leaseTtl } as EngineOptions)).toThrow(
      expect.objectContaining({ code: 'invalid_argument', data: { field: 'leaseTtl' } }),
    )
  },
)

it.each<[string, unknown]>([
  ['an async function', async () => ({})],
  ['a function that returns undefined', () => undefined],
  ['a function that returns a number', () => 5],
])('a step that is %s fails with an error that mentions async generators', async (_, step) => {
  const conversation = await begin()
  await conversation.sendMessage('Hello')
  expect((await conversation.run(step as Step)).status).toBe('error')
  const { header } = await conversation.state()
  expect(header.error?.detail).toMatch(/async generator/)
})

it('open(), openOrCreate() and delete() reject invalid ids', async () => {
  const { id } = await begin()
  for (const input of [undefined, null, 5, true, {}, { id }, 'a\u0000']) {
    const wrong = expect.objectContaining({ code: 'invalid_id' })
    await expect(engine?.openOrCreate(input as string)).rejects.toEqual(wrong)
    await expect(engine?.delete(input as string)).rejects.toEqual(wrong)
  }
  for (const input of [undefined, null, 5, {}])
    await expect(engine?.open(input as string)).rejects.toMatchObject({ code: 'invalid_id' })
  expect((await engine?.open(id))?.id).toBe(id)
})

it('createEngine() rejects a missing or invalid store', () => {
  expect(() => createEngine(undefined as never)).toThrow(
    expect.objectContaining({ code: 'invalid_argument' }),
  )
  for (const store of [undefined, null, {}, 'file.db']) {
    const options = { store } as unknown as EngineOptions
    expect(() => createEngine(options)).toThrow(
      expect.objectContaining({ code: 'invalid_argument', data: { field: 'store' } }),
    )
  }
})

it('arguments of a wrong type fail with an error that names the argument', async () => {
  const conversation = await begin()
  const engine = createEngine({ store: memoryStore() })
  for (const [call, message] of [
    [() => createEngine(memoryStore() as never), '`store` must be a store, such as `memoryStore()`.'],
    [() => engine.create('my-id' as never), '`record` must be an object, such as `{ id }`.'],
    [() => conversation.approve('abc' as never), '`actionIds` must be a list of ids.'],
    [() => conversation.reject('No!' as never), '`actionIds` must be a list of ids.'],
    [() => engine.follow({ name: 'f' }, undefined as never), '`handler` must be a function.'],
    [
      () => engine.follow({ name: 'f', from: 'end' as never }, () => undefined),
      '`from` must be one of start, now.',
    ],
  ] as const)
    await expect((async () => call())()).rejects.toMatchObject({ code: 'invalid_argument', message })
})

it('createEngine() rejects an invalid cacheBytes', () => {
  for (const cacheBytes of [Number.NaN, -1, '1' as never]) {
    expect(() => createEngine({ store: memoryStore(), cacheBytes })).toThrow(
      expect.objectContaining({ code: 'invalid_argument', data: { field: 'cacheBytes' } }),
    )
  }
})

it('waitFor() rejects unknown statuses and an empty list', async () => {
  const conversation = await begin()
  for (const status of ['done', ['idle', 'done'], []]) {
    await expect(conversation.waitFor(status as Status)).rejects.toMatchObject({ data: { field: 'status' } })
  }
})

it('setConfirmationPolicy() accepts an object and rejects a string', async () => {
  const conversation = await begin()
  await expect(conversation.setConfirmationPolicy('AlwaysConfirm' as never)).rejects.toMatchObject({
    code: 'invalid_argument',
  })
  expect(await conversation.setConfirmationPolicy({ kind: 'AlwaysConfirm' })).toHaveLength(1)
})
