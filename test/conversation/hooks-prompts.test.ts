/** Prompt hooks see every user message before the model does, and can block it. */

import { describe, expect, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import type { Step } from '../../src/conversation/run/step.ts'
import { agent, begin, branch, call, hook, run } from './agent.ts'
import { startConversation } from './script.ts'

/** Blocks messages that contain "secret", and records what it sees. */
const guard = (seen: string[], meanwhile: (text: string) => Promise<unknown> = async () => undefined) =>
  hook('UserPromptSubmit', async ({ message = '' }) => {
    seen.push(message)
    await meanwhile(message)
    return { blocked: message.includes('secret') }
  })

describe('UserPromptSubmit hooks', () => {
  it('see a message that arrives while they check another', async () => {
    const conversation = await begin('first')
    const { step, sent } = agent()
    const seen: string[] = []
    const hooks = [guard(seen, async (text) => text === 'first' && conversation.sendMessage('the secret'))]
    expect(await run(conversation, step, hooks)).toMatchObject({ status: 'finished' })
    expect(seen).toEqual(['first', 'the secret'])
    expect(sent.join('')).not.toContain('secret')
  })

  it('see a message that arrives during the last request', async () => {
    const conversation = await begin('first')
    const { step, sent } = agent()
    const seen: string[] = []
    let late = false
    const slow: Step = async function* (input) {
      if (!late) await conversation.sendMessage('the secret')
      late = true
      yield* await step(input)
    }
    expect(await run(conversation, slow, [guard(seen)])).toMatchObject({ status: 'finished' })
    expect(seen).toEqual(['first', 'the secret'])
    expect(sent).toHaveLength(1)
    expect(JSON.stringify(await conversation.messages())).not.toContain('secret')
  })

  it('see messages that arrive during a request with calls and during their execution', async () => {
    const conversation = await begin('first')
    const { step, sent } = agent([call('a1')])
    const seen: string[] = []
    let times = 0
    const slow: Step = async function* (input) {
      times += 1
      if (times < 3) await conversation.sendMessage(`note ${times}`)
      yield* await step(input)
    }
    expect(await run(conversation, slow, [guard(seen)])).toMatchObject({ status: 'finished' })
    expect(seen).toEqual(['first', 'note 1', 'note 2'])
    expect(sent).toHaveLength(2)
  })

  it('see a message that arrives in a run that starts with an approved call', async () => {
    const conversation = await begin('first')
    const { step, sent } = agent([call('a1'), call('a2')])
    await conversation.run(step, { policy: ({ tool_call_id }) => tool_call_id === 'call-a1' })
    await conversation.approve(['a1'])
    const seen: string[] = []
    const slow: Step = async function* (input) {
      if (sent.length === 1 && input.approved.length === 0) await conversation.sendMessage('the secret')
      yield* await step(input)
    }
    expect(await run(conversation, slow, [guard(seen)])).toMatchObject({ status: 'finished' })
    expect(seen).toEqual(['the secret'])
    expect(sent.join('')).not.toContain('secret')
  })

  it('see a message again in the next run if they were interrupted', async () => {
    const conversation = await begin('first')
    const { step, sent } = agent()
    const seen: string[] = []
    const hooks = [
      guard(seen, async (text) => {
        if (text === 'first') await conversation.sendMessage('second')
        if (text === 'second' && seen.length === 2) await conversation.interrupt()
      }),
    ]
    await run(conversation, step, hooks)
    expect(sent).toEqual([])
    await conversation.resume()
    expect(await run(conversation, step, hooks)).toMatchObject({ status: 'finished' })
    expect(seen).toEqual(['first', 'second', 'second'])
  })

  it('see no message twice, and none that was sent before the hooks were added', async () => {
    const conversation = await begin('first')
    const { step } = agent()
    const seen: string[] = []
    await conversation.run(step)
    await conversation.sendMessage('second')
    await run(conversation, agent([call('a1'), call('a2')]).step, [guard(seen)])
    await conversation.sendMessage('third')
    await run(conversation, step, [guard(seen)])
    expect(seen).toEqual(['second', 'third'])
  })

  it('see a message that is followed by 1,500 events with evicted bodies', async () => {
    const { engine, conversation, store } = await startConversation('the secret')
    await conversation.append(
      Array.from({ length: 1_500 }, () => ({
        kind: 'TokenEvent',
        source: 'agent',
        prompt_token_ids: [1],
        response_token_ids: [2],
      })),
    )
    await engine.close()
    const second = createEngine({ store })
    const reopened = await second.open(conversation.id)
    const { entries } = (await reopened.state()).log
    expect(entries.get(entries.length - 2)?.event).toBeNull()
    const { step, sent } = agent()
    const seen: string[] = []
    expect(await run(reopened, step, [guard(seen)])).toMatchObject({ status: 'finished' })
    expect(seen).toEqual(['the secret'])
    expect(sent).toEqual([])
    await second.close()
  })

  it('block a message although a pause arrives while they run', async () => {
    const conversation = await begin('the secret')
    const { step, sent } = agent()
    const hooks = [guard([], () => conversation.pause())]
    expect(await run(conversation, step, hooks)).toMatchObject({ status: 'paused' })
    expect(await conversation.messages()).toEqual([])
    await conversation.sendMessage('something else')
    await conversation.resume()
    await run(conversation, step, [guard([])])
    expect(sent).toHaveLength(1)
    expect(sent[0]).not.toContain('secret')
  })

  it('block a message although they also return context, and do not change it', async () => {
    const conversation = await begin('first')
    const { step, sent } = agent()
    const [message] = await branch(conversation)
    const hooks = [
      hook('UserPromptSubmit', () => ({ blocked: true, reason: 'no', additionalContext: 'but yes' })),
    ]
    expect(await run(conversation, step, hooks)).toMatchObject({ status: 'finished', iterations: 0 })
    const events = await branch(conversation)
    expect(events[0]).toEqual(message)
    expect(events[1]).toMatchObject({ kind: 'HookExecutionEvent', message_id: message?.id, blocked: true })
    expect(sent).toEqual([])
    expect(await conversation.messages()).toEqual([])
  })
})
