/** Bodies: equality (law S), the fields that a live append adds, and ownership. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { withDefaults } from '../../src/event/nested-shapes.ts'
import type { Fact } from '../../src/event/quarantine.ts'
import type { Event } from '../../src/event/types.ts'
import { ownFact, sameBody, stampedBody } from '../../src/store/kit/append/body.ts'
import { anyEvent } from '../../src/testing/index.ts'

const reversed = <T>(value: T): T =>
  Array.isArray(value)
    ? (value.map(reversed) as T)
    : typeof value === 'object' && value !== null
      ? (Object.fromEntries(
          Object.entries(value)
            .map(([key, item]) => [key, reversed(item)])
            .toReversed(),
        ) as T)
      : value

const line = (raw: string): Fact => ({ quarantined: true, raw, issues: [] })

describe('a body', () => {
  it('is the same when sent again, with defaults written out or not, in any order of keys', () => {
    fc.assert(
      fc.property(anyEvent(), (event) => {
        expect(sameBody(event, event)).toBe(true)
        expect(sameBody(event, withDefaults(event))).toBe(true)
        expect(sameBody(withDefaults(event), event)).toBe(true)
        if (!Object.hasOwn(event, '__proto__')) expect(sameBody(event, reversed(event))).toBe(true)
      }),
    )
  })

  it('is the same without what the store stamped', () => {
    fc.assert(
      fc.property(anyEvent(), (event) => {
        const { timestamp: _, parent_id: __, ...input } = event
        const stored = stampedBody({ ...input, timestamp: '2026-01-01T00:00:00Z' } as Event, 'head', false)
        expect(sameBody(stored, input as Event)).toBe(true)
        expect(sameBody(stored, { ...input, parent_id: null } as Event)).toBe(true)
      }),
    )
  })

  it('is another when any field says something else', () => {
    fc.assert(
      fc.property(anyEvent(), fc.nat(), (event, n) => {
        const keys = Object.keys(event)
        const key = keys[n % keys.length] as string
        const other = { ...event, [key]: ['another'] } as unknown as Event
        fc.pre(key !== 'parent_id' || event.parent_id !== null)
        expect(sameBody(event, other)).toBe(false)
        // Fields that only the store has are ignored; fields that only the caller has are not.
        expect(sameBody(event, { ...event, x_new: 1 } as unknown as Event)).toBe(false)
      }),
    )
  })

  it('of a quarantined line is its text', () => {
    expect(sameBody(line('{'), line('{'))).toBe(true)
    expect(sameBody(line('{'), line('{ '))).toBe(false)
    expect(sameBody(line('{'), { kind: 'PauseEvent' })).toBe(false)
    expect(sameBody({ kind: 'PauseEvent' }, line('{'))).toBe(false)
  })
})

describe('a stamped body', () => {
  it('names the parent that was found, in the place of a null', () => {
    const event: Event = { kind: 'PauseEvent', parent_id: null, id: 'p' }
    expect(JSON.stringify(stampedBody(event, 'h', false))).toBe(
      '{"kind":"PauseEvent","parent_id":"h","id":"p"}',
    )
    expect(stampedBody(event, null, false).parent_id).toBe('__root__')
    expect(stampedBody(event, null, true)).toBe(event)
    const named: Event = { kind: 'PauseEvent', id: 'p', parent_id: 'x' }
    expect(stampedBody(named, 'h', false)).toBe(named)
  })
})

describe('an own fact', () => {
  it('is the very one when it is frozen JSON', () => {
    fc.assert(
      fc.property(anyEvent(), (event) => {
        expect(ownFact(event)).toBe(event)
      }),
    )
  })

  it('is a frozen copy of anything else', () => {
    const input = {
      kind: 'MessageEvent',
      id: 'm',
      source: 'user',
      llm_message: { role: 'user', content: [{ text: 'a' }] },
    } as const
    const ownValue = ownFact(input)
    expect(ownValue).toEqual(input)
    expect(ownValue).not.toBe(input)
    expect(Object.isFrozen((ownValue as typeof input).llm_message.content[0])).toBe(true)
    const half = Object.freeze({ ...input })
    expect(ownFact(half)).not.toBe(half)
  })

  it('is what its JSON text says', () => {
    const odd = Object.freeze({
      kind: 'ConversationStateUpdateEvent',
      id: 'u',
      key: undefined,
      value: Object.freeze({ at: Object.freeze(new Date(0)), zero: -0, no: Number.NaN, gone: undefined }),
    })
    expect(ownFact(odd as unknown as Event)).toEqual({
      kind: 'ConversationStateUpdateEvent',
      id: 'u',
      value: { at: '1970-01-01T00:00:00.000Z', zero: 0, no: null },
    })
  })
})
