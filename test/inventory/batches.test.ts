/** Groups F and G of the inventory: a condensation of part of a tool batch includes the whole batch. */

import { describe, expect, it } from 'vitest'
import { action, batch, condensation, observe, pair, user } from '../build.ts'
import { cuts, fold, ids, remaining, open } from './look.ts'

describe('group F: batches and condensations', () => {
  it('F1 three of four calls, with thinking', () => {
    const log = [user('u'), ...batch('r', ['1', '2', '3', '4'], true)]
    expect(ids(fold(...log))).toHaveLength(9)
    expect(remaining(log, 'a1', 'a2', 'a3')).toEqual(['u'])
  })

  it('F2 both calls of two', () => {
    expect(remaining([user('u'), ...batch('r', ['1', '2'])], 'a1', 'a2')).toEqual(['u'])
  })

  it('F3 no call at all', () => {
    expect(remaining(batch('r', ['1', '2', '3']))).toEqual(['a1', 'a2', 'a3', 'o1', 'o2', 'o3'])
  })

  it('F4 one call of the first of two batches', () => {
    const log = [...batch('r1', ['1', '2']), ...batch('r2', ['3', '4'])]
    expect(remaining(log, 'a1')).toEqual(['a3', 'a4', 'o3', 'o4'])
  })

  it('F5 a single call', () => {
    expect(remaining([user('u'), ...batch('r', ['1'])], 'a1')).toEqual(['u'])
  })

  it('F6 calls and results by turns under one response id', () => {
    const response = { response: 'r' }
    const log = [...pair('1', response), ...pair('2', response), ...pair('3', response)]
    expect(ids(fold(...log))).toEqual(['a1', 'o1', 'a2', 'o2', 'a3', 'o3'])
    expect(remaining(log, 'a1', 'a2')).toEqual(['a3', 'o3'])
  })

  it('F7 a result', () => {
    expect(remaining([user('u'), ...batch('r', ['1', '2'])], 'o1')).toEqual(['u'])
  })

  it('F8 two results of three', () => {
    expect(remaining([user('u'), ...batch('r', ['1', '2', '3'])], 'o1', 'o2')).toEqual(['u'])
  })

  it('F9 a result of the first of two batches', () => {
    const log = [...batch('r1', ['1', '2']), ...batch('r2', ['3', '4'])]
    expect(remaining(log, 'o2')).toEqual(['a3', 'a4', 'o3', 'o4'])
  })

  it('F10 the only result', () => {
    expect(remaining([user('u'), ...batch('r', ['1'])], 'o1')).toEqual(['u'])
  })
})

describe('group G: batches as units', () => {
  const four = batch('r', ['1', '2', '3', '4'])
  const three = batch('r', ['1', '2', '3'])
  const twice = [...batch('r1', ['1', '2']), ...batch('r2', ['3', '4'])]

  it('G1 all calls but the last', () => {
    expect(remaining(four, 'a1', 'a2', 'a3')).toEqual([])
  })

  it('G2 a batch that is gone already', () => {
    const gone = condensation('C1', ['a1', 'a2', 'a3', 'a4'])
    expect(remaining([user('u'), ...four, gone])).toEqual(['u'])
    expect(remaining([user('u'), ...four, gone], 'a4')).toEqual(['u'])
  })

  it('G3 a batch that is whole', () => {
    expect(remaining(four)).toEqual(['a1', 'a2', 'a3', 'a4', 'o1', 'o2', 'o3', 'o4'])
  })

  it('G4 the second call of the first batch', () => {
    expect(remaining(twice, 'a2')).toEqual(['a3', 'a4', 'o3', 'o4'])
  })

  it('G5 the first call', () => {
    expect(remaining(three, 'a1')).toEqual([])
  })

  it('G6 the middle call', () => {
    expect(remaining(three, 'a2')).toEqual([])
  })

  it('G7 two whole batches', () => {
    expect(remaining(twice)).toEqual(['a1', 'a2', 'o1', 'o2', 'a3', 'a4', 'o3', 'o4'])
  })

  it('G8 a single call, there and gone', () => {
    expect(remaining(batch('r', ['1']))).toEqual(['a1', 'o1'])
    expect(remaining(batch('r', ['1']), 'a1')).toEqual([])
  })

  it('G9 a batch of two and one of one', () => {
    expect(remaining([...batch('r1', ['1', '2']), ...batch('r2', ['3'])], 'a1')).toEqual(['a3', 'o3'])
  })

  it('G10 no cut inside a batch', () => {
    expect(cuts(fold(...three))).toEqual([0, 6])
    expect(cuts(fold(...three.slice(0, 3)))).toEqual([0])
  })

  it('G11 a cut between two batches', () => {
    expect(cuts(fold(...pair('1'), ...pair('2')))).toEqual([0, 2, 4])
    const [one, two] = [action('a1'), action('a2')]
    const crossed = fold(one, two, observe('o1', one), observe('o2', two))
    expect(ids(crossed)).toEqual(['a1', 'o1', 'a2', 'o2'])
    expect(cuts(crossed)).toEqual([0, 2, 4])
  })

  it('G12 a single call, and nothing', () => {
    const single = fold(action('a1'))
    expect(open(single)).toEqual(['a1'])
    expect(ids(single)).toEqual([])
    expect(cuts(single)).toEqual([0])
    expect(cuts(fold())).toEqual([0])
  })
})
