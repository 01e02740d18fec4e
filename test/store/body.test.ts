/** Event bodies: comparison (law S), the fields that a live append adds, and frozen copies. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { withDefaults } from '../../src/event/nested-shapes.ts'
import type { Fact } from '../../src/event/quarantine.ts'
import type { Event } from '../../src/event/types.ts'
import { ownFact, sameBody } from '../../src/store/kit/append/body.ts'
import { decideAppend, EMPTY_TIP } from '../../src/store/kit/append/decide-append.ts'
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

describe('`sameBody`', () => {
  it('ignores omitted defaults and key order', () => {
    fc.assert(
      fc.property(anyEvent(), (event) => {
        expect(sameBody(event, event)).toBe(true)
        expect(sameBody(event, withDefaults(event))).toBe(true)
        expect(sameBody(withDefaults(event), event)).toBe(true)
        if (!Object.hasOwn(event, '__proto__')) expect(sameBody(event, reversed(event))).toBe(true)
      }),
    )
  })

  it('ignores a timestamp and parent added by the store', () => {
    fc.assert(
      fc.property(anyEvent(), (event) => {
        const { timestamp: _, parent_id: __, ...input } = event
        const stored = { ...input, timestamp: '2026-01-01T00:00:00Z', parent_id: 'head' } as Event
        expect(sameBody(stored, input as Event)).toBe(true)
        expect(sameBody(stored, { ...input, parent_id: null } as Event)).toBe(true)
      }),
    )
  })

  it('returns false if any field differs, or if the new event has an additional field', () => {
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

  it('compares quarantined lines by their text', () => {
    expect(sameBody(line('{'), line('{'))).toBe(true)
    expect(sameBody(line('{'), line('{ '))).toBe(false)
    expect(sameBody(line('{'), { kind: 'PauseEvent' })).toBe(false)
    expect(sameBody({ kind: 'PauseEvent' }, line('{'))).toBe(false)
  })
})

const notStored = (): never => expect.fail()

describe('a live append', () => {
  const head = { seq: 0, id: 'h', parentId: null, canBeHead: true, lane: 0, time: 0n }
  const find = (id: string) => (id === 'h' ? head : undefined)
  const stored = (event: Event, tip = EMPTY_TIP): Fact | undefined => {
    const log = { conversationId: 'c', createdAt: '', timeZone: null, tip, lease: null, find, at: notStored }
    return decideAppend(log, [event]).events[0]?.fact
  }

  it('replaces a null parent with the id of HEAD, or `__root__`, except in the first event', () => {
    const event: Event = Object.freeze({ kind: 'PauseEvent', parent_id: null })
    const after = { ...EMPTY_TIP, version: 1 }
    const written = (tip = EMPTY_TIP) => JSON.stringify(stored({ ...event, id: 'p' }, tip))
    expect(written({ ...after, head })).toBe('{"kind":"PauseEvent","parent_id":"h","id":"p"}')
    expect(written(after)).toBe('{"kind":"PauseEvent","parent_id":"__root__","id":"p"}')
    expect(written()).toBe('{"kind":"PauseEvent","parent_id":null,"id":"p"}')
    expect(stored({ ...event, id: 'p', parent_id: 'h' }, after)).toHaveProperty('parent_id', 'h')
  })
})

describe('`ownFact`', () => {
  it('returns a deeply frozen event itself', () => {
    fc.assert(
      fc.property(anyEvent(), (event) => {
        expect(ownFact(event)).toBe(event)
      }),
    )
  })

  it('returns a frozen copy of an event that is not deeply frozen', () => {
    const input = {
      kind: 'MessageEvent',
      id: 'm',
      source: 'user',
      llm_message: { role: 'user', content: [{ text: 'a' }] },
    } as const
    const copy = ownFact(input)
    expect(copy).toEqual(input)
    expect(copy).not.toBe(input)
    expect(Object.isFrozen((copy as typeof input).llm_message.content[0])).toBe(true)
    const half = Object.freeze({ ...input })
    expect(ownFact(half)).not.toBe(half)
  })

  it('normalizes values as JSON serialization does', () => {
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
