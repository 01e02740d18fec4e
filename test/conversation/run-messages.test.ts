/** Messages sent during a model request or a tool call (design laws P and I). */

import { describe, expect, it } from 'vitest'
import type { StepInput } from '../../src/conversation/run/step.ts'
import { call, logOf, says, script, startConversation } from './script.ts'

describe('a message that arrives during a run', () => {
  it('gets a reply in the same run', async () => {
    const { conversation } = await startConversation('first')
    const { step, requests } = script([
      async function* () {
        await conversation.sendMessage('second')
        await conversation.sendMessage('third')
        yield says('to the first')
      },
      [says('to all')],
    ])
    expect(await conversation.run(step)).toEqual({ status: 'finished', iterations: 2 })
    const [, again] = requests as [StepInput, StepInput]
    const report = JSON.stringify(again.messages.at(-1))
    expect(report).toContain('second')
    expect(report).toContain('third')
    expect((await logOf(conversation)).at(-1)).toBe('agent: to all')
  })

  it('gets a reply although the model calls finish, even if that needs a confirmation', async () => {
    const { conversation } = await startConversation('first')
    const { step, requests, executed } = script([
      async function* () {
        await conversation.sendMessage('second')
        yield call('f', 'finish')
        yield call('x')
      },
    ])
    await conversation.setConfirmationPolicy({ kind: 'AlwaysConfirm' })
    expect((await conversation.run(step)).status).toBe('waiting_for_confirmation')
    await conversation.approve(['f'])
    expect((await conversation.run(step)).status).toBe('finished')
    expect(executed).toEqual(['f'])
    expect(requests).toHaveLength(2)
    expect(JSON.stringify(requests[1]?.messages)).toContain('second')
  })

  it('gets a reply although the step yields several messages, also with tool results', async () => {
    for (const during of ['asking', 'executing']) {
      const { conversation } = await startConversation('first')
      const pieces = async function* ({ approved }: StepInput) {
        await conversation.sendMessage('second')
        yield approved.map(({ id, event }) => ({
          kind: 'ObservationEvent' as const,
          tool_name: event.tool_name,
          tool_call_id: event.tool_call_id,
          action_id: id,
          observation: { kind: 'O' },
        }))
        yield says('one')
        yield says('two')
      }
      const { step, requests } = script(during === 'asking' ? [pieces] : [[call('a')]], pieces)
      expect((await conversation.run(step)).status).toBe('finished')
      expect(requests).toHaveLength(2)
      expect(JSON.stringify(requests[1]?.messages.at(-1))).toContain('second')
      expect((await logOf(conversation)).at(-1)).toBe('agent: ok')
    }
  })

  it('gets a reply although it arrives after the final reply, before the step ends', async () => {
    const { conversation } = await startConversation('first')
    const { step, requests } = script([
      async function* () {
        yield says('to the first')
        await conversation.sendMessage('second')
      },
    ])
    expect((await conversation.run(step)).status).toBe('finished')
    expect(requests).toHaveLength(2)
  })
})
