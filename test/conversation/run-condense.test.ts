/** A run with a condenser condenses on request, at its limits and after a provider's rejection, and reports failures. */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { noopCondenser } from '../../src/context/condenser/condenser.ts'
import { rollingCondenser, type RollingOptions } from '../../src/context/condenser/rolling.ts'
import type { Conversation } from '../../src/conversation/conversation.ts'
import { createEngine } from '../../src/conversation/engine.ts'
import type { RunCondenserDecision } from '../../src/conversation/run/options.ts'
import type { Step } from '../../src/conversation/run/step.ts'
import { ColloquyError, nullOn } from '../../src/event/errors.ts'
import type { Event } from '../../src/event/types.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { hostileLog } from '../../src/testing/index.ts'
import { evictBodies, gate, logOf, says, script, startConversation, status } from './script.ts'

const rolling = (more: Partial<RollingOptions> = {}) =>
  rollingCondenser({ maxEvents: 240, summarise: async ({ events }) => `${events.length} told`, ...more })

const REQUEST: Event = { kind: 'CondensationRequest', source: 'environment' }
const tooLong = (): never => {
  throw new ColloquyError('context_too_long', 'Too long.')
}

/** A conversation of `count` turns with replies. */
async function turns(count: number): Promise<Conversation> {
  const { conversation } = await startConversation('first')
  const { step } = script([])
  for (let turn = 1; turn < count; turn += 1) {
    await conversation.run(step)
    await conversation.sendMessage(`message ${turn}`)
  }
  return conversation
}

const ends = async (conversation: Conversation): Promise<string[]> =>
  (await logOf(conversation)).filter((each) => /^(Condens|failed)/.test(each))

describe('a run with a condenser', () => {
  it('condenses for a CondensationRequest before it calls the model', async () => {
    const conversation = await turns(6)
    await conversation.append(REQUEST)
    const { step, requests } = script([])
    expect((await conversation.run(step, { condenser: rolling() })).status).toBe('finished')
    expect(await ends(conversation)).toEqual(['CondensationRequest', 'Condensation'])
    expect(requests).toHaveLength(1)
    expect(JSON.stringify(requests[0]?.messages)).toContain(' told')
  })

  it('condenses for a CondensationRequest after the last reply, and does not call the model', async () => {
    const conversation = await turns(6)
    await conversation.run(script([]).step)
    await conversation.append(REQUEST)
    const { step, requests } = script([])
    expect((await conversation.run(step, { condenser: rolling() })).status).toBe('finished')
    expect(await ends(conversation)).toEqual(['CondensationRequest', 'Condensation'])
    expect(requests).toEqual([])
  })

  it.each([[null], [undefined], [{}], [{ type: 'none' }], [{ kind: 'Condensation', llm_response_id: 'r' }]])(
    'fails if the condenser returns %j instead of a decision',
    async (decision) => {
      const conversation = await turns(1)
      const { step, requests } = script([])
      const condenser = { condense: async () => decision as never }
      const { error } = await conversation.run(step, { condenser })
      expect((error as Error).message).toContain('must return an object with the type')
      expect(requests).toEqual([])
    },
  )

  it('condenses at the limits of its condenser', async () => {
    const conversation = await turns(6)
    const { step, requests } = script([])
    expect((await conversation.run(step, { condenser: rolling({ maxEvents: 8 }) })).status).toBe('finished')
    expect(await ends(conversation)).toEqual(['Condensation'])
    expect(requests).toHaveLength(1)
  })

  it('condenses each time the provider rejects the context as too long', async () => {
    const conversation = await turns(12)
    const { step, requests } = script([tooLong, tooLong, [says('at last')]])
    expect((await conversation.run(step, { condenser: rolling() })).status).toBe('finished')
    const twice = ['CondensationRequest', 'Condensation', 'CondensationRequest', 'Condensation']
    expect(await ends(conversation)).toEqual(twice)
    expect(requests.map(({ messages }) => messages.length)).toEqual(
      requests.map(({ messages }) => messages.length).toSorted((a, b) => b - a),
    )
  })

  it('condenses after a reply that filled the context window, then continues the reply', async () => {
    const conversation = await turns(6)
    const reply = { outcome: 'truncated', stop_reason: 'model_context_window_exceeded' }
    const half = { role: 'assistant' as const, content: [{ text: 'Half of' }], reply }
    const { step, requests } = script([
      [{ kind: 'MessageEvent', source: 'agent', llm_message: half }],
      [says('it.')],
    ])
    expect((await conversation.run(step, { condenser: rolling() })).status).toBe('finished')
    expect(await ends(conversation)).toEqual(['CondensationRequest', 'Condensation'])
    expect(requests).toHaveLength(2)
  })

  it('keeps messages that arrive during a summary, and starts over after another condensation', async () => {
    const conversation = await turns(6)
    let count = 0
    const condenser = rolling({
      maxEvents: 8,
      summarise: async () => {
        count += 1
        await conversation.sendMessage(`meanwhile ${count}`)
        if (count === 1)
          await conversation.append({
            kind: 'Condensation',
            llm_response_id: 'other',
            forgotten_event_ids: [],
            summary: 'another',
            summary_offset: 0,
          })
        return 'told'
      },
    })
    const { step, requests } = script([])
    expect((await conversation.run(step, { condenser })).status).toBe('finished')
    expect(count).toBe(2)
    expect(await ends(conversation)).toEqual(['Condensation', 'Condensation'])
    expect(JSON.stringify(requests[0]?.messages)).toMatch(/meanwhile 1.*meanwhile 2/)
  })
})

describe('a run that cannot condense', () => {
  it('fails once with CondensationRefused, then continues until the provider rejects the context', async () => {
    const { conversation } = await startConversation('short')
    await conversation.append(REQUEST)
    const condenser = rolling()
    const { step, requests } = script([tooLong])
    expect((await conversation.run(step, { condenser })).status).toBe('error')
    const { header } = await conversation.state()
    expect(header.error?.code).toBe('CondensationRefused')
    expect(requests).toEqual([])
    expect((await conversation.run(step, { condenser })).status).toBe('error')
    expect((await conversation.state()).header.error?.code).toBe('ContextTooLong')
    expect((await conversation.run(step, { condenser })).status).toBe('finished')
    expect((await conversation.run(step, { condenser })).status).toBe('finished')
    expect(requests).toHaveLength(2)
  })

  it.each([
    ['the summarizer fails', rolling({ maxTokens: 20, summarise: () => Promise.reject(new Error('no')) })],
    ['the condenser ignores requests', noopCondenser()],
    [
      'the condensation forgets nothing',
      {
        condense: () => ({
          type: 'condense' as const,
          event: { kind: 'Condensation' as const, llm_response_id: 'r', forgotten_event_ids: [] },
        }),
      },
    ],
  ])('fails with CondensationRefused if %s', async (_, condenser) => {
    const conversation = await turns(4)
    await conversation.append(REQUEST)
    const { step, requests } = script([])
    expect((await conversation.run(step, { condenser })).status).toBe('error')
    expect((await conversation.state()).header.error?.code).toBe('CondensationRefused')
    expect(requests).toEqual([])
  })

  it("returns the summariser's error as the cause of CondensationRefused", async () => {
    const conversation = await turns(4)
    await conversation.append(REQUEST)
    const cause = new Error('quota exceeded')
    const condenser = rolling({ retries: 1, summarise: () => Promise.reject(cause) })
    const { error } = await conversation.run(script([]).step, { condenser })
    expect(error).toMatchObject({ name: 'CondensationRefused', cause })
    // The condenser refuses again, but the log now has another error.
    const { error: later } = await conversation.run(script([[], [], []]).step, { condenser })
    expect(later).toMatchObject({ name: 'NoReply' })
    expect(later).not.toHaveProperty('cause')
  })

  it("does not return the cause of a refusal with a later refusal's error", async () => {
    const conversation = await turns(4)
    await conversation.append(REQUEST)
    const refusal = {
      type: 'refuse',
      reason: {
        message: 'failed',
        triggers: ['request'],
        required: true,
        cause: new Error('quota exceeded'),
      },
    } as const
    const useless = {
      type: 'condense',
      event: { kind: 'Condensation', source: 'environment', llm_response_id: '', forgotten_event_ids: [] },
    } as const
    const decisions: RunCondenserDecision[] = [refusal, refusal, useless]
    const condenser = { condense: async () => decisions.shift() ?? useless }
    const { step } = script([[]])
    const { error } = await conversation.run(step, { condenser })
    expect(error).toMatchObject({
      name: 'CondensationRefused',
      message: 'failed',
      cause: refusal.reason.cause,
    })
    const { error: later } = await conversation.run(step, { condenser })
    expect(later).toMatchObject({
      name: 'CondensationRefused',
      message: 'The condenser did not shorten the view.',
    })
    expect(later).not.toHaveProperty('cause')
  })

  it('fails only once, even if the error was evicted', async () => {
    const { conversation } = await startConversation('short')
    await conversation.append(REQUEST)
    const condenser = noopCondenser()
    expect((await conversation.run(script([]).step, { condenser })).status).toBe('error')
    await evictBodies(conversation)
    expect((await conversation.run(script([]).step, { condenser })).status).toBe('finished')
  })

  it('fails with ContextTooLong without a condenser', async () => {
    const { conversation } = await startConversation('short')
    const { step } = script([tooLong])
    expect((await conversation.run(step)).status).toBe('error')
    expect((await conversation.state()).header.error?.code).toBe('ContextTooLong')
  })

  it('finishes without a condensation that was not required', async () => {
    const conversation = await turns(6)
    const condenser = rolling({ maxEvents: 8, summarise: async () => '' })
    expect((await conversation.run(script([]).step, { condenser })).status).toBe('finished')
    expect(await ends(conversation)).toEqual([])
  })
})

it('an interrupt does not wait for a summary, and no condensation is appended', async () => {
  const conversation = await turns(6)
  const summary = gate()
  const condenser = rolling({ maxEvents: 8, summarise: async () => (await summary.pass(), 'late') })
  const running = conversation.run(script([]).step, { condenser })
  await summary.reached
  await conversation.interrupt()
  expect((await running).status).toBe('paused')
  summary.open()
  expect(await ends(conversation)).toEqual([])
  expect(await status(conversation)).toBe('paused')
})

/** Runs `count` turns with a summarizer that fails before its call number `succeedsAt`. */
const failing = async (count: number, succeedsAt = Infinity) => {
  const { conversation } = await startConversation('first')
  const { step } = script([])
  let called = 0
  let models = 0
  const condenser = rollingCondenser({
    maxEvents: 12,
    retries: 0,
    summarise: async () => {
      called += 1
      if (called < succeedsAt) throw new Error('The provider is down.')
      return 'A summary.'
    },
  })
  for (let turn = 0; turn < count; turn += 1) {
    // oxlint-disable-next-line no-await-in-loop -- turns run one after another
    expect((await conversation.run(step, { condenser })).status).toBe('finished')
    models += 1
    // oxlint-disable-next-line no-await-in-loop -- turns run one after another
    await conversation.sendMessage(`message ${turn}`)
  }
  const { log } = await conversation.state()
  const failures = [...log.entries].flatMap(({ event }) =>
    event?.kind === 'ConversationStateUpdateEvent' && event.key === 'condensation_failed'
      ? [event.value]
      : [],
  )
  return { called, models, failures, ends: await ends(conversation) }
}

describe('a failing summarizer', () => {
  it('is called again after twice as many events each time, and each failure is logged once', async () => {
    const { called, models, failures } = await failing(100)
    expect(models).toBe(100)
    // The first 12 of 200 events need no summary. The retries wait for 16, 32, 64 and 128 more.
    expect(called).toBe(4)
    expect(failures).toEqual(
      [1, 2, 3, 4].map((count) => ({ failures: count, reason: expect.stringContaining('failed') as string })),
    )
  })

  it('condenses once it succeeds, and is called as usual again', async () => {
    const { called, failures, ends: result } = await failing(40, 3)
    expect(failures).toHaveLength(2)
    expect(result.filter((each) => each.startsWith('Condensation')).length).toBeGreaterThan(0)
    expect(called).toBeGreaterThan(3)
  })

  it('is called for a CondensationRequest despite an earlier failure', async () => {
    const conversation = await turns(20)
    let called = 0
    const condenser = rollingCondenser({
      maxEvents: 12,
      retries: 0,
      summarise: async () => {
        called += 1
        throw new Error('The provider is down.')
      },
    })
    const { step } = script([])
    await conversation.run(step, { condenser })
    expect(called).toBe(1)
    await conversation.append(REQUEST)
    expect((await conversation.run(step, { condenser })).status).toBe('error')
    expect(called).toBe(2)
  })
})

it('over any log, a run calls a model that replies at most once', async () => {
  const property = fc.asyncProperty(hostileLog(), async (facts) => {
    const store = memoryStore()
    await store.createConversation({ id: 'c' })
    await store.append('c', facts, { mode: 'import' }).catch(nullOn('transient_event'))
    const engine = createEngine({ store })
    const conversation = await engine.open('c')
    for (const text of [null, 'more']) {
      if (text !== null) await conversation.sendMessage(text)
      let calls = 0
      const step: Step = ({ approved }) => {
        if (approved.length > 0) return []
        calls += 1
        return [says(`reply ${calls}`)]
      }
      await conversation.run(step, { maxIterations: 10 }).catch(nullOn('empty_view'))
      expect(calls).toBeLessThanOrEqual(1)
    }
    await engine.close()
  })
  await fc.assert(property, { numRuns: 100 })
})
