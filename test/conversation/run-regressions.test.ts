/** Minimized counterexamples to laws P and I that the properties found. */

import { describe, expect, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import { receiveUIMessages } from '../../src/conversation/ui-messages.ts'
import type { Hook } from '../../src/conversation/run/hooks.ts'
import { checkLog } from '../../src/laws/index.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { call, gate, logOf, result, says, script, startConversation, status } from './script.ts'
import { wrapStore } from './stores.ts'
import { timedStore, TTL } from './timed-store.ts'

/** A hook that blocks forbidden text and records what it receives. */
function guard(then: () => Promise<unknown> = async () => undefined): { hook: Hook; shown: string[] } {
  const shown: string[] = []
  const run = async ({ message = '' }): Promise<object> => {
    shown.push(message)
    await then()
    return { blocked: message.includes('forbidden') }
  }
  return { hook: { on: 'UserPromptSubmit', name: 'guard', run }, shown }
}

describe('prompt hooks (I2, I6)', () => {
  it('see a message that arrives during a hook before the model does', async () => {
    const { conversation } = await startConversation('first')
    let more: string[] = ['second', 'forbidden']
    const { hook, shown } = guard(async () => {
      const now = more
      more = []
      for (const text of now) await conversation.sendMessage(text)
    })
    const { step, requests } = script([])
    expect((await conversation.run(step, { hooks: [hook] })).status).toBe('finished')
    expect(shown).toEqual(['first', 'second', 'forbidden'])
    expect(requests).toHaveLength(1)
    expect(JSON.stringify(requests[0]?.messages)).toMatch(/first.*second/)
    expect(JSON.stringify(requests[0]?.messages)).not.toContain('forbidden')
  })

  it('block a message, but not the next one', async () => {
    const { conversation } = await startConversation('forbidden')
    await conversation.sendMessage('allowed')
    const { step, requests } = script([])
    expect((await conversation.run(step, { hooks: [guard().hook] })).status).toBe('finished')
    expect(requests).toHaveLength(1)
    expect(JSON.stringify(requests[0]?.messages)).toContain('allowed')
  })

  it('see and block a message that arrives during a request', async () => {
    for (const reply of [says('to the first'), call('a')]) {
      const { conversation } = await startConversation('first')
      const { hook, shown } = guard()
      const { step, requests } = script([
        async function* () {
          await conversation.sendMessage('forbidden')
          yield reply
        },
      ])
      expect((await conversation.run(step, { hooks: [hook] })).status).toBe('finished')
      expect(shown).toEqual(['first', 'forbidden'])
      expect(JSON.stringify(requests.map(({ messages }) => messages))).not.toContain('forbidden')
      expect(requests).toHaveLength(reply.kind === 'MessageEvent' ? 1 : 2)
    }
  })

  it('see a message in the next run if a pause came first, and no message twice', async () => {
    const { conversation } = await startConversation('first')
    const { hook, shown } = guard()
    const { step } = script([
      async function* () {
        await conversation.sendMessage('late')
        await conversation.pause()
        yield call('a')
      },
    ])
    expect((await conversation.run(step, { hooks: [hook] })).status).toBe('paused')
    expect((await conversation.run(step, { hooks: [hook] })).status).toBe('finished')
    expect(shown).toEqual(['first', 'late'])
  })

  it('block a message although a pause precedes the block in the log', async () => {
    const { conversation } = await startConversation('forbidden')
    const { hook, shown } = guard(() => conversation.pause())
    const { step, requests } = script([])
    expect((await conversation.run(step, { hooks: [hook] })).status).toBe('paused')
    const fork = await conversation.fork({ id: 'fork' })
    expect((await conversation.run(step, { hooks: [hook] })).status).toBe('finished')
    expect((await fork.run(step, { hooks: [hook] })).status).toBe('finished')
    expect(shown).toEqual(['forbidden'])
    expect(requests).toEqual([])
  })

  it('see only new messages when they are added to an old conversation', async () => {
    const { conversation } = await startConversation('old')
    const { step } = script([])
    await conversation.run(step)
    await conversation.sendMessage('new')
    const { hook, shown } = guard()
    await conversation.run(step, { hooks: [hook] })
    expect(shown).toEqual(['new'])
  })
})

describe('the end of a run (I2, I5, I6)', () => {
  it('a run finishes only after its Stop hook allows it', async () => {
    for (const reply of [[says('done')], [call('f', 'finish')]]) {
      const { conversation } = await startConversation()
      const seen: string[] = []
      const run = async (): Promise<object> => {
        seen.push(await status(conversation))
        return { blocked: seen.length === 1, reason: 'once more' }
      }
      const { step, requests } = script([reply, [says('done again')]])
      expect((await conversation.run(step, { hooks: [{ on: 'Stop', name: 'stop', run }] })).status).toBe(
        'finished',
      )
      expect(seen).toEqual(['running', 'running'])
      expect(JSON.stringify(requests[1]?.messages.at(-1))).toContain('[Stop hook feedback] once more')
      expect((await logOf(conversation)).slice(-2)).toEqual(['hook Stop', '= finished'])
    }
  })

  it('a run that dies after a finish result is recovered, and the next one replies to a message', async () => {
    const { store, expire } = timedStore()
    const { conversation } = await startConversation('first', store)
    const dead = script(
      [
        async function* () {
          yield call('f', 'finish')
          yield call('b', 'work', { llm_response_id: 'r2' })
        },
      ],
      async function* ({ approved }) {
        await conversation.sendMessage('second')
        if (approved[0] !== undefined) yield result(approved[0])
        await new Promise(() => undefined)
      },
    )
    void conversation.run(dead.step, { leaseTtl: TTL }).catch(() => undefined)
    while (!(await logOf(conversation)).includes('result f')) await conversation.state()
    expect(await status(conversation)).toBe('running')
    expire()
    const other = await createEngine({ store }).open('c')
    expect((await other.recover()).outcome).toBe('recovered')
    const { step, requests } = script([])
    expect((await other.run(step)).status).toBe('finished')
    expect(JSON.stringify(requests[0]?.messages)).toContain('second')
  })

  it('a run that is interrupted after its reply continues with a message that arrives then', async () => {
    const inner = memoryStore()
    const releasing = gate()
    const store = wrapStore(inner, {
      async releaseLease(lease) {
        await releasing.pass()
        return inner.releaseLease(lease)
      },
    })
    const { conversation } = await startConversation('first', store)
    const lingering = gate()
    const { step, requests } = script([
      async function* () {
        yield says('done')
        await lingering.pass()
      },
    ])
    const running = conversation.run(step)
    await lingering.reached
    await conversation.interrupt()
    await releasing.reached
    await conversation.sendMessage('second')
    releasing.open()
    expect((await running).status).toBe('finished')
    expect(requests).toHaveLength(2)
  })

  it('session hooks run once, and the context of SessionEnd is not a message', async () => {
    const { conversation } = await startConversation()
    const reports: string[] = []
    const hooks = (['SessionStart', 'SessionEnd'] as const).map((on): Hook => ({
      on,
      name: on,
      run: () => {
        reports.push(on)
        return { additionalContext: `at ${on}` }
      },
    }))
    await conversation.run(script([]).step, { hooks })
    await conversation.run(script([]).step, { hooks })
    expect(reports).toEqual(['SessionStart', 'SessionEnd'])
    const log = await logOf(conversation)
    expect(log).toContain('environment: at SessionStart')
    expect(log).not.toContain('environment: at SessionEnd')
  })

  it('context from a PostToolUse hook does not keep a finish call from ending the run', async () => {
    const { conversation } = await startConversation()
    const { step, requests } = script([[call('f', 'finish')]])
    const hook: Hook = { on: 'PostToolUse', name: 'after', run: () => ({ additionalContext: 'well done' }) }
    expect((await conversation.run(step, { hooks: [hook] })).status).toBe('finished')
    expect(requests).toHaveLength(1)
  })
})

describe('pauses and calls (I3, P6, P7)', () => {
  it('a pause also stops a run that is about to start, although the previous run fails', async () => {
    const inner = memoryStore()
    const acquiring = gate()
    let runs = 0
    const store = wrapStore(inner, {
      async acquireLease(...args) {
        runs += 1
        if (runs === 2) await acquiring.pass()
        return inner.acquireLease(...args)
      },
    })
    const { conversation } = await startConversation('hello', store)
    const thinking = gate()
    const failing = conversation.run(async () => {
      await thinking.pass()
      throw new RangeError('gone')
    })
    await thinking.reached
    const { step, requests } = script([])
    const second = conversation.run(step)
    await acquiring.reached
    await conversation.pause()
    thinking.open()
    expect((await failing).status).toBe('error')
    acquiring.open()
    expect((await second).status).toBe('error')
    expect(requests).toEqual([])
    // A run that is requested after the pause ignores it.
    expect((await conversation.run(step)).status).toBe('finished')
  })

  it('a run and a concurrent reject() give each open call one result', async () => {
    const { conversation } = await startConversation()
    await conversation.append([call('a'), call('b', 'work', { tool_call_id: 'a' })])
    const { step } = script([])
    await Promise.all([conversation.run(step), conversation.reject(['b'])])
    const { log } = await conversation.state()
    const answers = [...log.entries].filter(
      ({ event }) => event?.kind === 'AgentErrorEvent' || event?.kind === 'UserRejectObservation',
    )
    expect(answers).toHaveLength(2)
  })

  it('a call that is rejected during its PreToolUse hook is not executed, and the run continues', async () => {
    const { conversation } = await startConversation()
    const { step, requests, executed } = script([[call('a')]])
    const run = async (): Promise<void> => void (await conversation.reject(['a']))
    await conversation.run(step, { hooks: [{ on: 'PreToolUse', name: 'slow', run }] })
    expect(executed).toEqual([])
    expect(requests).toHaveLength(2)
  })
})

describe('a call that is being executed (P4)', () => {
  it.each(['running', 'paused'])(
    'is not rejected by a late decision of a page while the status is %s',
    async (when) => {
      const { engine, conversation } = await startConversation()
      const { reached, open, pass } = gate()
      const { step } = script([[call('a'), call('b')], [says('Done.')]], async function* ({ approved }) {
        await pass()
        yield approved.map(result)
      })
      const run = conversation.run(step)
      await reached
      if (when === 'paused') await conversation.pause()
      // A page may post its user's decision late.
      const approval = { id: 'b', approved: false }
      const part = { type: 'tool-work', toolCallId: 'b', state: 'approval-responded', input: {}, approval }
      await receiveUIMessages(conversation, { messages: [{ id: 'm', role: 'assistant', parts: [part] }] })
      open()
      await run
      const { log } = await conversation.state()
      const facts = [...log.entries].flatMap(({ event }) => event ?? [])
      expect(facts.filter(({ kind }) => kind === 'ObservationEvent')).toHaveLength(2)
      expect(facts.filter(({ kind }) => kind === 'UserRejectObservation')).toEqual([])
      expect(checkLog(facts)).toEqual([])
      await engine.close()
    },
  )
})
