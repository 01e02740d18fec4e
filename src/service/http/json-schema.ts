/** Small builders of JSON Schemas, for the responses in the document. */

import type { JsonObject } from '../../event/shapes.ts'

/** It, or null. */
export const maybe = (schema: JsonObject): JsonObject => ({ anyOf: [schema, { type: 'null' }] })

export const listOf = (items: JsonObject): JsonObject => ({ type: 'array', items })

/** A closed object with all of these fields. */
export const objectOf = (properties: JsonObject): JsonObject => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})
