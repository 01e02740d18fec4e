/** Values that fit, nearly fit or do not fit the document's JSON Schemas. */

import fc from 'fast-check'
import type { Schema } from './document.ts'
import { character } from '../../src/testing/text.ts'

export type Definitions = Readonly<Record<string, Schema>>

/** Texts that have broken services: paths, encodings, databases, prototypes and numbers. */
export const HOSTILE_TEXTS = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\u{d800}',
  '\u202e\ufeff',
  '💥'.repeat(60),
  'x'.repeat(201),
  'x'.repeat(70_000),
  '../../../../etc/passwd',
  '..',
  '.',
  '/etc/passwd',
  'C:\\Windows\\win.ini',
  '%2e%2e%2f',
  '%',
  '%zz',
  '%00',
  "'; DROP TABLE colloquy_events; --",
  '$1',
  '{{7*7}}',
  '<script>',
  '__proto__',
  'constructor',
  'toString',
  '__root__',
  'null',
  '-1',
  '0',
  '1e999',
  '9007199254740993',
  'NaN',
  '2026-02-30T00:00:00Z',
  '0000-00-00T00:00:00Z',
  '9999-12-31T23:59:59.999999999-23:59',
  'search',
  'count',
  'a\r\nSet-Cookie: b=c',
] as const

/** At least one text for each pattern of the document. */
const SAMPLES = ['abcde', 'key:value', 'a@b.example', '0123abcd', 'Named_1'] as const

export const hostileText = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...HOSTILE_TEXTS) },
  { weight: 1, arbitrary: fc.string({ unit: character, maxLength: 300 }) },
)

export const hostileJson: fc.Arbitrary<unknown> = fc.oneof(
  fc.jsonValue({ maxDepth: 4 }),
  hostileText,
  fc.constantFrom(null, true, -1, 0, 1e300, -0, [], {}, [[]], JSON.parse('{"__proto__":{"a":1}}')),
)

// Shared, because creating it costs more than generating thousands of names.
const fieldName = fc.stringMatching(/^[a-z][a-z0-9]{0,6}$/)

/** Values that fit a schema; `known` are texts with a meaning in the service. */
export function fitting(
  schema: Schema,
  definitions: Definitions,
  known: fc.Arbitrary<string>,
  depth = 0,
): fc.Arbitrary<unknown> {
  const below = (inner: Schema): fc.Arbitrary<unknown> => fitting(inner, definitions, known, depth + 1)
  if (typeof schema['$ref'] === 'string') {
    const name = schema['$ref'].split('/').at(-1) ?? ''
    return depth > 6 ? fc.constant(null) : below(definitions[name] ?? {})
  }
  if (schema['const'] !== undefined) return fc.constant(schema['const'])
  if (Array.isArray(schema['enum'])) return fc.constantFrom(...schema['enum'])
  const choices = (schema['anyOf'] ?? schema['oneOf']) as readonly Schema[] | undefined
  if (choices !== undefined) return fc.oneof(...choices.map(below))
  const types = [schema['type']].flat()
  if (types.length > 1) return fc.oneof(...types.map((type) => below({ ...schema, type })))
  switch (types[0]) {
    case 'string':
      return fittingText(schema, known)
    case 'integer':
    case 'number':
      return fittingNumber(schema)
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    case 'array': {
      const minimum = Number(schema['minItems'] ?? 0)
      const items =
        depth > 6
          ? fc.constant([])
          : fc.array(below((schema['items'] as Schema) ?? {}), { minLength: minimum, maxLength: minimum + 3 })
      return items
    }
    case 'object':
      return fittingObject(schema, below)
    default:
      return fc.jsonValue({ maxDepth: 2 })
  }
}

function fittingText(schema: Schema, known: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const minLength = Number(schema['minLength'] ?? 0)
  const maxLength = Math.min(Number(schema['maxLength'] ?? minLength + 20), minLength + 40)
  if (schema['format'] === 'date-time') {
    return fc
      .date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true })
      .map((date) => date.toISOString())
  }
  if (schema['format'] === 'uuid') return fc.uuid()
  if (typeof schema['pattern'] === 'string') {
    const pattern = new RegExp(schema['pattern'], 'u')
    const samples = SAMPLES.filter((text) => pattern.test(text))
    // Fall back to a sample if the known text does not match.
    return fc
      .tuple(known, fc.constantFrom(...samples), fc.boolean())
      .map(([text, sample, isKnown]) => (isKnown && pattern.test(text) ? text : sample))
  }
  return fc.oneof(known, fc.string({ minLength, maxLength }))
}

function fittingNumber(schema: Schema): fc.Arbitrary<number> {
  const min = Number(schema['minimum'] ?? Number(schema['exclusiveMinimum'] ?? -101) + 1)
  const max = Number(schema['maximum'] ?? Number(schema['exclusiveMaximum'] ?? Math.max(min + 100, 101)) - 1)
  return fc.integer({ min: Math.ceil(min), max: Math.max(Math.ceil(min), Math.floor(max)) })
}

function fittingObject(
  schema: Schema,
  below: (schema: Schema) => fc.Arbitrary<unknown>,
): fc.Arbitrary<unknown> {
  const properties = Object.entries((schema['properties'] ?? {}) as Definitions)
  const required = (schema['required'] ?? []) as string[]
  const fields = fc.record(Object.fromEntries(properties.map(([name, inner]) => [name, below(inner)])), {
    requiredKeys: required,
  })
  const more = schema['additionalProperties']
  if (more === false || (more === undefined && properties.length > 0)) return fields
  const others = fc.dictionary(
    fieldName,
    typeof more === 'object' && more !== null ? below(more as Schema) : fc.jsonValue({ maxDepth: 1 }),
    { maxKeys: 3 },
  )
  return fc.tuple(others, fields).map(([extra, declared]) => ({ ...extra, ...(declared as object) }))
}

/** Fitting values with one error: a field too many, missing or of another type, at any depth. */
export const nearlyFitting = (value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc
    .tuple(value, fc.nat(), hostileJson, fc.constantFrom('replace', 'remove', 'add'))
    .map(([whole, pick, other, how]) => {
      const copy: unknown = structuredClone(whole)
      const positions = positionsIn(copy)
      const position = positions[pick % Math.max(1, positions.length)]
      if (position === undefined)
        return how === 'add' && typeof copy === 'object' && copy !== null ? { ...copy, extra: other } : other
      const { holder, key } = position
      if (how === 'add' && !Array.isArray(holder)) holder['unheard_of'] = other
      else if (how === 'remove') delete holder[key]
      else holder[key] = other
      return copy
    })

type Holder = Record<string, unknown>

function positionsIn(value: unknown): { readonly holder: Holder; readonly key: string }[] {
  if (typeof value !== 'object' || value === null) return []
  const holder = value as Holder
  return Object.keys(holder).flatMap((key) => [{ holder, key }, ...positionsIn(holder[key])])
}
