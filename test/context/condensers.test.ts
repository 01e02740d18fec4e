/**
 * Condensers: the order of decisions, the summariser's input, and the use of its output. U… are ids of the
 * inventory.
 *
 * Intended differences: no reset forgets everything (U11, U16: an impossible condensation is refused, and
 * nothing throws). The summariser and the counter decide how to call a model, streaming or not (U15), and
 * with which tools (U19). The helpers of U17 and U18 are one search, tested as `firstFit` and
 * `fitToBudget`. `handlesRequests` answers U21 in advance.
 */

import { describe, expect, it } from 'vitest'
import {
  type Condenser,
  type CondenserDecision,
  noopCondenser,
  pipelineCondenser,
} from '../../src/context/condenser/condenser.ts'
import {
  planCondensation,
  rollingCondenser,
  type RollingOptions,
  type Summarise,
} from '../../src/context/condenser/rolling.ts'
import type { SummaryRequest } from '../../src/context/condenser/summary-request.ts'
import type { NeutralMessage } from '../../src/messages/message.ts'
import { reduce, replay } from '../../src/state/reduce.ts'
import { agent, agents, batch, condensation, pair, request, system, user } from '../build.ts'

/**
 * Returns a rolling condenser whose summariser returns these results in turn, and the summariser's inputs.
 */
function rolling(results: readonly (string | Error)[], options: Partial<RollingOptions> = {}) {
  const requests: SummaryRequest[] = []
  const summarise: Summarise = async (input) => {
    const answer = results[Math.min(requests.push(input), results.length) - 1]
    if (answer instanceof Error) throw answer
    return answer ?? ''
  }
  return { requests, condenser: rollingCondenser({ maxEvents: 8, summarise, ...options }) }
}

const codeOf = (decision: CondenserDecision): string =>
  decision.type === 'refuse' ? decision.reason.code : decision.type

const condenserOf = (decision: CondenserDecision, handlesRequests = false): Condenser => ({
  handlesRequests,
  condense: () => decision,
})

const REFUSAL: CondenserDecision = {
  type: 'refuse',
  reason: { code: 'nothing_to_forget', message: 'no', triggers: ['events'], required: false, again: 'never' },
}

describe('noopCondenser', () => {
  it('U20 keeps every view and handles no request', () => {
    const noop = noopCondenser()
    expect(noop.handlesRequests).toBe(false)
    expect(noop.condense(replay([...agents(1000), request('q')]))).toEqual({ type: 'keep' })
  })
})

describe('pipelineCondenser', () => {
  const state = replay(agents(3))
  const condensed: CondenserDecision = { type: 'condense', event: condensation('c', ['m0', 'm1'], 's', 0) }
  const keep: CondenserDecision = { type: 'keep' }

  it.each([
    [[], 'keep'],
    [[keep, keep], 'keep'],
    [[keep, condensed], 'condense'],
    [[REFUSAL, condensed], 'condense'],
    [[keep, REFUSAL, keep], 'nothing_to_forget'],
  ])('condensers that decide %j result in %s', async (decisions, code) => {
    expect(codeOf(await pipelineCondenser(decisions.map((each) => condenserOf(each))).condense(state))).toBe(
      code,
    )
  })

  it('does not call condensers after the first that condenses', async () => {
    const never: Condenser = { handlesRequests: false, condense: () => expect.unreachable() }
    expect(await pipelineCondenser([condenserOf(condensed), never]).condense(state)).toBe(condensed)
  })

  it('handles requests if one of its condensers does', () => {
    expect(pipelineCondenser([condenserOf(keep)]).handlesRequests).toBe(false)
    expect(pipelineCondenser([condenserOf(keep), condenserOf(keep, true)]).handlesRequests).toBe(true)
    expect(pipelineCondenser([pipelineCondenser([condenserOf(keep, true)])]).handlesRequests).toBe(true)
  })

  it('passes the abort signal to its condensers', async () => {
    const { signal } = new AbortController()
    let seen: AbortSignal | undefined
    const spy: Condenser = {
      handlesRequests: false,
      condense: (_, options) => ((seen = options?.signal), keep),
    }
    await pipelineCondenser([spy]).condense(state, { signal })
    expect(seen).toBe(signal)
  })
})

describe('rollingCondenser', () => {
  it('U3 U12 does not call the summariser if nothing must or can be forgotten', async () => {
    const { condenser, requests } = rolling(['s'])
    expect(condenser.handlesRequests).toBe(true)
    expect(codeOf(await condenser.condense(replay(agents(8))))).toBe('keep')
    expect(codeOf(await condenser.condense(replay([user('u'), request('q')])))).toBe('nothing_to_forget')
    expect(requests).toEqual([])
  })

  it('U4 calls the summariser once, and the summary shortens the view', async () => {
    const { condenser, requests } = rolling(['so far'])
    const state = replay(agents(9))
    const decision = await condenser.condense(state)
    if (decision.type !== 'condense') throw new Error(codeOf(decision))
    expect(requests).toHaveLength(1)
    expect(decision.event).toMatchObject({ summary: 'so far', summary_offset: 2, llm_response_id: '' })
    expect(reduce(state, decision.event).branch.view.length).toBe(4)
  })

  it('records the id of the reply that wrote the summary', async () => {
    const condenser = rollingCondenser({
      maxEvents: 8,
      summarise: async () => ({ text: 'so far', llmResponseId: 'reply-7' }),
    })
    expect(await condenser.condense(replay(agents(9)))).toMatchObject({
      event: { llm_response_id: 'reply-7' },
    })
  })

  it('U5 passes the previous summary unchanged, at any length', async () => {
    const { condenser, requests } = rolling(['s'], { eventBudget: 10, totalBudget: 20 })
    const long = 'what was done, '.repeat(1000)
    await condenser.condense(replay([...agents(9), condensation('c', ['m3'], long, 3)]))
    expect(requests[0]?.previousSummary).toBe(long)
    expect(requests[0]?.prompt).toContain(long)
    expect(requests[0]?.events.map(({ id }) => id)).not.toContain('c-summary')
  })

  it.each(['', ' \n\t', '\u0085'])('refuses the blank summary %j', async (blank) => {
    const { condenser, requests } = rolling([blank])
    const decision = await condenser.condense(replay(agents(9)))
    expect(decision).toMatchObject({
      type: 'refuse',
      reason: { code: 'blank_summary', required: false, again: 'later' },
    })
    expect(requests).toHaveLength(1)
  })

  it('U11 U16 refuses if nothing can be forgotten, and marks the refusal of a request as required', async () => {
    // A single loop of 42 events cannot be cut.
    const loop = [
      ...batch('r', ['a'], true),
      ...Array.from({ length: 20 }, (_, index) => pair(`p${index}`)).flat(),
    ]
    const { condenser, requests } = rolling(['s'], { maxEvents: 8, keepFirst: 1 })
    const soft = await condenser.condense(replay(loop))
    const hard = await condenser.condense(replay([user('u'), request('q')]))
    const reason = { code: 'nothing_to_forget', again: 'never' }
    expect(soft).toMatchObject({ type: 'refuse', reason: { ...reason, required: false } })
    expect(hard).toMatchObject({ type: 'refuse', reason: { ...reason, required: true } })
    expect(requests).toEqual([])
  })

  it('U14 retries with half of the text when the summariser throws, three times by default', async () => {
    const failure = new Error('too long: key sk-1234')
    const long = Array.from({ length: 9 }, (_, index) => agent(`m${index}`, 'x'.repeat(3000)))
    for (const [failures, code] of [
      [3, 'condense'],
      [4, 'summariser_failed'],
    ] as const) {
      const { condenser, requests } = rolling([...Array.from({ length: failures }, () => failure), 'done'], {
        eventBudget: 2000,
      })
      const decision = await condenser.condense(replay(long))
      expect(codeOf(decision)).toBe(code)
      expect(requests.map(({ attempt }) => attempt)).toEqual([0, 1, 2, 3])
      expect(requests.map(({ events }) => events[0]?.text.length)).toEqual([2000, 1000, 500, 250])
      if (decision.type !== 'refuse') continue
      expect(decision.reason).toMatchObject({ again: 'later', required: false, cause: failure })
      expect(decision.reason.message).not.toContain('sk-1234')
    }
  })

  it.each([0, 1])('the retries option allows %i retries', async (retries) => {
    const { condenser, requests } = rolling([new Error('no')], { retries })
    expect(codeOf(await condenser.condense(replay(agents(9))))).toBe('summariser_failed')
    expect(requests).toHaveLength(retries + 1)
  })

  it('rejects with the abort reason before or during a call of the summariser', async () => {
    const reason = new Error('gone')
    const state = replay(agents(9))
    for (const how of ['before', 'throws', 'ignores'] as const) {
      const controller = new AbortController()
      let calls = 0
      const condenser = rollingCondenser({
        maxEvents: 8,
        summarise: async (_, signal) => {
          calls += 1
          controller.abort(reason)
          expect(signal?.aborted).toBe(true)
          if (how === 'throws') throw new Error('aborted')
          return 'too late'
        },
      })
      if (how === 'before') controller.abort(reason)
      await expect(condenser.condense(state, { signal: controller.signal })).rejects.toBe(reason)
      expect(calls).toBe(how === 'before' ? 0 : 1)
    }
  })

  it.each([{ retries: -1 }, { retries: 1.5 }, { eventBudget: 0 }, { totalBudget: 0 }, { maxEvents: 3 }])(
    'rejects the options %j',
    (options) => {
      expect(() => rolling([], options)).toThrow(/must be/)
    },
  )

  it('rejects a misspelt summarise option and suggests the correct name', () => {
    const options = { summarize: async () => 'x' } as unknown as Parameters<typeof rollingCondenser>[0]
    expect(() => rollingCondenser(options)).toThrow('Did you mean summarise?')
  })

  it('handles repeated requests until nothing more can be forgotten', async () => {
    const { condenser } = rolling(['so far'])
    let state = replay([system('s'), user('u'), ...agents(40), ...pair('x')])
    const lengths: number[] = []
    for (let round = 0; ; round += 1) {
      state = reduce(state, request(`q${round}`))
      const decision = await condenser.condense(state)
      if (decision.type !== 'condense') {
        expect(codeOf(decision)).toBe('nothing_to_forget')
        break
      }
      state = reduce(state, decision.event)
      expect(state.branch.view.unhandledCondensationRequest).toBe(false)
      lengths.push(state.branch.view.length)
    }
    expect(lengths).toEqual(lengths.toSorted((a, b) => b - a))
    expect(new Set(lengths).size).toBe(lengths.length)
    expect(lengths.at(-1)).toBeGreaterThanOrEqual(2)
  })
})

/** Counts the characters of the contents as JSON. */
const count = (messages: readonly NeutralMessage[]): number =>
  messages.reduce((sum, { content }) => sum + JSON.stringify(content).length, 0)

describe('a token limit', () => {
  const log = agents(30)
  const limit = 600

  it('is passed to the summariser, and a longer summary is refused', async () => {
    for (const [length, code] of [
      [100, 'condense'],
      [5000, 'summary_too_long'],
    ] as const) {
      const { condenser, requests } = rolling(['x'.repeat(length)], {
        maxEvents: 240,
        maxTokens: limit,
        count,
      })
      const state = replay(log)
      const decision = await condenser.condense(state)
      expect(codeOf(decision)).toBe(code)
      expect(requests).toHaveLength(code === 'condense' ? 1 : 4)
      expect(requests[0]?.maxTokens).toBeGreaterThanOrEqual(limit / 4)
      expect(requests[0]?.prompt).toContain(`Use at most ${requests[0]?.maxTokens} tokens.`)
      if (decision.type === 'refuse') {
        expect(decision.reason).toMatchObject({ triggers: ['tokens'], required: true, again: 'later' })
        expect(requests.map(({ maxTokens }) => maxTokens)).toEqual(
          requests.map(({ attempt }) => Math.floor((requests[0]?.maxTokens ?? 0) / 2 ** attempt)),
        )
      }
    }
  })

  it('accepts a summary that just fits, and not one character more', async () => {
    const state = replay(log)
    const plan = planCondensation(state, { maxEvents: 240, maxTokens: limit, count })
    const left = plan.type === 'plan' ? (plan.room ?? 0) : 0
    const room = left - JSON.stringify([{ type: 'text', text: '' }]).length
    for (const [more, code] of [
      [-1, 'condense'],
      [0, 'condense'],
      [1, 'summary_too_long'],
    ] as const) {
      const { condenser } = rolling(['x'.repeat(room + more)], {
        maxEvents: 240,
        maxTokens: limit,
        count,
        retries: 0,
      })
      expect(codeOf(await condenser.condense(state))).toBe(code)
    }
  })
})

describe('a summariser that uses all tokens that it may use', () => {
  it('is not called again at the next step', async () => {
    let calls = 0
    const condenser = rollingCondenser({
      maxEvents: 240,
      maxTokens: 2000,
      count,
      summarise: async ({ maxTokens }) => {
        calls += 1
        return 'x'.repeat((maxTokens ?? 0) - JSON.stringify([{ type: 'text', text: '' }]).length)
      },
    })
    let state = replay(agents(10))
    for (const event of agents(200, 10)) {
      // Each step depends on the previous one.
      // oxlint-disable-next-line no-await-in-loop
      const decision = await condenser.condense(state)
      expect(codeOf(decision)).toMatch(/keep|condense/)
      if (decision.type === 'condense') state = reduce(state, decision.event)
      state = reduce(state, event)
    }
    expect(calls).toBeGreaterThan(2)
    expect(calls).toBeLessThan(30)
  })
})

describe('the input of the summariser', () => {
  it('contains every call with its arguments and every result', async () => {
    const { condenser, requests } = rolling(['s'])
    const call = batch('r', ['1', '2'])
    await condenser.condense(replay([...agents(2), ...call, ...agents(9, 2)]))
    expect(requests[0]?.events.slice(0, 4)).toEqual([
      { id: 'a1', label: 'call of ls', text: '{}' },
      { id: 'a2', label: 'call of ls', text: '{}' },
      { id: 'o1', label: 'result of ls', text: 'o1' },
      { id: 'o2', label: 'result of ls', text: 'o2' },
    ])
  })
})
