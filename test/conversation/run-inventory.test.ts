/** Group P of the inventory: status transitions of the run loop. */

import { describe, expect, it } from 'vitest'
import { call, logOf, result, says, script, startConversation, status } from './script.ts'
import { ALWAYS, count, waiting } from './run-inventory-calls.ts'

describe('group P: status transitions', () => {
  it('P1 the status is idle before a run, running during a tool call, and finished after a reply', async () => {
    const { conversation } = await startConversation()
    const seen: string[] = [await status(conversation)]
    const { step } = script([[call('a')]], async function* ({ approved }) {
      seen.push(await status(conversation))
      yield approved.map(result)
    })
    await conversation.run(step)
    expect([...seen, await status(conversation)]).toEqual(['idle', 'running', 'finished'])
  })

  it('P2 a pause before a run appends one PauseEvent, and a run ends the pause', async () => {
    const { conversation } = await startConversation()
    expect((await conversation.pause()).map(({ fact }) => fact)).toMatchObject([
      { kind: 'PauseEvent', source: 'user' },
    ])
    expect(await status(conversation)).toBe('paused')
    expect((await conversation.run(script([]).step)).status).toBe('finished')
  })

  it('P4 a pause inside a tool call ends the run of a looping agent, with one PauseEvent', async () => {
    const { conversation } = await startConversation()
    const replies = Array.from({ length: 50 }, (_, n) => [
      call(`a${n}`, 'work', { llm_response_id: `r${n}` }),
    ])
    const { step, executed } = script(replies, async function* ({ approved }) {
      if (executed.length === 3) await conversation.pause()
      yield approved.map(result)
    })
    expect(await conversation.run(step)).toEqual({ status: 'paused', iterations: 3 })
    expect(await count(conversation, 'PauseEvent')).toBe(1)
  })

  it('P5 with AlwaysConfirm, a run waits without a result until the call is approved', async () => {
    const { conversation, step } = await waiting(call('a'))
    expect(await count(conversation, 'call')).toBe(1)
    expect(await count(conversation, 'result')).toBe(0)
    await conversation.approve(['a'])
    expect((await conversation.run(step)).status).toBe('finished')
    expect(await count(conversation, 'result')).toBe(1)
  })

  it('P6 with AlwaysConfirm, a run waits even after a pause', async () => {
    const { conversation } = await startConversation()
    await conversation.setConfirmationPolicy(ALWAYS)
    await conversation.pause()
    expect((await conversation.run(script([[call('a')]]).step)).status).toBe('waiting_for_confirmation')
  })

  it('P7 a rejection is logged once and sent to the model, and nothing is executed', async () => {
    const { conversation, step, executed, requests } = await waiting(call('a'))
    await conversation.reject(undefined, 'x')
    expect(await status(conversation)).toBe('idle')
    expect(await count(conversation, 'user rejects')).toBe(1)
    expect((await conversation.run(step)).status).toBe('finished')
    expect(executed).toEqual([])
    expect(JSON.stringify(requests[1]?.messages)).toContain('Action rejected: x')
  })

  it('P8 a pause does not end waiting', async () => {
    const { conversation } = await waiting(call('a'))
    expect(await conversation.pause()).toEqual([])
    expect(await status(conversation)).toBe('waiting_for_confirmation')
  })

  it('P9 with AlwaysConfirm, a text reply finishes without waiting', async () => {
    const { conversation } = await startConversation()
    await conversation.setConfirmationPolicy(ALWAYS)
    await conversation.run(script([]).step)
    expect(await logOf(conversation)).not.toContain('= waiting_for_confirmation')
    expect(await status(conversation)).toBe('finished')
  })

  it('P10 with AlwaysConfirm, finish and think are executed, but not together with other calls', async () => {
    for (const replies of [
      [[call('f', 'finish')]],
      [[call('t', 'think')], [call('f', 'finish', { llm_response_id: 'r2' })]],
    ]) {
      const { conversation } = await startConversation()
      await conversation.setConfirmationPolicy(ALWAYS)
      const { step, executed } = script(replies)
      expect((await conversation.run(step)).status).toBe('finished')
      expect(executed).toEqual(replies.flat().map(({ id }) => id))
      expect(await count(conversation, 'result')).toBe(replies.length)
    }
    const { conversation, executed } = await waiting(call('a'), call('f', 'finish'))
    expect(await status(conversation)).toBe('waiting_for_confirmation')
    expect(executed).toEqual([])
  })

  it('P12 a finished conversation sends no request until it has another message', async () => {
    const { conversation } = await startConversation()
    const { step, requests } = script([])
    await conversation.run(step)
    const before = await logOf(conversation)
    expect(await conversation.run(step)).toEqual({ status: 'finished', iterations: 0 })
    expect(await logOf(conversation)).toEqual(before)
    await conversation.sendMessage('more')
    expect(await status(conversation)).toBe('idle')
    expect((await conversation.run(step)).status).toBe('finished')
    expect(requests).toHaveLength(2)
  })

  it('P13 a stuck conversation continues with a run, and is idle after a message', async () => {
    for (const then of ['run', 'send'] as const) {
      const { conversation } = await startConversation()
      const { step } = script([])
      expect((await conversation.run(step, { stuck: () => 'again' })).status).toBe('stuck')
      if (then === 'send') {
        await conversation.sendMessage('more')
        expect(await status(conversation)).toBe('idle')
      }
      expect((await conversation.run(step)).status).toBe('finished')
    }
  })

  it('P18 an interrupt pauses a conversation with status running and no live run', async () => {
    const { conversation } = await startConversation()
    await conversation.append(call('a'))
    expect(await status(conversation)).toBe('running')
    await conversation.interrupt()
    expect(await status(conversation)).toBe('paused')
  })

  it('P19 an interrupt after the end appends nothing', async () => {
    const { conversation } = await startConversation()
    await conversation.run(script([]).step)
    expect(await conversation.interrupt()).toEqual([])
    expect(await status(conversation)).toBe('finished')
  })

  it('P22 a message during a finish call gets a reply in the same run', async () => {
    const { conversation } = await startConversation()
    const { step, requests } = script([[call('f', 'finish')]], async function* ({ approved }) {
      await conversation.sendMessage('one more thing')
      yield approved.map(result)
    })
    expect((await conversation.run(step)).status).toBe('finished')
    expect(requests).toHaveLength(2)
    expect(JSON.stringify(requests[1]?.messages)).toContain('one more thing')
  })

  it('P23 an empty reply continues the loop, and a reply with content ends it', async () => {
    const { conversation } = await startConversation()
    const { step } = script([[], [says('')], [says('done')]])
    expect(await conversation.run(step)).toEqual({ status: 'finished', iterations: 3 })
  })
})
