/** The JSON Schema of each kind, made from the definitions that decoding checks with. */

import { EVENT_KINDS, type EventKind } from './kinds.ts'
import { describeEvent, describeShapes } from './event-schema.ts'
import type { JsonObject } from './shapes.ts'

/**
 * The JSON Schema of one kind of event: `kind` is a constant, no other fields are allowed, defaults are stated. A
 * fresh object each time.
 *
 * @example
 * eventJsonSchema('PauseEvent').additionalProperties // false
 */
export function eventJsonSchema(kind: EventKind): JsonObject {
  return describeEvent(kind)
}

/**
 * The JSON Schemas of all 19 kinds, by kind, in the contract's order.
 * @example
 * eventJsonSchemas().PauseEvent.additionalProperties // false
 */
export function eventJsonSchemas(): Readonly<Record<EventKind, JsonObject>> {
  return Object.fromEntries(EVENT_KINDS.map((kind) => [kind, describeEvent(kind)])) as Record<
    EventKind,
    JsonObject
  >
}

/**
 * The JSON Schemas of the shapes that events have in common, by the names of the interface. Wherever one
 * stands in the schema of an event, it is the same as here.
 * @example
 * shapeJsonSchemas().TextContent.required // ['text']
 */
export const shapeJsonSchemas: () => Readonly<Record<string, JsonObject>> = describeShapes
