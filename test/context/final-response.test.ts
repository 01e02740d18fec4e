/** The final response of a branch: case V1. */

import { describe, expect, it } from 'vitest'
import { finalResponse } from '../../src/context/final-response.ts'
import type { Event } from '../../src/event/types.ts'
import { replay } from '../../src/state/reduce.ts'
import { evict } from '../../src/state/snapshot.ts'
import {
  action,
  type ActionOptions,
  agent,
  condensation,
  image,
  moveHead,
  pair,
  pause,
  text,
  update,
  user,
} from '../build.ts'

const finish = (id: string, message: unknown, more: ActionOptions = {}): Event =>
  action(id, { tool: 'finish', action: { kind: 'FinishAction', message }, ...more })

const final = (...events: Event[]) => finalResponse(replay(events))

describe('V1 finalResponse', () => {
  it('returns the message of a finish call, or the text of the agent', () => {
    expect(final(user('u'), finish('f', 'Done.'))).toBe('Done.')
    expect(final(user('u'), agent('a', 'Hello.'))).toBe('Hello.')
  })

  it('returns the last finish message or agent text', () => {
    expect(final(agent('a', 'One'), agent('b', 'Two'))).toBe('Two')
    expect(final(agent('a', 'One'), finish('f', 'Two'))).toBe('Two')
    expect(final(finish('f', 'One'), agent('a', 'Two'))).toBe('Two')
    expect(final(agent('a', 'One'), ...pair('1'), pause('p'), update('s', 'x', 1), user('u'))).toBe('One')
  })

  it('returns an empty string without a finish call or agent message', () => {
    expect(final()).toBe('')
    expect(final(user('u'), ...pair('1'))).toBe('')
  })

  it('returns an empty string for an invalid finish call', () => {
    expect(final(agent('a', 'One'), finish('f', '', { action: null }))).toBe('')
    expect(final(agent('a', 'One'), finish('f', 7))).toBe('')
  })

  it('joins the texts of a message, and adds the number of its images', () => {
    expect(final(agent('a', [text('a'), text('b'), text('c')]))).toBe('abc')
    expect(final(agent('a', [text('See: '), image('x', 'y')]))).toBe('See: [Image: 2 URLs]')
  })

  it('ignores finish calls of the user and calls of other tools', () => {
    expect(final(agent('a', 'One'), finish('f', 'Two', { source: 'user' }))).toBe('One')
    expect(
      final(agent('a', 'One'), action('b', { tool: 'say', action: { kind: 'Say', message: 'Two' } })),
    ).toBe('One')
  })

  it('returns an empty string for a final reply that has only a file', () => {
    const file = {
      ...agent('b', []),
      llm_message: { role: 'assistant', content: [], reply: { output: true } },
    }
    expect(final(agent('a', 'One'), file as Event)).toBe('')
  })

  // The public implementation returns an empty last message.
  it('ignores empty agent messages', () => {
    expect(final(agent('a', 'One'), agent('b', ''), agent('c', []))).toBe('One')
  })

  it('reads only the branch of HEAD', () => {
    const log = [user('u'), agent('a', 'One'), agent('b', 'Two', { parent_id: 'u' })]
    expect(final(...log)).toBe('Two')
    expect(final(...log, moveHead('h', 'a'))).toBe('One')
  })

  it('reads an evicted state, and throws if the response itself was evicted', () => {
    const log = [user('u'), agent('a', 'One'), pause('p')]
    expect(finalResponse(evict(replay(log)))).toBe('One')
    const forgotten = evict(replay([...log, condensation('c', ['a'])]))
    expect(() => finalResponse(forgotten)).toThrow(expect.objectContaining({ code: 'evicted' }))
  })
})
