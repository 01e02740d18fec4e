/** Anthropic Messages: at most four cache marks per request, and citations that all documents have or none. */

import { describe, expect, it } from 'vitest'
import type { MessageEvent } from '../../src/event/types.ts'
import { toAnthropic } from '../../src/messages/anthropic/write.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { replay } from '../../src/state/reduce.ts'
import { action, agent, observe, text, user } from '../build.ts'
import { messages, write } from './anthropic-requests.ts'

const flagged = (content: string) => ({ ...text(content), cache_prompt: true })

describe('cache marks', () => {
  const marked = { cache_control: { type: 'ephemeral' } }

  it('are limited to the first four flagged parts', () => {
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

  it('share the limit of four with marks of tools and of the `cached` option', () => {
    const tools = [{ name: 'ls', ...marked }, { name: 'rm', ...marked }, { name: 'cp' }]
    const log = [user('u', ['a', 'b', 'c'].map(flagged))]
    const [message] = toAnthropic(toMessages(replay(log)), { tools }).messages
    expect(message?.content.map((block) => 'cache_control' in block)).toEqual([true, true, false])
    const [automatic] = toAnthropic(toMessages(replay(log)), { tools, cached: '5m' }).messages
    expect(automatic?.content.map((block) => 'cache_control' in block)).toEqual([true, false, false])
  })

  it('have a TTL of one hour when the `cached` option is `1h`', () => {
    const [message] = toAnthropic(toMessages(replay([user('u', ['a', 'b'].map(flagged))])), {
      cached: '1h',
    }).messages
    const hour = { cache_control: { type: 'ephemeral', ttl: '1h' } }
    expect(message?.content).toEqual([
      { ...text('a'), ...hour },
      { ...text('b'), ...hour },
    ])
  })

  it('include marks of documents; a mark of 1h after one of 5m becomes 5m', () => {
    const file = { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } }
    const hourMark = { cache_control: { type: 'ephemeral', ttl: '1h' } }
    const content = [
      { ...file, ...hourMark },
      { ...file, cache_prompt: true },
      { ...file, ...hourMark },
      flagged('b'),
      { ...file, ...hourMark },
    ]
    const [message] = messages({ ...user('u'), llm_message: { role: 'user', content } } as MessageEvent)
    const mark = { cache_control: { type: 'ephemeral' } }
    expect(message?.content).toEqual([
      { ...file, ...hourMark },
      { ...file, ...mark },
      // The provider rejects a mark of one hour after one of five minutes.
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

it('M3 the first document or search result of a request decides whether all are cited', () => {
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
