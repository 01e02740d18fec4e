/** The stuck detector below, at and above every threshold, and the text of nudges. */

import { describe, expect, it } from 'vitest'
import { stuckDetector, type StuckOptions } from '../../src/context/stuck.ts'
import type { Event } from '../../src/event/types.ts'
import { replay } from '../../src/state/reduce.ts'
import { action, agent, fail, user } from '../build.ts'
import {
  count,
  pairs,
  errors,
  messages,
  environment,
  pattern,
  nudge,
  alternating,
  report,
  errorResults,
} from './stuck-logs.ts'

/** Four equal steps, with environment messages before the last. */
const between = (messageCount: number) => [
  ...pairs(3),
  ...count(messageCount).map((index) => environment(`n${index}`)),
  ...pairs(1, 'last'),
]

describe('thresholds of the stuck detector', () => {
  it.each<[keyof StuckOptions, number, string, (times: number) => Event[]]>([
    ['action_observation', 4, 'calls with equal results', pairs],
    ['action_error', 4, 'failed calls', errors],
    ['action_error', 4, 'error results', errorResults],
    ['monologue', 3, 'messages', messages],
    ['alternating_pattern', 6, 'alternating calls', alternating],
  ])('%s matches from %i %s by default', (name, index, _, log) => {
    const matches = [index - 1, index, index + 1].map((times) => pattern([user('u'), ...log(times)]))
    expect(matches).toEqual([null, name, name])
  })

  it.each<[keyof StuckOptions, number, number, (times: number) => Event[]]>([
    ['action_observation', 7, 7, pairs],
    ['action_error', 6, 7, errors],
    ['monologue', 5, 5, messages],
    ['alternating_pattern', 9, 9, alternating],
    ['action_observation', 1, 1, pairs],
    ['action_error', 1, 2, errors],
    ['monologue', 1, 1, messages],
    ['alternating_pattern', 3, 3, alternating],
    // Two steps do not repeat anything.
    ['alternating_pattern', 1, 3, alternating],
  ])('%s = %i matches from %i repetitions', (name, threshold, index, log) => {
    const matches = [index - 1, index, index + 1].map((times) =>
      pattern([user('u'), ...log(times)], { [name]: threshold }),
    )
    expect(matches).toEqual([null, name, name])
  })

  it.each<[keyof StuckOptions, Event[]]>([
    ['action_observation', pairs(20)],
    ['action_error', errors(20)],
    ['monologue', messages(20)],
    ['alternating_pattern', alternating(20)],
  ])('%s = Infinity never matches', (name, log) => {
    expect(pattern([user('u'), ...log])).toBe(name)
    expect(pattern([user('u'), ...log], { [name]: Infinity })).toBe(null)
  })

  it('disable verdicts and nudges if all are Infinity', () => {
    const never = {
      action_observation: Infinity,
      action_error: Infinity,
      monologue: Infinity,
      alternating_pattern: Infinity,
    }
    expect(pattern(pairs(50), never)).toBe(null)
    expect(nudge(errors(3), never)).toBe(null)
  })

  it.each([0, -1, 1.5, Number.NaN, '4', null])(
    'are whole numbers from 1, or null for the default: %s',
    (value) => {
      const make = () => stuckDetector({ monologue: value as number })
      if (value === null) expect(make().thresholds.monologue).toBe(3)
      else
        expect(make).toThrow(
          expect.objectContaining({ code: 'invalid_argument', data: { field: 'monologue' } }),
        )
    },
  )

  it('limit the units that are read, including environment messages between the steps', () => {
    // 10 units for each of the 6 steps of an alternation.
    expect(pattern(between(56))).toBe('action_observation')
    expect(pattern(between(57))).toBe(null)
  })

  it('limit the units that are read, at any length of the log', () => {
    for (const length of [20, 60, 2000]) {
      const { branch, ...rest } = replay([user('u'), ...messages(length)])
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

  it('is returned once per streak, even if other messages follow', () => {
    const text = nudge(log) as string
    expect(nudge([...log, report(text)])).toBe(null)
    expect(nudge([...log, report(text), agent('empty', ''), environment('empty-reply')])).toBe(null)
    expect(nudge([...log, environment('other')])).toBe(text)
    expect(nudge([...log, report(text, 'agent')])).toBe(text)
  })

  it('is returned again in the next streak', () => {
    const text = nudge(log) as string
    const next = count(3).flatMap((index) => {
      const call = action(`b${index}`, { tool: 'cat' })
      return [call, fail(`f${index}`, call)]
    })
    expect(nudge([...log, report(text), ...next])).toContain('"cat"')
    // The same failing call, after a user message.
    const again = count(3).flatMap((index) => {
      const call = action(`b${index}`)
      return [call, fail(`f${index}`, call, `error ${index}`)]
    })
    expect(nudge([...log, report(text), user('v'), ...again])).toBe(text)
  })

  it.each([
    [1, 1],
    [2, 2],
    [5, 5],
  ])('with threshold %i is returned after %i failures and at no other time', (action_error, index) => {
    const input = [index - 1, index, index + 1].map((times) =>
      nudge([user('u'), ...errors(times)], { action_error }),
    )
    expect(input.map((text) => text !== null)).toEqual([false, true, false])
  })

  it('is returned for repeated errors only', () => {
    for (const other of [pairs(3), pairs(4), messages(2), messages(3), alternating(5)])
      expect(nudge(other)).toBe(null)
    // Already stuck: too late for a nudge.
    expect(nudge(errors(3), { alternating_pattern: 3, action_error: 1 })).toBe(null)
  })

  it('is returned for error results, and quotes them', () => {
    expect(nudge([user('u'), ...errorResults(3)])).toContain('\ntold t2\n')
    expect(nudge([user('u'), ...errors(2), ...errorResults(3).slice(4)])).toContain('\ntold t2\n')
  })

  it('shortens a long error between characters, and omits secrets', () => {
    const long = nudge([user('u'), ...errors(3, () => '\u{1f600}'.repeat(5000))]) as string
    expect(long.length).toBeLessThan(1400)
    expect(long.isWellFormed()).toBe(true)
    const secret = nudge([user('u'), ...errors(3, () => '{"encrypted_content":"gAAAA"}')])
    expect(secret).not.toContain('gAAAA')
  })
})
