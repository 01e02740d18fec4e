/** Titles: sources and length (case V2, without the model's titles, which are the caller's task). */

import { describe, expect, it } from 'vitest'
import { fallbackTitle, titleInput } from '../../src/context/title.ts'
import { replay } from '../../src/state/reduce.ts'
import { evict } from '../../src/state/snapshot.ts'
import { agent, condensation, image, moveHead, pause, system, text, user } from '../build.ts'

const input = (...events: Parameters<typeof replay>[0][]) =>
  titleInput(replay(events.flatMap((each) => [...each])))

describe('titleInput', () => {
  it('returns the first user message that is not blank', () => {
    const environment = user('e', 'Welcome', { source: 'environment' })
    const log = [
      system('s'),
      environment,
      agent('a'),
      user('blank', ' \n'),
      user('separator', '\u001c'),
      user('u', 'First'),
      user('v', 'Second'),
    ]
    expect(input(log)).toBe('First')
  })

  it('V2 returns null without a user message that has text', () => {
    expect(input([])).toBe(null)
    expect(input([agent('a'), user('e', 'x', { source: 'environment' })])).toBe(null)
    expect(input([user('i', [image('http://x/y.png')])])).toBe(null)
  })

  it('joins the texts of the message, without its extended content', () => {
    const parts = [text(' Mend'), image('http://x/y.png'), text('the build ')]
    expect(input([user('u', parts, { extended_content: [text('A skill')] })])).toBe('Mend the build')
  })

  it('reads only the branch of HEAD', () => {
    const log = [user('u', 'One'), user('v', 'Two', { parent_id: '__root__' })]
    expect(input(log)).toBe('Two')
    expect(input([...log, moveHead('h', 'u')])).toBe('One')
    expect(input([...log, moveHead('h', null)])).toBe(null)
  })

  it.each([
    [999, 999],
    [1000, 1000],
    [1001, 1000],
  ])('for a message of %i code units returns %i', (value, expected) => {
    const result = input([user('u', 'x'.repeat(value))])
    expect(result).toHaveLength(expected)
    expect(result?.endsWith('...')).toBe(value > 1000)
  })

  it('reads a forgotten message, and throws if it was evicted', () => {
    const log = [user('u', 'First'), user('v', 'Second')]
    const forgotten = replay([...log, condensation('c', ['u']), pause('p')])
    expect(titleInput(forgotten)).toBe('First')
    expect(() => titleInput(evict(forgotten))).toThrow(expect.objectContaining({ code: 'evicted' }))
    const current = replay([pause('p'), ...log, condensation('c', ['v'])])
    expect(titleInput(evict(current))).toBe('First')
  })
})

describe('fallbackTitle', () => {
  it.each([
    ['', ''],
    ['  Mend \n\t the build ', 'Mend the build'],
    ['x'.repeat(49), 'x'.repeat(49)],
    ['x'.repeat(50), 'x'.repeat(50)],
    ['x'.repeat(51), `${'x'.repeat(47)}...`],
  ])('turns %j into %j', (input, expected) => {
    expect(fallbackTitle(input)).toBe(expected)
  })

  it('V2 never exceeds the maximum length, and stays well-formed', () => {
    for (const max of [0, 1, 2, 3, 4, 20, 21, 22, 23, 24]) {
      const title = fallbackTitle('\u{1f600}'.repeat(40), max)
      expect(title.length).toBeLessThanOrEqual(max)
      expect(title.isWellFormed()).toBe(true)
      expect(title.endsWith('...'.slice(0, max))).toBe(true)
    }
    expect(fallbackTitle('Mend the build, then write', 20)).toBe('Mend the build, t...')
  })
})
