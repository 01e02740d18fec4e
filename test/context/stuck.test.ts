/** Loops that agents make: the published cases of group R, those of group W that speak of loops, and every threshold below, at and above it. */

import { describe, expect, it } from 'vitest'
import { stuckDetector } from '../../src/context/stuck/detector.ts'
import type { StuckOptions } from '../../src/context/stuck/thresholds.ts'
import type { Event } from '../../src/event/types.ts'
import { replay } from '../../src/state/reduce.ts'
import { evict, decodeSnapshot, encodeSnapshot } from '../../src/state/snapshot.ts'
import {
  action,
  type ActionOptions,
  agent,
  condensation,
  fail,
  hook,
  observe,
  pause,
  reject,
  summary,
  system,
  update,
  user,
} from '../build.ts'

/** How many steps: numbers from `from` on. */
const count = (length: number, from = 0): number[] => Array.from({ length }, (_, at) => at + from)

/** A call of its own name and its result; equal but for ids unless told otherwise. */
function step(name: string, options: ActionOptions = {}, result = 'ok'): Event[] {
  const call = action(`a${name}`, options)
  return [call, observe(`o${name}`, call, result)]
}

const pairs = (length: number, prefix = '', result = 'ok') =>
  count(length).flatMap((at) => step(`${prefix}${at}`, {}, result))

function errors(length: number, error = (at: number) => `error ${at}`): Event[] {
  return count(length).flatMap((at) => {
    const call = action(`a${at}`)
    return [call, fail(`e${at}`, call, error(at))]
  })
}

const said = (length: number): Event[] => count(length).map((at) => agent(`m${at}`))

const environment = (id: string, words = id): Event => user(id, words, { source: 'environment' })

const verdict = (events: readonly Event[], options: StuckOptions = {}) =>
  stuckDetector(options).verdict(replay(events))
const pattern = (events: readonly Event[], options: StuckOptions = {}) =>
  verdict(events, options)?.pattern ?? null
const nudge = (events: readonly Event[], options: StuckOptions = {}) =>
  stuckDetector(options).nudge(replay(events))

/** Two steps by turns. */
const alternating = (length: number): Event[] =>
  count(length).flatMap((at) => step(`${at}`, { tool: at % 2 === 0 ? 'ls' : 'cat' }, `result ${at % 2}`))

/** The same call, refused for another reason each time. */
const refused = (times: number) =>
  count(times).flatMap((at) => {
    const call = action(`a${at}`)
    return [call, reject(`r${at}`, call, { rejection_reason: `no, ${at}` })]
  })

/** Four calls that could never run. */
const invalid = (args: (at: number) => string, tool = () => 'none') =>
  count(4).flatMap((at) => {
    const call = action(`a${at}`, { action: null, tool: tool(), args: args(at) })
    return [call, fail(`e${at}`, call, 'no such tool')]
  })

/** A reply with two calls, in another order each time. */
const replyOfTwo = (at: number) => {
  const calls = ['ls', 'cat'].map((tool) => action(`${tool}${at}`, { tool, response: `r${at}` }))
  const order = at % 2 === 0 ? calls : calls.toReversed()
  return [...order, ...calls.map((call) => observe(`o-${call.id}`, call, call.tool_name))]
}

const differing = (change: (at: number) => Event[]) => pattern([user('u'), ...count(4).flatMap(change)])

/** Four replies, each with a failing call of each tool. */
const failing = (tools: readonly string[]) =>
  count(4).flatMap((at) => {
    const calls = tools.map((tool, i) => action(`a${at}-${i}`, { tool, response: `r${at}` }))
    return [...calls, ...calls.map((call) => fail(`e-${call.id}`, call))]
  })

/** Four equal steps, words of the environment before the last. */
const between = (words: number) => [
  ...pairs(3),
  ...count(words).map((at) => environment(`n${at}`)),
  ...pairs(1, 'last'),
]

/** A nudge as somebody says it. */
const told = (text: string, source: 'environment' | 'user' | 'agent' = 'environment') =>
  user('n', text, { source })

describe('group R: the stuck detector', () => {
  it('R1 one pair', () => {
    expect(verdict([user('u'), ...step('1')])).toBe(null)
  })

  it('R2 three identical pairs are none, four are a loop', () => {
    expect(verdict([user('u'), ...pairs(3)])).toBe(null)
    expect(verdict([user('u'), ...pairs(4)])).toEqual({
      pattern: 'action_observation',
      eventIds: ['a0', 'o0', 'a1', 'o1', 'a2', 'o2', 'a3', 'o3'],
      reason: 'The same call of "ls" had the same result 4 times in a row.',
    })
  })

  it('R3 what is old does not count, however much of it there is', () => {
    const old = count(50).flatMap((at) => step(`old${at}`, { action: { kind: 'Old', at } }))
    const fillers = count(3).flatMap((at) => step(`fill${at}`, { action: { kind: 'Fill', at } }))
    expect(pattern([...old, user('u'), ...fillers, ...pairs(4)])).toBe('action_observation')
    // The public one reads the last 20 events; here only so many units as the thresholds ask for, whatever stands before.
    expect(pattern([...pairs(4), user('u'), ...old])).toBe(null)
  })

  it('R4 without a message of a user the whole branch counts', () => {
    const fillers = count(6).flatMap((at) => step(`fill${at}`, { action: { kind: 'Fill', at } }))
    expect(pattern([...fillers, ...pairs(4)])).toBe('action_observation')
    expect(pattern(pairs(4))).toBe('action_observation')
  })

  it('R5 a nudge at the third equal failure, a loop at the fourth', () => {
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

  it('R6 three messages of the agent', () => {
    expect(pattern([user('u'), ...said(2)])).toBe(null)
    expect(verdict([user('u'), ...said(3)])).toMatchObject({
      pattern: 'monologue',
      eventIds: ['m0', 'm1', 'm2'],
    })
  })

  it('R7 four different commands', () => {
    const commands = count(4).flatMap((at) => step(`${at}`, { action: { kind: 'Run', command: `c${at}` } }))
    expect(verdict([user('u'), ...commands])).toBe(null)
  })

  it('R8 a new message of a user ends it, until it begins again', () => {
    const log = [user('u'), ...pairs(4)]
    expect(pattern(log)).toBe('action_observation')
    expect(pattern([...log, user('v')])).toBe(null)
    expect(pattern([...log, user('v'), ...step('4')])).toBe(null)
    expect(pattern([...log, user('v'), ...pairs(4, 'again')])).toBe('action_observation')
  })

  it('R9 another threshold', () => {
    const options = { action_observation: 6 }
    expect([4, 5, 6].map((times) => pattern([user('u'), ...pairs(times)], options))).toEqual([
      null,
      null,
      'action_observation',
    ])
  })

  it('R10 thresholds that are not given are the published ones', () => {
    expect(stuckDetector({ monologue: 5 }).thresholds).toEqual({
      action_observation: 4,
      action_error: 3,
      monologue: 5,
      alternating_pattern: 6,
    })
  })
})

describe('group W: loops', () => {
  it('W42 four refusals of the same call, whatever was said of them', () => {
    expect(pattern([user('u'), ...refused(3)])).toBe(null)
    expect(pattern([user('u'), ...refused(4)])).toBe('action_observation')
  })

  it('W43 invalid calls are told apart by their tool and their arguments', () => {
    expect(pattern(invalid((at) => `{"x":${at}}`))).toBe(null)
    expect(pattern(invalid((at) => (at % 2 === 0 ? '{"x":1,"y":2}' : '{ "y": 2, "x": 1 }')))).toBe(
      'action_error',
    )
    expect(pattern(invalid(() => 'no json'))).toBe('action_error')
    let next = 0
    const tools = () => `none${next++}`
    expect(pattern(invalid(() => '{}', tools))).toBe(null)
    // A text that is JSON, and the value that it writes.
    expect(pattern(invalid((at) => (at % 2 === 0 ? '"{}"' : '{}')))).toBe(null)
  })

  it('W44 words of the environment are no message of a user', () => {
    const log = count(4).flatMap((at) => [...step(`${at}`), environment(`n${at}`)])
    expect(pattern([user('u'), ...log])).toBe('action_observation')
  })

  it('W46 stuck stays stuck until a user says something', () => {
    const log = [user('u'), ...pairs(4), update('s', 'execution_status', 'running')]
    expect(pattern(log)).toBe('action_observation')
  })
})

describe('a loop', () => {
  it('is not hidden by thoughts, pauses, hooks, state updates and words of the environment', () => {
    const log = count(4).flatMap((at) => [
      ...step(`${at}`, { thought: `thought ${at}`, summary: `summary ${at}` }),
      pause(`p${at}`),
      hook(`h${at}`, 'PreToolUse'),
      update(`s${at}`, 'stats', at),
      environment(`n${at}`),
      system(`sys${at}`),
      summary(`sum${at}`),
      agent(`m${at}`),
    ])
    expect(pattern([user('u'), ...log])).toBe('action_observation')
  })

  it('is not made by equal calls of one reply', () => {
    const calls = count(4).map((at) => action(`a${at}`, { response: 'r' }))
    const log = [...calls, ...calls.map((call) => observe(`o-${call.id}`, call, 'ok'))]
    expect(pattern([user('u'), ...log])).toBe(null)
  })

  it('is made by equal replies, in whatever order they make their calls', () => {
    expect(pattern([user('u'), ...count(3).flatMap(replyOfTwo)])).toBe(null)
    expect(verdict([user('u'), ...count(4).flatMap(replyOfTwo)])).toMatchObject({
      pattern: 'action_observation',
      reason: 'The same calls of "cat", "ls" had the same result 4 times in a row.',
    })
  })

  it('needs the answers of its own calls', () => {
    // Results that stand in another order than the calls: each call has another result every time.
    const calls = count(4).map((at) => action(`a${at}`))
    const log = calls.flatMap((call, at) => [call, observe(`o${at}`, call, `result ${at % 2}`)])
    expect(pattern([user('u'), ...log])).toBe(null)
  })

  it('is not proved by a call that has no answer yet', () => {
    expect(pattern([user('u'), ...pairs(4), action('b', { tool: 'cat' })])).toBe(null)
    expect(pattern([user('u'), ...said(3), action('b')])).toBe(null)
  })

  it('of one branch is none of another', () => {
    const log = [user('u'), ...pairs(4), agent('side', 'side', { parent_id: 'u' })]
    expect(pattern(log)).toBe(null)
    expect(pattern([...log, update('back', 'leaf_event_id', 'o3')])).toBe('action_observation')
  })

  it('ends at a user’s message that a condensation took out', () => {
    const log = [user('u'), ...pairs(2), user('v'), ...pairs(2, 'w'), condensation('c', ['v'])]
    expect(pattern(log)).toBe(null)
    expect(pattern([...log, ...pairs(2, 'x')])).toBe('action_observation')
  })

  it('is not seen where it was forgotten', () => {
    const log = [user('u'), ...pairs(5)]
    expect(pattern([...log, condensation('c', ['a0'], 'So far.', 1)])).toBe('action_observation')
    expect(pattern([...log, condensation('c', ['a0', 'a1'], 'So far.', 1)])).toBe(null)
  })

  it('is told apart by who called, with what, and what came of it', () => {
    expect(differing((at) => step(`${at}`, { action: { kind: 'X', at } }))).toBe(null)
    expect(differing((at) => step(`${at}`, { tool: `t${at}` }))).toBe(null)
    expect(differing((at) => step(`${at}`, {}, `r${at}`))).toBe(null)
    expect(differing((at) => step(`${at}`, { source: at < 2 ? 'user' : 'agent' }))).toBe(null)
    expect(differing((at) => step(`${at}`, at < 2 ? {} : { source: 'agent' }))).toBe('action_observation')
    expect(differing((at) => step(`${at}`, { args: `{"at":${at}}` }))).toBe('action_observation')
  })

  it('is found in a state that was opened from a snapshot', () => {
    const { verdict: find } = stuckDetector()
    for (const log of [pairs(4), errors(4), said(3), alternating(6)]) {
      const state = replay([user('u'), condensation('c', ['u']), ...log], { conversationId: 'c' })
      const expected = find(state)
      expect(expected).not.toBe(null)
      expect(find(evict(state))).toEqual(expected)
      expect(find(decodeSnapshot(encodeSnapshot(state), 'c') as typeof state)).toEqual(expected)
    }
  })
})

describe('a reason', () => {
  it.each([
    [1, 'call of "t0" failed'],
    [3, 'calls of "t0", "t1", "t2" failed'],
    [4, 'calls of "t0", "t1", "t2" and 1 more failed'],
  ])('names %i tools', (many, words) => {
    const tools = count(many).map((at) => `t${at}`)
    expect(verdict(failing(tools))?.reason).toContain(words)
  })

  it('is short, well-formed, and holds no secret, whatever a tool is called', () => {
    const reason =
      verdict(failing(['\u{1f600}'.repeat(100), `{"encrypted_content":"gAAAA${'x'.repeat(200)}`]))?.reason ??
      ''
    expect(reason.length).toBeLessThan(300)
    expect(reason.isWellFormed()).toBe(true)
    expect(reason).not.toContain('gAAAA')
  })
})

describe('thresholds', () => {
  it.each<[keyof StuckOptions, number, (times: number) => Event[]]>([
    ['action_observation', 4, pairs],
    ['action_error', 4, errors],
    ['monologue', 3, said],
    ['alternating_pattern', 6, alternating],
  ])('%s counts from the published number on', (name, at, log) => {
    const found = [at - 1, at, at + 1].map((times) => pattern([user('u'), ...log(times)]))
    expect(found).toEqual([null, name, name])
  })

  it.each<[keyof StuckOptions, number, number, (times: number) => Event[]]>([
    ['action_observation', 7, 7, pairs],
    ['action_error', 6, 7, errors],
    ['monologue', 5, 5, said],
    ['alternating_pattern', 9, 9, alternating],
    ['action_observation', 1, 1, pairs],
    ['action_error', 1, 2, errors],
    ['monologue', 1, 1, said],
    ['alternating_pattern', 3, 3, alternating],
    // With two steps nothing has come back yet.
    ['alternating_pattern', 1, 3, alternating],
  ])('%s of %i counts from %i', (name, threshold, at, log) => {
    const found = [at - 1, at, at + 1].map((times) =>
      pattern([user('u'), ...log(times)], { [name]: threshold }),
    )
    expect(found).toEqual([null, name, name])
  })

  it.each<[keyof StuckOptions, Event[]]>([
    ['action_observation', pairs(20)],
    ['action_error', errors(20)],
    ['monologue', said(20)],
    ['alternating_pattern', alternating(20)],
  ])('%s of Infinity never counts, and leaves the others as they are', (name, log) => {
    expect(pattern([user('u'), ...log])).toBe(name)
    expect(pattern([user('u'), ...log], { [name]: Infinity })).toBe(null)
  })

  it('is never, for all, nothing is stuck', () => {
    const never = {
      action_observation: Infinity,
      action_error: Infinity,
      monologue: Infinity,
      alternating_pattern: Infinity,
    }
    expect(pattern(pairs(50), never)).toBe(null)
    expect(nudge(errors(3), never)).toBe(null)
  })

  it.each([0, -1, 1.5, Number.NaN, '4', null])('%s is none', (value) => {
    const make = () => stuckDetector({ monologue: value as number })
    if (value === null) expect(make().thresholds.monologue).toBe(3)
    else
      expect(make).toThrow(
        expect.objectContaining({ code: 'invalid_argument', data: { field: 'monologue' } }),
      )
  })

  it('bound what is read: words between the steps take place too', () => {
    // 10 units for each of the 6 steps that an alternation needs.
    expect(pattern(between(56))).toBe('action_observation')
    expect(pattern(between(57))).toBe(null)
  })

  it('bound what is read, at any length of the log', () => {
    for (const length of [20, 60, 2000]) {
      const { branch, ...rest } = replay([user('u'), ...said(length)])
      let read = 0
      const units = {
        length: branch.view.units.length,
        slice: (from: number) => {
          const latest = branch.view.units.slice(from)
          read += latest.length
          return latest
        },
      } as typeof branch.view.units
      const { verdict: find } = stuckDetector()
      expect(find({ ...rest, branch: { ...branch, view: { ...branch.view, units } } })).not.toBe(null)
      expect(read).toBe(Math.min(length + 1, 60))
    }
  })
})

describe('a nudge', () => {
  const log = [user('u'), ...errors(3)]

  it('is given once in a streak, also when other words follow', () => {
    const text = nudge(log) as string
    expect(nudge([...log, told(text)])).toBe(null)
    expect(nudge([...log, told(text), agent('empty', ''), environment('empty-reply')])).toBe(null)
    expect(nudge([...log, environment('other')])).toBe(text)
    expect(nudge([...log, told(text, 'agent')])).toBe(text)
  })

  it('is given again in the next streak', () => {
    const text = nudge(log) as string
    const next = count(3).flatMap((at) => {
      const call = action(`b${at}`, { tool: 'cat' })
      return [call, fail(`f${at}`, call)]
    })
    expect(nudge([...log, told(text), ...next])).toContain('"cat"')
    // The same failing call, after a word of the user.
    const again = count(3).flatMap((at) => {
      const call = action(`b${at}`)
      return [call, fail(`f${at}`, call, `error ${at}`)]
    })
    expect(nudge([...log, told(text), user('v'), ...again])).toBe(text)
  })

  it.each([
    [1, 1],
    [2, 2],
    [5, 5],
  ])('with a threshold of %i comes after %i failures and at no other time', (action_error, at) => {
    const given = [at - 1, at, at + 1].map((times) => nudge([user('u'), ...errors(times)], { action_error }))
    expect(given.map((text) => text !== null)).toEqual([false, true, false])
  })

  it('is not given for a loop of another kind', () => {
    for (const other of [pairs(3), pairs(4), said(2), said(3), alternating(5)])
      expect(nudge(other)).toBe(null)
    // Stuck already: too late for a word.
    expect(nudge(errors(3), { alternating_pattern: 3, action_error: 1 })).toBe(null)
  })

  it('quotes a part of a long error, whole characters, and no secret', () => {
    const long = nudge([user('u'), ...errors(3, () => '\u{1f600}'.repeat(5000))]) as string
    expect(long.length).toBeLessThan(1400)
    expect(long.isWellFormed()).toBe(true)
    const secret = nudge([user('u'), ...errors(3, () => '{"encrypted_content":"gAAAA"}')])
    expect(secret).not.toContain('gAAAA')
  })
})
