/** Valid ids, and the generated ids of events without one (design D15, D19). */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { deriveEventId, isLegalId, ROOT } from '../../src/event/ids.ts'
import type { Event } from '../../src/event/types.ts'
import { anyEvent } from './arbitrary.ts'

describe('isLegalId', () => {
  it.each([
    'a',
    '01J9Z3NDEKTSV4RRFFQ69G5FAV',
    '__root',
    '__root__ ',
    ' ',
    'a b',
    '日本',
    '😀'.repeat(200),
    'x'.repeat(200),
    'c1-summary',
  ])('accepts %j', (id) => expect(isLegalId(id)).toBe(true))

  it.each([
    '',
    ROOT,
    'x'.repeat(201),
    '😀'.repeat(201),
    'a\u0000',
    '\n',
    'a\u007f',
    '\u0085',
    '\ud800',
    'a\udc00b',
    '\udc00\ud800',
    undefined,
    null,
    7,
    ['a'],
  ])('rejects %j', (id) => expect(isLegalId(id as string)).toBe(false))
})

describe('deriveEventId', () => {
  const pause: Event = { kind: 'PauseEvent' }

  it('returns the same id for the same event at the same position, on every machine', () => {
    expect(deriveEventId('c1', 7, pause)).toBe(deriveEventId('c1', 7, { ...pause }))
    expect(deriveEventId('c1', 7, pause)).toMatch(/^derived-7-[0-9a-f]{16}$/)
    expect(deriveEventId('c1', 7, pause)).toBe('derived-7-10ff074bcf185483')
  })

  it('does not depend on the order of fields', () => {
    const one: Event = { kind: 'PauseEvent', source: 'user', parent_id: null }
    const other: Event = { parent_id: null, source: 'user', kind: 'PauseEvent' }
    expect(deriveEventId('c1', 0, one)).toBe(deriveEventId('c1', 0, other))
  })

  it('depends on conversation, position and body', () => {
    const ids = [
      deriveEventId('c1', 1, pause),
      deriveEventId('c2', 1, pause),
      deriveEventId('c1', 2, pause),
      deriveEventId('c1', 1, { kind: 'InterruptEvent' }),
      deriveEventId('c1', 1, { ...pause, parent_id: null }),
    ]
    expect(new Set(ids).size).toBe(ids.length)
    expect(new Set(ids.map((id) => id.replace(/^derived-\d+-/, ''))).size).toBe(ids.length)
  })

  it('returns a legal id that differs for different events', () => {
    const bodies = new Map<string, string>()
    fc.assert(
      fc.property(anyEvent, (event) => {
        const id = deriveEventId('c1', 3, event as object as Event)
        expect(isLegalId(id)).toBe(true)
        const body = JSON.stringify(event)
        expect(bodies.get(id) ?? body).toBe(body)
        bodies.set(id, body)
      }),
      { numRuns: 1000 },
    )
    expect(bodies.size).toBeGreaterThan(300)
  })
})
