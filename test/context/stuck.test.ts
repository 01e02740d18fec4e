/** Loops of agents: the published cases of group R, and the reported reasons. */

import { describe, expect, it } from 'vitest'
import { stuckDetector } from '../../src/context/stuck.ts'
import type { Event } from '../../src/event/types.ts'
import { replay } from '../../src/state/reduce.ts'
import { evict, decodeSnapshot, encodeSnapshot } from '../../src/state/snapshot.ts'
import { action, agent, condensation, hook, observe, pause, summary, system, update, user } from '../build.ts'
import {
  count,
  step,
  pairs,
  errors,
  messages,
  environment,
  verdict,
  pattern,
  nudge,
  alternating,
  failing,
} from './stuck-logs.ts'

/** A reply with two calls, in alternating order. */
const replyOfTwo = (index: number) => {
  const calls = ['ls', 'cat'].map((tool) => action(`${tool}${index}`, { tool, response: `r${index}` }))
  const order = index % 2 === 0 ? calls : calls.toReversed()
  return [...order, ...calls.map((call) => observe(`o-${call.id}`, call, call.tool_name))]
}

const differing = (change: (index: number) => Event[]) => pattern([user('u'), ...count(4).flatMap(change)])

describe('group R: the stuck detector', () => {
  it('R1 one call with its result is no loop', () => {
    expect(verdict([user('u'), ...step('1')])).toBe(null)
  })

  it('replies that failed without content are no loop, so a later run can repeat them', () => {
    const reply = { outcome: 'failed', tokens: [9, 1] }
    const failures = count(6).flatMap((index) => [
      { ...agent(`f${index}`), llm_message: { role: 'assistant', content: [], reply } } as Event,
    ])
    expect(verdict([user('u'), ...failures])).toBe(null)
  })

  it('R2 three identical calls and results are no loop, but four are', () => {
    expect(verdict([user('u'), ...pairs(3)])).toBe(null)
    expect(verdict([user('u'), ...pairs(4)])).toEqual({
      pattern: 'action_observation',
      eventIds: ['a0', 'o0', 'a1', 'o1', 'a2', 'o2', 'a3', 'o3'],
      reason: 'The same call of "ls" had the same result 4 times in a row.',
    })
  })

  it('R3 only the latest events count, after any number of old ones', () => {
    const old = count(50).flatMap((index) => step(`old${index}`, { action: { kind: 'Old', at: index } }))
    const fillers = count(3).flatMap((index) => step(`fill${index}`, { action: { kind: 'Fill', at: index } }))
    expect(pattern([...old, user('u'), ...fillers, ...pairs(4)])).toBe('action_observation')
    // The public implementation reads the last 20 events; this one, as many units as the thresholds need.
    expect(pattern([...pairs(4), user('u'), ...old])).toBe(null)
  })

  it('R4 without a user message the whole branch counts', () => {
    const fillers = count(6).flatMap((index) => step(`fill${index}`, { action: { kind: 'Fill', at: index } }))
    expect(pattern([...fillers, ...pairs(4)])).toBe('action_observation')
    expect(pattern(pairs(4))).toBe('action_observation')
  })

  it('R5 a third equal failure causes a nudge, and a fourth is a loop', () => {
    for (const log of [errors(2), errors(4)]) expect(nudge([user('u'), ...log])).toBe(null)
    expect([2, 3, 4].map((times) => pattern([user('u'), ...errors(times)]))).toEqual([
      null,
      null,
      'action_error',
    ])
    const text = nudge([user('u'), ...errors(3)])
    expect(text).toContain('"ls"')
    expect(text).toContain('3 times')
    expect(text).toContain('error 2')
    expect(verdict([user('u'), ...errors(4)])).toEqual({
      pattern: 'action_error',
      eventIds: ['a0', 'e0', 'a1', 'e1', 'a2', 'e2', 'a3', 'e3'],
      reason: 'The same call of "ls" failed 4 times in a row.',
    })
  })

  it('R6 two messages of the agent are no monologue, but three are', () => {
    expect(pattern([user('u'), ...messages(2)])).toBe(null)
    expect(verdict([user('u'), ...messages(3)])).toMatchObject({
      pattern: 'monologue',
      eventIds: ['m0', 'm1', 'm2'],
    })
  })

  it('R7 four different commands are no loop', () => {
    const commands = count(4).flatMap((index) =>
      step(`${index}`, { action: { kind: 'Run', command: `c${index}` } }),
    )
    expect(verdict([user('u'), ...commands])).toBe(null)
  })

  it('R8 a new user message ends a loop, until it repeats four times again', () => {
    const log = [user('u'), ...pairs(4)]
    expect(pattern(log)).toBe('action_observation')
    expect(pattern([...log, user('v')])).toBe(null)
    expect(pattern([...log, user('v'), ...step('4')])).toBe(null)
    expect(pattern([...log, user('v'), ...pairs(4, 'again')])).toBe('action_observation')
  })

  it('R9 with a threshold of six, five equal calls are no loop, but six are', () => {
    const options = { action_observation: 6 }
    expect([4, 5, 6].map((times) => pattern([user('u'), ...pairs(times)], options))).toEqual([
      null,
      null,
      'action_observation',
    ])
  })

  it('R10 omitted thresholds have the published defaults', () => {
    expect(stuckDetector({ monologue: 5 }).thresholds).toEqual({
      action_observation: 4,
      action_error: 3,
      monologue: 5,
      alternating_pattern: 6,
    })
  })
})

describe('a loop', () => {
  it('is found despite thoughts, pauses, hooks, state updates and environment messages', () => {
    const log = count(4).flatMap((index) => [
      ...step(`${index}`, { thought: `thought ${index}`, summary: `summary ${index}` }),
      pause(`p${index}`),
      hook(`h${index}`, 'PreToolUse'),
      update(`s${index}`, 'stats', index),
      update(`r${index}`, 'execution_status', 'running'),
      environment(`n${index}`),
      system(`sys${index}`),
      summary(`sum${index}`),
      agent(`m${index}`),
    ])
    expect(pattern([user('u'), ...log])).toBe('action_observation')
  })

  it('does not consist of equal calls in one reply', () => {
    const calls = count(4).map((index) => action(`a${index}`, { response: 'r' }))
    const log = [...calls, ...calls.map((call) => observe(`o-${call.id}`, call, 'ok'))]
    expect(pattern([user('u'), ...log])).toBe(null)
  })

  it('consists of equal replies, in any order of their calls', () => {
    expect(pattern([user('u'), ...count(3).flatMap(replyOfTwo)])).toBe(null)
    expect(verdict([user('u'), ...count(4).flatMap(replyOfTwo)])).toMatchObject({
      pattern: 'action_observation',
      reason: 'The same calls of "cat", "ls" had the same result 4 times in a row.',
    })
  })

  it('is not found if the results of equal calls alternate', () => {
    // Results in another order than the calls: each call's result changes every time.
    const calls = count(4).map((index) => action(`a${index}`))
    const log = calls.flatMap((call, index) => [call, observe(`o${index}`, call, `result ${index % 2}`)])
    expect(pattern([user('u'), ...log])).toBe(null)
  })

  it('is not found while the last call has no result', () => {
    expect(pattern([user('u'), ...pairs(4), action('b', { tool: 'cat' })])).toBe(null)
    expect(pattern([user('u'), ...messages(3), action('b')])).toBe(null)
  })

  it('counts only on its own branch', () => {
    const log = [user('u'), ...pairs(4), agent('side', 'side', { parent_id: 'u' })]
    expect(pattern(log)).toBe(null)
    expect(pattern([...log, update('back', 'leaf_event_id', 'o3')])).toBe('action_observation')
  })

  it('ends at a user message, even if a condensation has forgotten it', () => {
    const log = [user('u'), ...pairs(2), user('v'), ...pairs(2, 'w'), condensation('c', ['v'])]
    expect(pattern(log)).toBe(null)
    expect(pattern([...log, ...pairs(2, 'x')])).toBe('action_observation')
  })

  it('is not found if a condensation has forgotten one of its four steps', () => {
    const log = [user('u'), ...pairs(5)]
    expect(pattern([...log, condensation('c', ['a0'], 'So far.', 1)])).toBe('action_observation')
    expect(pattern([...log, condensation('c', ['a0', 'a1'], 'So far.', 1)])).toBe(null)
  })

  it('depends on the source, tool, action and result, but not on the raw arguments', () => {
    expect(differing((index) => step(`${index}`, { action: { kind: 'X', at: index } }))).toBe(null)
    expect(differing((index) => step(`${index}`, { tool: `t${index}` }))).toBe(null)
    expect(differing((index) => step(`${index}`, {}, `r${index}`))).toBe(null)
    expect(differing((index) => step(`${index}`, { source: index < 2 ? 'user' : 'agent' }))).toBe(null)
    expect(differing((index) => step(`${index}`, index < 2 ? {} : { source: 'agent' }))).toBe(
      'action_observation',
    )
    expect(differing((index) => step(`${index}`, { args: `{"at":${index}}` }))).toBe('action_observation')
  })

  it('is found in an evicted state and in a decoded snapshot', () => {
    const { verdict: find } = stuckDetector()
    for (const log of [pairs(4), errors(4), messages(3), alternating(6)]) {
      const state = replay([user('u'), condensation('c', ['u']), ...log], { conversationId: 'c' })
      const expected = find(state)
      expect(expected).not.toBe(null)
      expect(find(evict(state))).toEqual(expected)
      expect(find(decodeSnapshot(encodeSnapshot(state), 'c') as typeof state)).toEqual(expected)
    }
  })
})

describe('the reason of a verdict', () => {
  it.each([
    [1, 'call of "t0" failed'],
    [3, 'calls of "t0", "t1", "t2" failed'],
    [4, 'calls of "t0", "t1", "t2" and 1 more failed'],
  ])('names up to three of %i tools', (toolCount, phrase) => {
    const tools = count(toolCount).map((index) => `t${index}`)
    expect(verdict(failing(tools))?.reason).toContain(phrase)
  })

  it('is short, well-formed and without secrets for any tool name', () => {
    const reason =
      verdict(failing(['\u{1f600}'.repeat(100), `{"encrypted_content":"gAAAA${'x'.repeat(200)}`]))?.reason ??
      ''
    expect(reason.length).toBeLessThan(300)
    expect(reason.isWellFormed()).toBe(true)
    expect(reason).not.toContain('gAAAA')
  })
})
