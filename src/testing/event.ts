/** Arbitrary events, one at a time: any of the 19 kinds with any fields, as a decoder accepts them. */

import * as fc from 'fast-check'
import { freezeJson } from '../event/freeze.ts'
import { EVENT_KINDS } from '../event/kinds.ts'
import type { JsonValue } from '../event/shapes.ts'
import type { Event } from '../event/types.ts'
import { BODIES } from './bodies.ts'
import { orNull, shape } from './shape.ts'

const TIMESTAMPS = [
  '2026-01-01T00:00:00Z',
  '2026-01-01T00:00:00',
  '2026-01-01T00:00:00.123456',
  '2026-01-01 01:00:00.5+0100',
  '2024-02-29T23:59:59.999999-08:00',
  '2026-02-30T00:00:00Z',
  'yesterday',
  '',
]

/**
 * Text that may or may not be a date and time.
 * @example
 * fc.sample(anyTimestamp(), 1).length // 1
 */
export const anyTimestamp = (): fc.Arbitrary<string> => fc.constantFrom(...TIMESTAMPS)

/**
 * Legal ids, few enough to collide.
 * @example
 * fc.assert(fc.property(eventId(), id => isLegalId(id)))
 */
export const eventId = (): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 8, arbitrary: fc.nat(9).map((n) => `e${n}`) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('__proto__', 'constructor', 'e0-summary', 'é 😀', 'x'.repeat(200)),
    },
  )

/**
 * Any event that decodes: all kinds alike, frozen.
 * @example
 * fc.assert(fc.property(anyEvent(), event => typeof event.kind === 'string'))
 */
export function anyEvent(): fc.Arbitrary<Event> {
  const identity = shape({}, { id: eventId(), timestamp: anyTimestamp(), parent_id: orNull(eventId()) })
  const body = fc.oneof(...EVENT_KINDS.map((kind): fc.Arbitrary<Event> => BODIES[kind]()))
  return fc.tuple(body, identity).map(([event, ids]) => frozen({ ...event, ...ids }))
}

/** The same value, frozen to the bottom, as every decoded event is. */
export function frozen<T extends object>(value: T): T {
  freezeJson(value as object as JsonValue)
  return value
}
