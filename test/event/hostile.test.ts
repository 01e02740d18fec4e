/**
 * Decoding reports values that no event may contain, and neither throws nor changes its input (law E,
 * design D17).
 */

import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeEvent, decodeLine } from '../../src/event/decode.ts'
import { copyJson, freezeJson, MAX_DEPTH } from '../../src/event/freeze.ts'
import { loadLine, loadValue } from '../../src/event/load.ts'
import { isQuarantined } from '../../src/event/quarantine.ts'
import type { JsonValue } from '../../src/event/shapes.ts'
import { anyEvent, anyJson, anything } from './arbitrary.ts'
import { character } from '../../src/testing/text.ts'

const update = (value: unknown): unknown => ({ kind: 'ConversationStateUpdateEvent', value })

function issuesOf(value: unknown): string[] {
  const decoded = decodeEvent(value)
  return decoded.ok ? [] : decoded.issues.map(({ loc, type }) => `${loc.join('.')} ${type}`)
}

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
const objects = (depth: number): string => '{"a":'.repeat(depth) + '1' + '}'.repeat(depth)

class Point {
  x = 1
}

describe('decoding of values that are not JSON', () => {
  const cyclic: Record<string, unknown> = { name: 'a' }
  cyclic['self'] = { again: cyclic }
  const { proxy: revoked, revoke } = Proxy.revocable({}, {})
  revoke()

  it.each<[string, unknown, string]>([
    ['a function', () => 1, 'value json_type'],
    ['a symbol', Symbol('s'), 'value json_type'],
    ['a bigint', 1n, 'value json_type'],
    ['NaN', Number.NaN, 'value finite_number'],
    ['infinity', Infinity, 'value finite_number'],
    ['a date', new Date(0), 'value json_type'],
    ['a map', new Map(), 'value json_type'],
    ['a boxed string', Object('text'), 'value json_type'],
    ['a class instance', new Point(), 'value json_type'],
    ['an error', new Error('no'), 'value json_type'],
    ['a typed array', new Uint8Array(1), 'value json_type'],
    ['a regular expression', /a/, 'value json_type'],
    ['an object with another prototype', Object.create({ a: 1 }), 'value json_type'],
    ['undefined in a list', [1, undefined], 'value.1 json_type'],
    ['a gap in a list', Array.of(1).concat(Array(2)), 'value.1 missing'],
    ['a list with a named property', Object.assign([1], { name: 'a' }), 'value json_type'],
    ['a symbol key', { [Symbol('s')]: 1 }, 'value.Symbol(s) json_type'],
    ['a cycle', cyclic, 'value.self.again recursion_loop'],
    ['a revoked proxy', revoked, 'value unreadable'],
  ])('reports %s as an issue', (_, value, issue) => {
    expect(issuesOf(update(value))).toContain(issue)
    expect(isQuarantined(loadValue(update(value)).fact)).toBe(true)
  })

  it('reports a getter, and does not run it', () => {
    let ran = false
    const value = {
      get key() {
        ran = true
        return 'a'
      },
    }
    expect(issuesOf(update(value))).toEqual(['value.key json_type'])
    expect(ran).toBe(false)
  })

  it('reports toJSON like any function, and does not run it', () => {
    const value = { toJSON: () => expect.fail('was run') }
    expect(issuesOf(update(value))).toEqual(['value.toJSON json_type'])
  })

  it('ignores undefined and properties that are not enumerable', () => {
    const value = Object.defineProperty({ kind: 'PauseEvent', id: undefined }, 'hidden', { value: () => 1 })
    expect(decodeEvent(value)).toEqual({ ok: true, event: { kind: 'PauseEvent' }, warnings: [] })
  })

  it('accepts a proxy of plain data', () => {
    const target = { kind: 'PauseEvent', id: 'a' }
    expect(decodeEvent(new Proxy(target, {}))).toEqual({ ok: true, event: target, warnings: [] })
  })

  it.each(['ownKeys', 'getOwnPropertyDescriptor', 'getPrototypeOf'])(
    'reports a proxy that throws in %s',
    (trap) => {
      const handler = {
        [trap]: () => {
          throw null
        },
      }
      expect(issuesOf(new Proxy({ kind: 'PauseEvent' }, handler))[0]).toMatch(/unreadable$/)
      expect(issuesOf(update([new Proxy({ a: 1 }, handler)]))[0]).toMatch(/^value\.0.* unreadable$/)
    },
  )

  it('does not read through the get and has traps of a proxy', () => {
    const handler = { get: () => expect.fail('was read'), has: () => expect.fail('was asked') }
    expect(decodeEvent(new Proxy({ kind: 'PauseEvent' }, handler)).ok).toBe(true)
  })

  it('stops at an endless proxy', () => {
    const endless: unknown = new Proxy(
      {},
      {
        ownKeys: () => ['a', 'b'],
        getOwnPropertyDescriptor: () => ({
          value: endless,
          enumerable: true,
          configurable: true,
          writable: true,
        }),
      },
    )
    const fresh = (): unknown =>
      new Proxy(
        {},
        {
          ownKeys: () => ['a', 'b'],
          getOwnPropertyDescriptor: () => ({
            value: fresh(),
            enumerable: true,
            configurable: true,
            writable: true,
          }),
        },
      )
    expect(issuesOf(update(endless))).toContain('value.a recursion_loop')
    expect(copyJson(fresh()).issues.map(({ type }) => type)).toEqual(['recursion_depth'])
  })

  it('stops at lists that contain the same list twice, 60 levels deep', () => {
    let shared: unknown = [1]
    for (let i = 0; i < 60; i++) shared = [shared, shared]
    expect(copyJson(shared).issues.map(({ type }) => type)).toEqual(['too_long'])
  })

  it('reports a list that is too deep in only one of its places', () => {
    const inside = (levels: number, value: unknown): unknown =>
      levels === 0 ? value : [inside(levels - 1, value)]
    const shared = inside(300, 1)
    // The bigint makes the copy track paths.
    expect(copyJson([shared, inside(300, shared), 1n]).issues.map(({ type }) => type)).toEqual([
      'recursion_depth',
    ])
    expect(copyJson([inside(300, shared), 1n]).issues.map(({ type }) => type)).toEqual(['recursion_depth'])
    expect(copyJson([inside(200, shared), shared, 1n]).issues.map(({ type }) => type)).toEqual(['json_type'])
  })

  it('reports at most 100 issues', () => {
    expect(copyJson(Array(4_000_000_000)).issues).toHaveLength(100)
    expect(copyJson(Array.from({ length: 1000 }, () => () => 1)).issues).toHaveLength(100)
  })
})

describe('nesting', () => {
  it.each([
    ['lists', nested],
    ['objects', objects],
  ])('%s may be nested 512 levels deep and no deeper, as a value and as a line', (_, write) => {
    for (const [depth, fine] of [
      [MAX_DEPTH - 1, true],
      [MAX_DEPTH, false],
      [MAX_DEPTH + 1, false],
      [100_000, false],
    ] as const) {
      const line = `{"kind":"ConversationStateUpdateEvent","value":${write(depth)}}` // the event itself is one level
      expect(decodeLine(line).ok).toBe(fine)
      expect(decodeEvent(JSON.parse(line)).ok).toBe(fine)
      expect(isQuarantined(loadLine(line).fact)).toBe(!fine)
      expect(isQuarantined(loadValue(JSON.parse(line)).fact)).toBe(!fine)
    }
  })

  it('a million levels are an issue, not a stack overflow', () => {
    for (const decoded of [decodeLine(nested(1_000_000)), decodeEvent(JSON.parse(nested(1_000_000)))]) {
      expect(decoded.ok || decoded.issues.map(({ type, loc }) => [type, loc.length])).toEqual([
        ['recursion_depth', 16],
      ])
    }
    expect(isQuarantined(loadLine(objects(1_000_000)).fact)).toBe(true)
  })
})

describe('decoding of arbitrary input (law E)', () => {
  it('never throws for a value', () => {
    let hostile = 0
    fc.assert(
      fc.property(anything, (value) => {
        if (copyJson(value).issues.length > 0) hostile += 1
        for (const decoded of [decodeEvent(value), decodeEvent(update(value))]) {
          expect(typeof decoded.ok).toBe('boolean')
          if (!decoded.ok) expect(decoded.issues.length).toBeGreaterThan(0)
        }
        const { fact } = loadValue(value)
        if (isQuarantined(fact)) JSON.parse(fact.raw)
      }),
      { numRuns: 600 },
    )
    expect(hostile).toBeGreaterThan(100)
  })

  it('never throws for a line', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: character }),
          fc.json(),
          anyJson.map((value) => JSON.stringify(value)),
        ),
        (line) => {
          expect(typeof decodeLine(line).ok).toBe('boolean')
          const { fact } = loadLine(line)
          if (isQuarantined(fact)) expect(fact.raw).toBe(line)
        },
      ),
      { numRuns: 600 },
    )
  })

  it('does not change or freeze its input', () => {
    fc.assert(
      fc.property(anyEvent, (event) => {
        const before = structuredClone(event)
        const decoded = decodeEvent(event)
        loadValue(event)
        expect(isDeepStrictEqual(event, before)).toBe(true)
        expect(Object.isFrozen(event)).toBe(false)
        if (decoded.ok) expect(decoded.event).not.toBe(event)
      }),
    )
  })

  it('returns the same for a value and for its text', () => {
    fc.assert(
      fc.property(fc.oneof(anyEvent, anyJson), (value) => {
        const text = JSON.stringify(value)
        expect(isDeepStrictEqual(decodeLine(text), decodeEvent(JSON.parse(text)))).toBe(true)
      }),
      { numRuns: 200 },
    )
  })

  it('copies a JSON value to an equal value', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        const parsed = JSON.parse(JSON.stringify(value)) as JsonValue
        expect(isDeepStrictEqual(copyJson(parsed), { value: parsed, issues: [] })).toBe(true)
        expect(freezeJson(parsed)).toEqual([])
      }),
    )
  })
})
