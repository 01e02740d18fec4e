/** Groups F and G of the inventory: a condensation of part of a tool batch includes the whole batch. */

import { describe, expect, it } from 'vitest'
import { action, batch, condensation, observe, pair, user } from '../build.ts'
import { cutPoints, fold, ids, remaining, pendingIds } from './inspect.ts'

describe('group F: batches and condensations', () => {
  it('F1 forgetting three of four calls removes the whole batch', () => {
    const log = [user('u'), ...batch('r', ['1', '2', '3', '4'], true)]
    expect(ids(fold(...log))).toHaveLength(9)
    expect(remaining(log, 'a1', 'a2', 'a3')).toEqual(['u'])
  })

  it('F2 forgetting both calls of a batch removes their results', () => {
    expect(remaining([user('u'), ...batch('r', ['1', '2'])], 'a1', 'a2')).toEqual(['u'])
  })

  it('F3 a condensation that lists no ids removes nothing', () => {
    expect(remaining(batch('r', ['1', '2', '3']))).toEqual(['a1', 'a2', 'a3', 'o1', 'o2', 'o3'])
  })

  it('F4 forgetting a call of the first batch leaves the second batch', () => {
    const log = [...batch('r1', ['1', '2']), ...batch('r2', ['3', '4'])]
    expect(remaining(log, 'a1')).toEqual(['a3', 'a4', 'o3', 'o4'])
  })

  it('F5 forgetting the only call of a batch removes its result', () => {
    expect(remaining([user('u'), ...batch('r', ['1'])], 'a1')).toEqual(['u'])
  })

  it('F6 alternating calls and results with one response id form separate batches', () => {
    const response = { response: 'r' }
    const log = [...pair('1', response), ...pair('2', response), ...pair('3', response)]
    expect(ids(fold(...log))).toEqual(['a1', 'o1', 'a2', 'o2', 'a3', 'o3'])
    expect(remaining(log, 'a1', 'a2')).toEqual(['a3', 'o3'])
  })

  it('F7 forgetting a result removes the whole batch', () => {
    expect(remaining([user('u'), ...batch('r', ['1', '2'])], 'o1')).toEqual(['u'])
  })

  it('F8 forgetting two of three results removes the whole batch', () => {
    expect(remaining([user('u'), ...batch('r', ['1', '2', '3'])], 'o1', 'o2')).toEqual(['u'])
  })

  it('F9 forgetting a result of the first batch leaves the second batch', () => {
    const log = [...batch('r1', ['1', '2']), ...batch('r2', ['3', '4'])]
    expect(remaining(log, 'o2')).toEqual(['a3', 'a4', 'o3', 'o4'])
  })

  it('F10 forgetting the only result removes its call', () => {
    expect(remaining([user('u'), ...batch('r', ['1'])], 'o1')).toEqual(['u'])
  })
})

describe('group G: batches as units', () => {
  const four = batch('r', ['1', '2', '3', '4'])
  const three = batch('r', ['1', '2', '3'])
  const twice = [...batch('r1', ['1', '2']), ...batch('r2', ['3', '4'])]

  it('G1 forgetting every call except the last removes the last one too', () => {
    expect(remaining(four, 'a1', 'a2', 'a3')).toEqual([])
  })

  it('G2 forgetting a call of an already forgotten batch changes nothing', () => {
    const gone = condensation('C1', ['a1', 'a2', 'a3', 'a4'])
    expect(remaining([user('u'), ...four, gone])).toEqual(['u'])
    expect(remaining([user('u'), ...four, gone], 'a4')).toEqual(['u'])
  })

  it('G3 a batch stays whole when a condensation lists no ids', () => {
    expect(remaining(four)).toEqual(['a1', 'a2', 'a3', 'a4', 'o1', 'o2', 'o3', 'o4'])
  })

  it('G4 forgetting the second call of the first batch leaves the second batch', () => {
    expect(remaining(twice, 'a2')).toEqual(['a3', 'a4', 'o3', 'o4'])
  })

  it('G5 forgetting the first call removes the whole batch', () => {
    expect(remaining(three, 'a1')).toEqual([])
  })

  it('G6 forgetting the middle call removes the whole batch', () => {
    expect(remaining(three, 'a2')).toEqual([])
  })

  it('G7 two batches stay whole when a condensation lists no ids', () => {
    expect(remaining(twice)).toEqual(['a1', 'a2', 'o1', 'o2', 'a3', 'a4', 'o3', 'o4'])
  })

  it('G8 a batch of one call stays until its call is forgotten', () => {
    expect(remaining(batch('r', ['1']))).toEqual(['a1', 'o1'])
    expect(remaining(batch('r', ['1']), 'a1')).toEqual([])
  })

  it('G9 forgetting a call of a batch of two leaves a batch of one', () => {
    expect(remaining([...batch('r1', ['1', '2']), ...batch('r2', ['3'])], 'a1')).toEqual(['a3', 'o3'])
  })

  it('G10 a batch has no cut point inside, answered or pending', () => {
    expect(cutPoints(fold(...three))).toEqual([0, 6])
    expect(cutPoints(fold(...three.slice(0, 3)))).toEqual([0])
  })

  it('G11 two calls of different responses have a cut point between them', () => {
    expect(cutPoints(fold(...pair('1'), ...pair('2')))).toEqual([0, 2, 4])
    const [one, two] = [action('a1'), action('a2')]
    const crossed = fold(one, two, observe('o1', one), observe('o2', two))
    expect(ids(crossed)).toEqual(['a1', 'o1', 'a2', 'o2'])
    expect(cutPoints(crossed)).toEqual([0, 2, 4])
  })

  it('G12 a pending call is outside the view, whose only cut point is 0', () => {
    const single = fold(action('a1'))
    expect(pendingIds(single)).toEqual(['a1'])
    expect(ids(single)).toEqual([])
    expect(cutPoints(single)).toEqual([0])
    expect(cutPoints(fold())).toEqual([0])
  })
})
