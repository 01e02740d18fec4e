/** Group P of the inventory: status transitions of the run loop. */

import { describe, expect, it } from 'vitest'
import { begun, call, logOf, result, says, script, status } from './script.ts'
import { ALWAYS, count, waiting } from './run-inventory-calls.ts'

describe('group P: status transitions', () => {
  it('P1 new: idle; during a tool: running; after a text reply: finished', async () => {
    const { conversation } = await begun()
    const seen: string[] = [await status(conversation)]
    const { step } = script([[call('a')]], async function* ({ approved }) {
      seen.push(await status(conversation))
      yield approved.map(result)
    })
    await conversation.run(step)
    expect([...seen, await status(conversation)]).toEqual(['idle', 'running', 'finished'])
  })

  it('P2 pause before run: paused, one PauseEvent of the user; run clears it', async () => {
    const { conversation } = await begun()
    expect((await conversation.pause()).map(({ fact }) => fact)).toMatchObject([
      { kind: 'PauseEvent', source: 'user' },
    ])
    expect(await status(conversation)).toBe('paused')
    expect((await conversation.run(script([]).step)).status).toBe('finished')
  })

  it('P4 pause inside a tool call of an agent that goes round and round: the run returns, paused, one PauseEvent', async () => {
    const { conversation } = await begun()
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

  it('P5 AlwaysConfirm: the run waits without an observation; W13 says that only an approval goes on, and then there is one', async () => {
    const { conversation, step } = await waiting(call('a'))
    expect(await count(conversation, 'call')).toBe(1)
    expect(await count(conversation, 'result')).toBe(0)
    await conversation.approve(['a'])
    expect((await conversation.run(step)).status).toBe('finished')
    expect(await count(conversation, 'result')).toBe(1)
  })

  it('P6 pause before run with AlwaysConfirm: the run waits all the same', async () => {
    const { conversation } = await begun()
    await conversation.setConfirmationPolicy(ALWAYS)
    await conversation.pause()
    expect((await conversation.run(script([[call('a')]]).step)).status).toBe('waiting_for_confirmation')
  })

  it('P7 waiting and rejected: one UserRejectObservation, no observation; the model is told, and nothing is executed', async () => {
    const { conversation, step, executed, asked: requests } = await waiting(call('a'))
    await conversation.reject(undefined, 'x')
    expect(await status(conversation)).toBe('idle')
    expect(await count(conversation, 'user rejects')).toBe(1)
    expect((await conversation.run(step)).status).toBe('finished')
    expect(executed).toEqual([])
    expect(JSON.stringify(requests[1]?.messages)).toContain('Action rejected: x')
  })

  it('P8 waiting and pause: still waiting', async () => {
    const { conversation } = await waiting(call('a'))
    expect(await conversation.pause()).toEqual([])
    expect(await status(conversation)).toBe('waiting_for_confirmation')
  })

  it('P9 AlwaysConfirm and a plain reply: finished, no wait', async () => {
    const { conversation } = await begun()
    await conversation.setConfirmationPolicy(ALWAYS)
    await conversation.run(script([]).step)
    expect(await logOf(conversation)).not.toContain('= waiting_for_confirmation')
    expect(await status(conversation)).toBe('finished')
  })

  it('P10 AlwaysConfirm and a finish alone, or a thought and then a finish: executed', async () => {
    for (const replies of [
      [[call('f', 'finish')]],
      [[call('t', 'think')], [call('f', 'finish', { llm_response_id: 'r2' })]],
    ]) {
      const { conversation } = await begun()
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

  it('P12 finished and a message: idle; run: finished again; run on finished: no request', async () => {
    const { conversation } = await begun()
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

  it('P13 stuck and run: it goes on and finishes when nothing is the matter any more; stuck and a message: idle', async () => {
    for (const then of ['run', 'send'] as const) {
      const { conversation } = await begun()
      const { step } = script([])
      expect((await conversation.run(step, { stuck: () => 'again' })).status).toBe('stuck')
      if (then === 'send') {
        await conversation.sendMessage('more')
        expect(await status(conversation)).toBe('idle')
      }
      expect((await conversation.run(step)).status).toBe('finished')
    }
  })

  it('P18 interrupt when the status is running and no run is live: paused', async () => {
    const { conversation } = await begun()
    await conversation.append(call('a'))
    expect(await status(conversation)).toBe('running')
    await conversation.interrupt()
    expect(await status(conversation)).toBe('paused')
  })

  it('P19 interrupt after the end: it stays finished, and nothing is appended', async () => {
    const { conversation } = await begun()
    await conversation.run(script([]).step)
    expect(await conversation.interrupt()).toEqual([])
    expect(await status(conversation)).toBe('finished')
  })

  it('P22 a message that is sent while the finishing step runs is answered by another request of the same run', async () => {
    const { conversation } = await begun()
    const { step, requests } = script([[call('f', 'finish')]], async function* ({ approved }) {
      await conversation.sendMessage('one more thing')
      yield approved.map(result)
    })
    expect((await conversation.run(step)).status).toBe('finished')
    expect(requests).toHaveLength(2)
    expect(JSON.stringify(requests[1]?.messages)).toContain('one more thing')
  })

  it('P23 an empty reply: the loop goes on; one with content: finished', async () => {
    const { conversation } = await begun()
    const { step } = script([[], [says('')], [says('done')]])
    expect(await conversation.run(step)).toEqual({ status: 'finished', iterations: 3 })
  })
})
