import { describe, expect, it } from 'vitest'
import { firstFit, type FitOptions, fitToBudget } from '../../src/context/budget.ts'
import { estimateTokens } from '../../src/context/estimate.ts'
import { observationMasking } from '../../src/context/masking.ts'
import type { Event, MessageEvent } from '../../src/event/types.ts'
import type { AssistantMessage, NeutralMessage } from '../../src/messages/message.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { replay } from '../../src/state/reduce.ts'
import { evict } from '../../src/state/snapshot.ts'
import { action, agent, agents, batch, image, pair, system, text, user } from '../build.ts'

const tens = (messages: readonly NeutralMessage[]): number => messages.length * 10

/** Returns the cut, the tokens and the sent texts, or the code of the refusal. */
function fitted(events: readonly Event[], budget: number, options: FitOptions = {}) {
  const fit = fitToBudget(replay(events), tens, budget, options)
  if (fit.type === 'refuse') return fit.reason.code
  const texts = fit.messages.flatMap(({ content }) =>
    content.map((part) => ('text' in part ? part.text : '')),
  )
  return [fit.cut, fit.tokens, texts.join(' ')]
}

const notMonotonic = (messages: readonly NeutralMessage[]) => (messages.length * 37) % 50

const write = (state: Parameters<typeof toMessages>[0]) => toMessages(state, { pending: { close: 'late' } })

const paused = (content: string) =>
  agent('p', content, {
    llm_message: { role: 'assistant', content: [{ text: content }], reply: { outcome: 'paused' } },
  } as Partial<MessageEvent>)

describe('fitToBudget', () => {
  it.each([
    [51, [0, 50, 'm0 m1 m2 m3 m4']],
    [50, [0, 50, 'm0 m1 m2 m3 m4']],
    [49, [1, 40, 'm1 m2 m3 m4']],
    [40, [1, 40, 'm1 m2 m3 m4']],
    [39, [2, 30, 'm2 m3 m4']],
    [10, [4, 10, 'm4']],
    [9, 'over_budget'],
    [0, 'over_budget'],
  ])('a budget of %i for five messages of 10 tokens results in %j', (budget, result) => {
    expect(fitted(agents(5), budget)).toEqual(result)
  })

  it('reports the tokens of the minimum request when it refuses', () => {
    expect(fitToBudget(replay(agents(5)), tens, 9)).toMatchObject({
      type: 'refuse',
      reason: {
        tokens: 10,
        budget: 9,
        message: 'the minimum request has 10 tokens, and the budget is 9',
      },
    })
  })

  it('always sends the system prompt, and the last user message unless an option drops it', () => {
    const log = [system('s'), user('u'), agent('a'), user('v'), agent('b'), agent('c')]
    expect(fitted(log, 60)).toEqual([0, 60, 's u a v b c'])
    expect(fitted(log, 59)).toEqual([2, 50, 's a v b c'])
    expect(fitted(log, 30)).toEqual([5, 30, 's v c'])
    expect(fitted(log, 20)).toEqual([6, 20, 's v'])
    expect(fitted(log, 19)).toBe('over_budget')
    expect(fitted(log, 20, { forgetLastUserMessage: true })).toEqual([5, 20, 's c'])
    // It leaves the view but is still sent.
    expect(fitted(log, 20, { forgetSystemPrompt: true, forgetLastUserMessage: true })).toEqual([5, 20, 's c'])
  })

  it('keeps the first keepFirst events, up to the end of their unit', () => {
    const log = [agent('a'), ...pair('1'), agent('b'), agent('c')]
    expect(fitted(log, 49)).toEqual([1, 40, 'o1 b c'])
    expect(fitted(log, 49, { keepFirst: 1 })).toEqual([3, 30, 'a b c'])
    expect(fitted(log, 49, { keepFirst: 2 })).toEqual([4, 40, 'a o1 c'])
    expect(fitted(log, 30, { keepFirst: 3 })).toEqual([5, 30, 'a o1'])
    expect(fitted(log, 29, { keepFirst: 3 })).toBe('over_budget')
  })

  it('never cuts inside a batch or a thinking loop', () => {
    const log = [agent('a'), ...batch('r', ['1', '2'], true), ...batch('t', ['3']), agent('b')]
    expect(fitted(log, 70)).toEqual([0, 70, 'a o1 o2 o3 b'])
    expect(fitted(log, 60)).toEqual([1, 60, 'o1 o2 o3 b'])
    expect(fitted(log, 59)).toEqual([7, 10, 'b'])
  })

  it('counts a pending batch only if the write option sends it', () => {
    const log = [agent('a'), agent('b'), action('w')]
    expect(fitted(log, 10)).toEqual([1, 10, 'b'])
    expect(fitted(log, 30, { write })).toEqual([1, 30, 'b late'])
    expect(fitted(log, 29, { write })).toBe('over_budget')
  })

  it('keeps a paused reply that a pending batch continues, and at least one sent message', () => {
    expect(fitted([agent('a'), paused('p'), agent('x'), user('u'), agent('b')], 29)).toEqual([3, 20, 'u b'])
    expect(fitted([agent('a'), paused('p'), action('w'), user('u'), agent('b')], 30)).toEqual([
      1,
      30,
      'p u b',
    ])
    expect(fitted([paused(''), action('w'), agent('b')], 0)).toBe('over_budget')
    expect(fitToBudget(replay([paused(''), action('w'), agent('b')]), tens, 5)).toMatchObject({
      reason: { tokens: 10 },
    })
  })

  it('counts the messages that the write option returns', () => {
    const log = [user('u'), ...pair('1'), ...pair('2'), ...pair('3')]
    const mask = observationMasking({ keepLast: 1, stride: 1, placeholder: '' })
    const fit = fitToBudget(replay(log), tens, 70, { write: (state) => mask(toMessages(state)) })
    expect(fit).toMatchObject({ type: 'fit', cut: 0 })
    expect(JSON.stringify(fit)).toContain('o3')
    expect(JSON.stringify(fit)).not.toMatch(/"o1"|"o2"/)
  })

  it('accepts an empty view, and otherwise keeps at least one sent message', () => {
    expect(fitted([], 0)).toEqual([0, 0, ''])
    expect(fitted([system('s')], 9)).toBe('over_budget')
    // Blank messages are not sent, so the last one that is sent stays.
    expect(fitted([agent('a'), agent('b'), agent('c', ' ')], 10)).toEqual([1, 10, 'b'])
    expect(fitted([agent('a'), agent('b'), agent('c', ' ')], 9)).toBe('over_budget')
  })

  it('rejects an invalid budget, token count or keepFirst, and accepts an infinite budget', () => {
    const state = replay(agents(2))
    for (const wrong of [NaN, -1]) expect(() => fitToBudget(state, tens, wrong)).toThrow('`budget` must be')
    expect(() => fitToBudget(state, () => NaN, 5)).toThrow('`countTokens()` must be')
    expect(() => fitToBudget(state, tens, 5, { keepFirst: -1 })).toThrow('`keepFirst` must be')
    expect(fitToBudget(state, tens, Infinity)).toMatchObject({ cut: 0 })
  })

  it.each([1, 2, 3, 10, 100, 1000])(
    'calls the counter at most 2 + log2(length) times for %i messages',
    (length) => {
      const state = replay(agents(length))
      for (let budget = 0; budget <= length * 10; budget += Math.max(5, length)) {
        let calls = 0
        const fit = fitToBudget(state, (messages) => ((calls += 1), tens(messages)), budget)
        expect(fit.calls).toBe(calls)
        expect(calls).toBeLessThanOrEqual(2 + Math.ceil(Math.log2(length)))
      }
    },
  )

  it('never exceeds the budget, even if the counter is not monotonic', () => {
    const state = replay(agents(50))
    for (let budget = 0; budget < 50; budget += 1) {
      const fit = fitToBudget(state, notMonotonic, budget)
      if (fit.type === 'fit') expect(notMonotonic(fit.messages)).toBeLessThanOrEqual(budget)
    }
  })

  it('returns the same result for an evicted state, and does not change the state', () => {
    const state = replay(agents(20))
    const before = JSON.stringify(toMessages(state))
    expect(fitToBudget(evict(state), tens, 50)).toEqual(fitToBudget(state, tens, 50))
    expect(JSON.stringify(toMessages(state))).toBe(before)
  })
})

describe('firstFit', () => {
  it('finds the first fitting index in at most 1 + log2(length) calls', () => {
    for (let to = 0; to < 40; to += 1) {
      for (let firstIndex = 0; firstIndex <= to + 1; firstIndex += 1) {
        let requestCount = 0
        const result = firstFit(0, to, (index) => ((requestCount += 1), index >= firstIndex))
        expect(result).toBe(firstIndex > to ? null : firstIndex)
        expect(requestCount).toBeLessThanOrEqual(1 + Math.ceil(Math.log2(to + 1)))
      }
    }
    expect(firstFit(1, 0, () => true)).toBe(null)
  })
})

const estimate = (...content: Parameters<typeof user>[1][]) =>
  estimateTokens(content.flatMap((each) => toMessages(replay([user('u', each)]))))

describe('estimateTokens', () => {
  it.each([
    ['abcde', 1],
    ['abcdef', 2],
    ['a b c d e f', 2],
    ['a b c d e fg', 3],
    ['a'.repeat(5500), 1000],
    ['A', 1],
    ['AB', 2],
    ['{"1": 2}'.repeat(200), 200 * (7 / 1.6 + 1 / 5.5)],
    ['é'.repeat(16), 10],
    ['Я'.repeat(16), 10],
    ['\u2e7f'.repeat(16), 10],
    ['\u2e80'.repeat(16), 16],
    ['漢字', 2],
    ['😀', 2],
    ['\ud800', 1],
  ])('estimates %s by its letters, signs and wide characters, plus 4 for the message', (value, tokens) => {
    expect(estimate(value)).toBe(4 + Math.ceil(tokens))
  })

  it('counts 1,600 tokens for each image, and 0 for no message', () => {
    expect(estimate([image('https://example.org/a.png', 'https://example.org/b.png'), text('abcd')])).toBe(
      4 + 3200 + 1,
    )
    expect(estimateTokens([])).toBe(0)
  })

  it('counts calls, arguments, names, ids and reasoning', () => {
    const [call, answer] = pair('1', { args: '{"path": "x"}', thought: 'look' })
    const [assistant, tool] = toMessages(replay([call, answer]))
    // The frame and "look"; for the call, its frame, `call-a1`, `ls`, and arguments of six letters or
    // spaces and seven signs.
    expect(estimateTokens([assistant as NeutralMessage])).toBe(4 + 1 + (4 + 3 + 1 + 6))
    // The frame, `o1`, `call-a1` and `ls`.
    expect(estimateTokens([tool as NeutralMessage])).toBe(4 + 1 + 3 + 1)
    const more = (input: Partial<AssistantMessage>) =>
      estimateTokens([{ ...(assistant as AssistantMessage), ...input }]) -
      estimateTokens([assistant as NeutralMessage])
    expect(more({ reasoning_content: 'abcdef' })).toBe(2)
    const result = { type: 'abcd', content: [{ title: 'oak '.repeat(110) }] }
    expect(more({ reply: { parts: [{ other: result }, { text: 0 }] } })).toBe(81)
    expect(more({ thinking_blocks: [{ type: 'thinking', thinking: 'abcd', signature: 'abcd' }] })).toBe(2)
    expect(more({ thinking_blocks: [{ type: 'redacted_thinking', data: 'abcdef' }] })).toBe(2)
    expect(
      more({
        responses_reasoning_item: {
          id: 'abcd',
          summary: ['abcd', 'a'],
          content: ['a'],
          encrypted_content: 'ab',
        },
      }),
    ).toBe(5)
  })

  it('returns the sum of the estimates of the messages', () => {
    const messages = toMessages(replay([system('s'), user('u'), ...pair('1'), agent('a')]))
    const sum = messages.reduce((total, message) => total + estimateTokens([message]), 0)
    expect(estimateTokens(messages)).toBe(sum)
  })
})
