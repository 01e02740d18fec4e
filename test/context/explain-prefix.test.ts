/** What changed first between two requests, in the words of the request. */

import { describe, expect, it } from 'vitest'
import { explainPrefix } from '../../src/context/explain-prefix.ts'

const text = (said: string) => ({ type: 'text', text: said })
const user = (...said: string[]) => ({ role: 'user', content: said.map(text) })
const request = { system: [text('s')], tools: [{ name: 'ls' }], messages: [user('a'), user('b', 'c')] }

describe('explainPrefix', () => {
  it.each([
    ['the same', request, null],
    ['more messages', { ...request, messages: [...request.messages, user('d')] }, null],
    ['a last message that grows', { ...request, messages: [user('a'), user('b', 'c', 'd')] }, null],
    ['a cache mark', { ...request, system: [{ ...text('s'), cache_control: { type: 'ephemeral' } }] }, null],
    ['a system prompt', { ...request, system: [text('t')] }, { in: 'system', path: '[0].text' }],
    ['a tool', { ...request, tools: [{ name: 'ls' }, {}] }, { in: 'tools', path: '[1]' }],
    [
      'a word',
      { ...request, messages: [user('A'), user('b', 'c')] },
      { in: 'message', message: 0, path: 'content[0].text' },
    ],
    [
      'a first message that grows',
      { ...request, messages: [user('a', 'x'), user('b', 'c')] },
      { in: 'message', message: 0, path: 'content[1]' },
    ],
    [
      'a message that is gone',
      { ...request, messages: [user('a')] },
      { in: 'message', message: 1, path: '' },
    ],
  ])('names %s', (_, next, expected) => {
    expect(explainPrefix(request, next)).toEqual(expected)
  })

  it('reads lists and inputs too', () => {
    expect(explainPrefix([user('a')], [user('b')])).toMatchObject({ message: 0 })
    expect(explainPrefix({ instructions: 'a', input: [] }, { instructions: 'b', input: [] })).toMatchObject({
      in: 'system',
    })
  })
})
