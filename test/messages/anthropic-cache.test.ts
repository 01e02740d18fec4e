/** Anthropic Messages: marks of the cache, of which a request takes four, and citations, which all its documents have or none. */

import { describe, expect, it } from 'vitest'
import type { MessageEvent } from '../../src/event/types.ts'
import { toAnthropic } from '../../src/messages/anthropic/write.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { replay } from '../../src/state/reduce.ts'
import { action, agent, observe, text, user } from '../build.ts'
import { messages, write } from './anthropic-written.ts'

const flagged = (words: string) => ({ ...text(words), cache_prompt: true })

describe('cached prefixes', () => {
  const marked = { cache_control: { type: 'ephemeral' } }

  it('are four at most, the first that ask', () => {
    const request = write(
      user(
        'u',
        Array.from({ length: 6 }, (_, n) => flagged(`${n}`)),
      ),
    )
    expect(request.messages[0]?.content.map((block) => 'cache_control' in block)).toEqual([
      true,
      true,
      true,
      true,
      false,
      false,
    ])
  })

  it('are four with those of the tools and of the request', () => {
    const tools = [{ name: 'ls', ...marked }, { name: 'rm', ...marked }, { name: 'cp' }]
    const log = [user('u', ['a', 'b', 'c'].map(flagged))]
    const [message] = toAnthropic(toMessages(replay(log)), { tools }).messages
    expect(message?.content.map((block) => 'cache_control' in block)).toEqual([true, true, false])
    const [behind] = toAnthropic(toMessages(replay(log)), { tools, cached: '5m' }).messages
    expect(behind?.content.map((block) => 'cache_control' in block)).toEqual([true, false, false])
  })

  it('are for an hour where the one of the request is, which stands behind them', () => {
    const [message] = toAnthropic(toMessages(replay([user('u', ['a', 'b'].map(flagged))])), {
      cached: '1h',
    }).messages
    const hour = { cache_control: { type: 'ephemeral', ttl: '1h' } }
    expect(message?.content).toEqual([
      { ...text('a'), ...hour },
      { ...text('b'), ...hour },
    ])
  })

  it('gives documents their marks of the cache from the same four', () => {
    const file = { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } }
    const requests = { cache_control: { type: 'ephemeral', ttl: '1h' } }
    const content = [
      { ...file, ...requests },
      { ...file, cache_prompt: true },
      { ...file, ...requests },
      flagged('b'),
      { ...file, ...requests },
    ]
    const [message] = messages({ ...user('u'), llm_message: { role: 'user', content } } as MessageEvent)
    const mark = { cache_control: { type: 'ephemeral' } }
    expect(message?.content).toEqual([
      { ...file, ...requests },
      { ...file, ...mark },
      // The provider refuses an hour behind five minutes.
      { ...file, ...mark },
      { ...text('b'), ...mark },
      file,
    ])
  })
})

const document = (name: string) => ({
  type: 'document',
  source: { type: 'text', media_type: 'text/plain', data: name },
})

it('M3 cites all documents or none, as the first one of the request asks', () => {
  const cited = { citations: { enabled: true } }
  const match = { type: 'search_result', source: 'a', title: 'A', content: [text('b')] }
  const sent = (...parts: object[]) =>
    messages(user('u', parts as never), agent('a'), user('v', [document('z')] as never))
  expect(sent({ ...document('x'), ...cited }, match).map(({ content }) => content)).toMatchObject([
    [cited, cited],
    [text('a')],
    [cited],
  ])
  expect(sent(document('x'), { ...match, ...cited })[0]?.content).toEqual([document('x'), match])
  const tool = { type: 'tool_reference', tool_name: 'x' }
  const act = action('b', { call: 'c' })
  const [, , result] = messages(
    user('u'),
    act,
    observe('o', act, [tool, { ...document('x'), ...cited }] as never),
  )
  expect(result?.content).toMatchObject([{ content: [tool, cited] }])
})
