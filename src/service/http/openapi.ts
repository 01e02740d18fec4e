/** Derives the OpenAPI 3.1 document from the operations, so that it cannot differ from them. */

import { mapDeep } from '../../event/json.ts'
import { eventJsonSchemas, shapeJsonSchemas } from '../../event/event-schema.ts'
import type { JsonObject } from '../../event/shapes.ts'
import type { Operation, Schema } from './operation.ts'
import { listOf, objectOf, propertiesOf, schemaOf, SUCCESS } from './operation.ts'
import type { Parameters } from './parameters.ts'

const ref = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` })

/** Version of the service's HTTP interface in the OpenAPI document. */
const VERSION = '0.0.1'

export function openApi(operations: readonly Operation[]): JsonObject {
  const events = eventJsonSchemas()
  const kinds = Object.keys(events)
  const shapes = shapeJsonSchemas()
  const named = namedBy(shapes)
  const paths: Record<string, Record<string, JsonObject>> = {}
  for (const operation of operations)
    (paths[operation.path] ??= {})[operation.method] = named(describeOperation(operation))
  return {
    openapi: '3.1.0',
    info: { title: 'Colloquy', version: VERSION },
    paths,
    components: {
      schemas: {
        ...Object.fromEntries(
          Object.entries(events).map(([kind, { $schema: _dialect, ...schema }]) => [kind, named(schema)]),
        ),
        ...Object.fromEntries(Object.entries(shapes).map(([name, schema]) => [name, named(schema)])),
        EventSortOrder: { type: 'string', enum: ['TIMESTAMP', 'TIMESTAMP_DESC'] },
        Event: {
          oneOf: kinds.map(ref),
          discriminator: {
            propertyName: 'kind',
            mapping: Object.fromEntries(kinds.map((kind) => [kind, `#/components/schemas/${kind}`])),
          },
        },
        EventPage: {
          type: 'object',
          required: ['items'],
          properties: propertiesOf({
            items: listOf(ref('Event')),
            next_page_id: 'string?',
            blobs: listOf(objectOf({ event_id: 'string', path: PATH, hash: 'string', bytes: 'integer' })),
          }),
        },
        ...VALIDATION,
      },
      securitySchemes: { sessionApiKey: { type: 'apiKey', in: 'header', name: 'X-Session-API-Key' } },
    },
  }
}

function namedBy(shapes: Readonly<Record<string, JsonObject>>): (schema: JsonObject) => JsonObject {
  const names = new Map(Object.entries(shapes).map(([name, schema]) => [JSON.stringify(schema), name]))
  const name = (value: unknown): unknown => {
    const known = typeof value === 'object' ? names.get(JSON.stringify(value)) : undefined
    return known === undefined ? value : ref(known)
  }
  return (schema) => mapDeep(schema, (value) => (value === schema ? value : name(value))) as JsonObject
}

const PATH = listOf({ anyOf: [{ type: 'string' }, { type: 'integer' }] })

const VALIDATION: Readonly<Record<string, JsonObject>> = {
  Problem: {
    type: 'object',
    required: ['detail'],
    properties: { detail: { description: 'The error: a sentence or a list of errors' } },
  },
  HTTPValidationError: {
    type: 'object',
    properties: { detail: { type: 'array', items: ref('ValidationError') } },
  },
  ValidationError: {
    type: 'object',
    required: ['loc', 'msg', 'type'],
    properties: propertiesOf({ loc: PATH, msg: 'string', type: 'string', input: {}, ctx: 'object' }),
  },
}

function describeOperation(operation: Operation): JsonObject {
  const { tag, summary, operationId, query = {}, params, body, open = false } = operation
  const {
    returns = SUCCESS as Schema,
    status = 200,
    mediaType = 'application/json',
    otherwise = {},
  } = operation
  const parameters = [...describeAll(params, 'path'), ...describeAll(query, 'query')]
  const success = { content: { [mediaType]: { schema: schemaOf(returns) } } }
  const descriptions: Readonly<Record<number, string>> = {
    [status]: operation.description ?? 'Successful Response',
    ...otherwise,
    ...(!open && {
      401: 'Missing or invalid key',
      ...('conversation_id' in params && { 404: otherwise[404] ?? 'Unknown conversation' }),
      403: otherwise[403] ?? 'A key without permission, or a page of another site',
    }),
    ...(body !== undefined && {
      413: otherwise[413] ?? 'The body is too large',
      415: 'The body is compressed',
    }),
  }
  return {
    tags: [tag],
    summary,
    operationId,
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && {
      requestBody: {
        required: body.optional !== true,
        content: { 'application/json': { schema: body.schema } },
      },
    }),
    responses: {
      ...Object.fromEntries(
        Object.entries(descriptions).map(([code, description]) => [
          code,
          { description, ...contentOf(Number(code), success) },
        ]),
      ),
      ...((parameters.length > 0 || body !== undefined) && {
        422: {
          description: 'Validation Error',
          content: { 'application/json': { schema: ref('HTTPValidationError') } },
        },
      }),
    },
    ...(!open && { security: [{ sessionApiKey: [] }] }),
  }
}

function contentOf(status: number, success: JsonObject): JsonObject {
  if (status >= 400) return PROBLEM
  return status === 204 || status >= 300 ? {} : success
}

const PROBLEM = { content: { 'application/json': { schema: ref('Problem') } } }

const describeAll = (parameters: Parameters, path: 'path' | 'query'): JsonObject[] =>
  Object.entries(parameters).map(([name, { schema, omitted }]) => ({
    name,
    in: path,
    required: omitted === null,
    schema,
  }))
