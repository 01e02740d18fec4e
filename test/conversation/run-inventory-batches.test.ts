/** Groups Q and W of the inventory, for the run loop: batches, and mistakes of other systems. */

import { describe, expect, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { Event } from '../../src/event/types.ts'
import { call, logOf, result, script, startConversation } from './script.ts'
import { ALWAYS, waiting } from './run-inventory-calls.ts'

describe('group Q: batches', () => {
  it('Q5 results have the order of the step, including several events for a call', async () => {
    const { conversation } = await startConversation()
    const token: Event = {
      kind: 'TokenEvent',
      source: 'agent',
      prompt_token_ids: [1],
      response_token_ids: [2],
    }
    const { step } = script([[call('a'), call('b')]], async function* ({ approved }) {
      for (const each of approved) yield [token, result(each)]
    })
    await conversation.run(step)
    expect((await logOf(conversation)).slice(5, 9)).toEqual([
      'TokenEvent',
      'result a',
      'TokenEvent',
      'result b',
    ])
  })
})

describe('group W: mistakes of other systems', () => {
  it('W10 three calls, one of which cannot be executed, become one message with three results', async () => {
    const { conversation } = await startConversation()
    const error: Event = {
      kind: 'AgentErrorEvent',
      tool_name: 'odd',
      tool_call_id: 'b',
      error: 'no such tool',
    }
    const { step, requests } = script([[call('a'), call('b', 'odd', { action: null }), error, call('c')]])
    await conversation.run(step)
    expect(requests[1]?.messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'tool',
      'tool',
    ])
  })

  it('W12 a call that is approved in another engine is sent with its result', async () => {
    const { conversation } = await startConversation()
    await conversation.setConfirmationPolicy(ALWAYS)
    const { step, requests } = script([[call('a')]])
    await conversation.run(step)
    const store = memoryStore()
    await store.createConversation({ id: 'c' })
    const { log } = await conversation.state()
    await store.append(
      'c',
      [...log.entries].flatMap(({ event }) => event ?? []),
      { mode: 'import' },
    )
    const again = await createEngine({ store }).open('c')
    await again.approve(['a'])
    expect((await again.run(step)).status).toBe('finished')
    expect(requests.at(-1)?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
  })

  it('W13 a message while waiting executes nothing, and the result of an approved call precedes it', async () => {
    const { conversation, step, requests, executed } = await waiting(call('a'))
    await conversation.sendMessage('what are you waiting for?')
    expect((await conversation.run(step)).status).toBe('waiting_for_confirmation')
    expect(executed).toEqual([])
    await conversation.approve(['a'])
    expect((await conversation.run(step)).status).toBe('finished')
    expect(requests.at(-1)?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user'])
  })

  it('W15 a CondensationRequest while waiting executes nothing and stays unhandled', async () => {
    const { conversation, step, executed } = await waiting(call('a'))
    await conversation.append({ kind: 'CondensationRequest' })
    expect((await conversation.run(step)).status).toBe('waiting_for_confirmation')
    expect(executed).toEqual([])
    expect((await conversation.state()).branch.view.unhandledCondensationRequest).toBe(true)
  })

  it('W26 after navigate(null), the model receives only the new branch', async () => {
    const { conversation } = await startConversation()
    const { step, requests } = script([])
    await conversation.run(step)
    await conversation.navigate(null)
    await conversation.sendMessage('anew')
    expect((await conversation.run(step)).status).toBe('finished')
    expect(requests.at(-1)?.messages).toMatchObject([{ role: 'user', content: [{ text: 'anew' }] }])
  })

  it('W28 a PreToolUse event is on the branch between its call and the result', async () => {
    const { conversation } = await startConversation()
    await conversation.run(script([[call('a')]]).step, {
      hooks: [{ on: 'PreToolUse', name: 'guard', run: () => ({}) }],
    })
    const { log } = await conversation.state()
    const path: string[] = []
    for (let index = log.head; index !== null; index = index.parent as typeof index)
      path.unshift(index.event?.kind ?? '')
    expect(path).toEqual([
      'MessageEvent',
      'ActionEvent',
      'HookExecutionEvent',
      'ObservationEvent',
      'MessageEvent',
    ])
  })

  it('W32 and W33 a pause during a reply holds its calls, with and without AlwaysConfirm', async () => {
    for (const policy of [null, ALWAYS]) {
      const { conversation } = await startConversation()
      await conversation.setConfirmationPolicy(policy)
      const { step, executed } = script([
        async function* () {
          await conversation.pause()
          yield call('a')
        },
      ])
      expect((await conversation.run(step)).status).toBe('paused')
      expect(executed).toEqual([])
      expect((await conversation.run(step)).status).toBe(
        policy === null ? 'finished' : 'waiting_for_confirmation',
      )
    }
  })
})
