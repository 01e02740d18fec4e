/** The JSON Schemas: draft 2020-12, closed, with constants and defaults, and in agreement with decoding. */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { decodeEvent } from '../../src/event/decode.ts'
import { eventJsonSchema, eventJsonSchemas } from '../../src/event/event-schema.ts'
import { EVENT_KINDS, KINDS } from '../../src/event/kinds.ts'
import type { JsonObject } from '../../src/event/shapes.ts'
import { anyEvent } from './arbitrary.ts'
import { SAMPLES } from './samples.ts'

const propertiesOf = (schema: JsonObject): Record<string, JsonObject> =>
  schema['properties'] as Record<string, JsonObject>

/** Validates by the schema alone. */
function reader(schema: JsonObject): z.ZodType {
  return z.fromJSONSchema(structuredClone(schema) as Parameters<typeof z.fromJSONSchema>[0])
}

describe.each(SAMPLES)('the JSON Schema of $kind', ({ kind, minimal, full, required }) => {
  const schema = eventJsonSchema(kind)

  it('is closed, names its draft, and requires the fields that the contract requires', () => {
    expect(schema['$schema']).toBe('https://json-schema.org/draft/2020-12/schema')
    expect(schema['title']).toBe(kind)
    expect(schema['type']).toBe('object')
    expect(schema['additionalProperties']).toBe(false)
    expect([...(schema['required'] as string[])].toSorted()).toEqual([...required].toSorted())
  })

  it('contains every field, the constant kind and the default source', () => {
    const properties = propertiesOf(schema)
    expect(Object.keys(properties).toSorted()).toEqual(Object.keys(full).toSorted())
    expect(properties['kind']?.['const']).toBe(kind)
    expect(properties['source']?.['default']).toBe(KINDS[kind].defaultSource ?? undefined)
    expect(properties['source']?.['const']).toBe(kind === 'HookExecutionEvent' ? 'hook' : undefined)
  })

  it('accepts and rejects the same events as decodeEvent', () => {
    const read = reader(schema)
    expect(read.safeParse(minimal).success).toBe(true)
    expect(read.safeParse(full).success).toBe(true)
    expect(read.safeParse({ ...minimal, zebra: 1 }).success).toBe(false)
    for (const key of required) {
      const { [key]: _, ...rest } = full
      expect(read.safeParse(rest).success).toBe(false)
    }
    for (const id of ['', '__root__', 'a\nb', 'x'.repeat(201)]) {
      expect(read.safeParse({ ...full, id }).success).toBe(decodeEvent({ ...full, id }).ok)
    }
  })
})

describe('the JSON Schemas', () => {
  it('contain the defaults of the contract', () => {
    const defaults = Object.fromEntries(
      EVENT_KINDS.map((kind) => [
        kind,
        Object.entries(propertiesOf(eventJsonSchema(kind)))
          .filter(([key, property]) => key !== 'source' && 'default' in property)
          .map(([key, property]) => [key, property['default']]),
      ]).filter(([, list]) => (list as unknown[]).length > 0),
    )
    expect(defaults).toEqual({
      ACPToolCallEvent: [['is_error', false]],
      Condensation: [['forgotten_event_ids', []]],
      HookExecutionEvent: [
        ['blocked', false],
        ['stdout', ''],
        ['stderr', ''],
      ],
      LLMCompletionLogEvent: [
        ['model_name', 'unknown'],
        ['usage_id', 'default'],
      ],
      ActionEvent: [
        ['thinking_blocks', []],
        ['security_risk', 'UNKNOWN'],
      ],
      MessageEvent: [
        ['activated_skills', []],
        ['extended_content', []],
      ],
      ObservationEvent: [['extended_content', []]],
      UserRejectObservation: [
        ['rejection_reason', 'User rejected the action'],
        ['rejection_source', 'user'],
      ],
    })
  })

  it('contain the rules that go beyond types', () => {
    const condensation = propertiesOf(eventJsonSchema('Condensation'))
    expect(condensation['forgotten_event_ids']).toMatchObject({ uniqueItems: true })
    expect(JSON.stringify(condensation['summary_offset'])).toContain('"minimum":0')
    expect(JSON.stringify(eventJsonSchemas())).not.toContain(String(Number.MAX_SAFE_INTEGER))
  })

  it('exist for all kinds, in order, as new objects each time', () => {
    expect(Object.keys(eventJsonSchemas())).toEqual(EVENT_KINDS)
    expect(eventJsonSchemas().PauseEvent).toEqual(eventJsonSchema('PauseEvent'))
    expect(eventJsonSchema('PauseEvent')).not.toBe(eventJsonSchema('PauseEvent'))
  })

  it('accept every valid event', () => {
    const readers = new Map(
      EVENT_KINDS.map((kind): [unknown, z.ZodType] => [kind, reader(eventJsonSchema(kind))]),
    )
    fc.assert(
      fc.property(anyEvent, (event) => {
        expect(decodeEvent(event).ok).toBe(true)
        // Zod counts UTF-16 units where the standard counts code points, so the id is plain.
        const plain = Object.hasOwn(event, 'id') ? { ...event, id: 'a' } : event
        expect(readers.get(event['kind'])?.safeParse(plain).success).toBe(true)
      }),
    )
  })
})
