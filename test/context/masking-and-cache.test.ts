import { describe, expect, it } from 'vitest'
import { cacheBreakpoints } from '../../src/context/cache-breakpoints.ts'
import { observationMasking } from '../../src/context/masking.ts'
import { stablePrefix } from '../../src/context/explain-prefix.ts'
import { isTextPart } from '../../src/event/shapes.ts'
import type { Event } from '../../src/event/types.ts'
import { toAnthropic } from '../../src/messages/anthropic/write.ts'
import type { NeutralMessage } from '../../src/messages/message.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { replay } from '../../src/state/reduce.ts'
import { action, agent, fail, image, observe, pair, system, text, user } from '../build.ts'

const sent = (...events: Event[]): NeutralMessage[] => toMessages(replay(events))

const LONG = 'a long result '.repeat(10)

/** A user message, then calls with long results. */
const calls = (count: number): Event[] => [
  user('u'),
  ...Array.from({ length: count }, (_, index) => {
    const call = action(`a${index}`)
    return [call, observe(`o${index}`, call, LONG)]
  }).flat(),
]

const maskedIn = (messages: readonly NeutralMessage[]): number =>
  messages.filter((message) => message.role === 'tool' && !JSON.stringify(message).includes('a long result'))
    .length

/** 1,600 tokens for each result, none for the default placeholder. */
const expensive = ([message]: readonly NeutralMessage[]): number =>
  JSON.stringify(message).includes('[An old') ? 0 : 1_600

/** Each long result has 25 tokens more than this placeholder. */
const short = { placeholder: '-' }

describe('observationMasking', () => {
  it.each([
    [1_000, 0, 4, 0],
    [300, 0, 2, 0],
    [300, 0, 3, 3],
    [300, 0, 5, 3],
    [300, 0, 6, 6],
    [300, 2, 4, 0],
    [300, 2, 5, 3],
    [300, 2, 7, 3],
    [300, 2, 8, 6],
  ])('with budget %i and keepLast %i, of %i results it hides %i', (budget, keepLast, results, hidden) => {
    const masked = observationMasking({ budget, keepLast, ...short })(sent(...calls(results)))
    expect(maskedIn(masked)).toBe(hidden)
  })

  it('by default keeps ten results and hides at least 32,000 tokens at a time', () => {
    const log = sent(...calls(30))
    expect(maskedIn(observationMasking({ count: expensive })(log))).toBe(20)
    expect(maskedIn(observationMasking({ count: expensive })(sent(...calls(29))))).toBe(0)
    expect(maskedIn(observationMasking({ count: expensive, stride: 1_600 })(log.slice(0, -2)))).toBe(19)
  })

  it('calls the counter twice for each result except the last ten', () => {
    let counts = 0
    const mask = observationMasking({
      budget: 1_000,
      count: (messages) => ((counts += 1), messages[0]?.content[0] === undefined ? 0 : 40),
    })
    mask(sent(...calls(500)))
    expect(counts).toBe(980)
  })

  it('hides the oldest results, and keeps their call ids and error flags', () => {
    const [call, other] = [action('a'), action('b')]
    const log = [user('u'), call, fail('f', call, LONG), other, observe('o', other, LONG)]
    const [, , failed, , last] = observationMasking({ keepLast: 1, stride: 1, placeholder: '[old]' })(
      sent(...log),
    )
    expect(failed).toEqual({
      role: 'tool',
      content: [{ type: 'text', text: '[old]' }],
      tool_call_id: 'call-a',
      name: 'ls',
      is_error: true,
    })
    expect(last).toEqual(sent(...log)[4])
  })

  it('keeps a result that is no longer than the placeholder, but always hides an image', () => {
    const call = action('a')
    const result = (content: Parameters<typeof observe>[2]) =>
      observationMasking({ keepLast: 0, stride: 1, placeholder: '12345' })(
        sent(call, observe('o', call, content)),
      )[1]
    expect(result('1234')?.content).toEqual([text('1234')])
    expect(result('nineteen letters')?.content).toEqual([text('nineteen letters')])
    expect(result('1234567')?.content).toEqual([text('12345')])
    expect(result([text('abcdef'), text('abcdef')])?.content).toEqual([text('abcdef'), text('abcdef')])
    expect(result([text('12345'), text('12345')])?.content).toEqual([text('12345')])
    expect(result([image('https://example.org/a.png')])?.content).toEqual([text('12345')])
  })

  it('keeps the cache mark of a hidden result', () => {
    const call = action('a')
    const log = [call, observe('o', call, [{ ...text(LONG), cache_prompt: true }])]
    const [, result] = observationMasking({ keepLast: 0, stride: 1, placeholder: 'x' })(sent(...log))
    expect(result?.content).toEqual([{ ...text('x'), cache_prompt: true }])
  })

  it('rejects invalid options and token counts', () => {
    for (const wrong of [{ keepLast: -1 }, { keepLast: 1.5 }, { stride: -1 }, { budget: 0 }, { budget: NaN }])
      expect(() => observationMasking(wrong)).toThrow(/must be/)
    const mask = observationMasking({ keepLast: 0, count: () => NaN })
    expect(() => mask(sent(...calls(1)))).toThrow('`countTokens()` must be')
  })
})

describe('stablePrefix', () => {
  const log = [system('s'), user('u'), ...pair('1'), agent('a')]

  it('returns the number of equal messages at the start', () => {
    expect(stablePrefix([], sent(...log))).toBe(0)
    expect(stablePrefix(sent(...log), [])).toBe(0)
    expect(stablePrefix(sent(...log), sent(...log))).toBe(5)
    expect(stablePrefix(sent(...log), sent(...log, user('v')))).toBe(5)
    expect(stablePrefix(sent(...log), sent(...log, system('t')))).toBe(0)
    expect(stablePrefix(sent(...log), structuredClone(sent(...log)))).toBe(5)
  })

  it('excludes a user message that grew', () => {
    expect(stablePrefix(sent(user('u')), sent(user('u'), user('v')))).toBe(0)
    expect(stablePrefix(sent(agent('a'), user('u')), sent(agent('a'), user('u'), user('v')))).toBe(1)
  })

  it('compares every field, and ignores cache marks', () => {
    const [one] = sent(agent('a'))
    for (const other of [
      { ...one, reasoning_content: 'x' },
      { ...one, tool_calls: [{}] },
      { ...one, content: {} },
      { ...one, extra: 1 },
      { ...one, content: [text('A')] },
    ])
      expect(stablePrefix([one as NeutralMessage], [other as NeutralMessage])).toBe(0)
    const marked = { ...one, content: [{ ...text('a'), cache_prompt: true }] }
    expect(stablePrefix([one as NeutralMessage], [marked as NeutralMessage])).toBe(1)
  })
})

/** Texts of the marked parts. */
const marks = (messages: readonly NeutralMessage[], stable: number): string[] =>
  cacheBreakpoints(messages, stable).flatMap(({ content }) =>
    content.flatMap((part) => (part.cache_prompt === true ? [isTextPart(part) ? part.text : 'image'] : [])),
  )

const cached = (content: string) => [{ ...text(content), cache_prompt: true }]

describe('cacheBreakpoints', () => {
  const log = [
    system('s', 'prompt', { dynamic_context: text('today') }),
    user('u'),
    ...pair('1'),
    ...pair('2'),
    agent('a'),
    user('v'),
  ]

  it('marks both parts of the system prompt, the end of the stable prefix and the last message', () => {
    const messages = sent(...log)
    expect(marks(messages, 4)).toEqual(['prompt', 'today', 'o1', 'v'])
    expect(marks(messages, 0)).toEqual(['prompt', 'today', 'v'])
    expect(marks(messages, 1)).toEqual(['prompt', 'today', 'v'])
    expect(marks(messages, messages.length)).toEqual(['prompt', 'today', 'v'])
    expect(marks(messages, 99)).toEqual(['prompt', 'today', 'v'])
    expect(marks(sent(user('u')), 0)).toEqual(['u'])
  })

  it('marks the part that had the last mark of the previous request', () => {
    const before = sent(...log.slice(0, 4))
    const after = sent(...log)
    const last = marks(before, 0).at(-1) ?? ''
    expect(marks(after, stablePrefix(before, after))).toContain(last)
  })

  it('marks no blank part, thinking block or call', () => {
    const call = action('a', { thinking: true, thought: ' ' })
    const messages = sent(user('u', [text('hi'), text(' ')]), call, observe('o', call, ' '))
    expect(marks(messages, 0)).toEqual(['hi'])
    expect(JSON.stringify(toAnthropic(cacheBreakpoints(messages, 0))).match(/cache_control/g)).toHaveLength(1)
  })

  it('replaces the cache marks of the log', () => {
    const messages = sent(...['a', 'b', 'c', 'd', 'e'].map((id) => agent(id, cached(id))), agent('f'))
    expect(marks(messages, 3)).toEqual(['c', 'f'])
    const request = JSON.stringify(toAnthropic(cacheBreakpoints(messages, 3)))
    expect(request.match(/cache_control/g)).toHaveLength(2)
  })

  it('returns unmarked messages as the same objects', () => {
    const messages = sent(...log)
    const marked = cacheBreakpoints(messages, 0)
    expect(marked[2]).toBe(messages[2])
    expect(marked[0]).not.toBe(messages[0])
  })

  it('rejects a stable count that is not a whole number from 0', () => {
    for (const wrong of [-1, 1.5, NaN]) expect(() => cacheBreakpoints([], wrong)).toThrow('`stable` must be')
    expect(cacheBreakpoints([], 0)).toEqual([])
  })
})
