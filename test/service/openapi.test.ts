import { describe, expect, it } from 'vitest'
import { EVENT_KINDS } from '../../src/event/kinds.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { clientOver } from './client.ts'
import type { Schema } from './document.ts'

const { document, send } = await clientOver(memoryStore(), { keys: ['k'] })
const { raw, operations } = document

function* references(value: unknown): IterableIterator<string> {
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    if (key === '$ref') yield String(inner)
    else yield* references(inner)
  }
}

/** Returns the document's complaint about a search response. */
const complain = (body: unknown, status = 200): string | null => {
  const headers = { 'content-type': 'application/json' }
  const response = new Response(null, { status, headers })
  return document.complaint('GET', '/api/shared-events/search', response, JSON.stringify(body))
}

const page = (...items: object[]) => ({ items, next_page_id: null })

describe('the OpenAPI document', () => {
  it('uses OpenAPI 3.1.0, has version 0.0.1, and needs no key', async () => {
    expect(raw.openapi).toBe('3.1.0')
    expect(raw.info['version']).toBe('0.0.1')
    const { status, headers } = await send('/openapi.json')
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json'])
  })

  it('describes the search of shared events as published', () => {
    const search = raw.paths['/api/shared-events/search']?.['get'] as Schema
    expect(search).toMatchObject({
      tags: ['Sharing'],
      operationId: 'search_shared_events_api_shared_events_search_get',
      parameters: [
        { name: 'conversation_id', in: 'query', required: true, schema: { type: 'string' } },
        {
          name: 'kind__eq',
          in: 'query',
          required: false,
          schema: { anyOf: [{ type: 'string', enum: EVENT_KINDS }, { type: 'null' }] },
        },
        ...['timestamp__gte', 'timestamp__lt'].map((name) => ({
          name,
          in: 'query',
          required: false,
          schema: { anyOf: [{ type: 'string', format: 'date-time' }, { type: 'null' }] },
        })),
        {
          name: 'sort_order',
          in: 'query',
          required: false,
          schema: { type: 'string', enum: ['TIMESTAMP', 'TIMESTAMP_DESC'], default: 'TIMESTAMP' },
        },
        {
          name: 'page_id',
          in: 'query',
          required: false,
          schema: { anyOf: [{ type: 'string' }, { type: 'null' }] },
        },
        {
          name: 'limit',
          in: 'query',
          required: false,
          schema: { type: 'integer', exclusiveMinimum: 0, maximum: 100, default: 100 },
        },
      ],
    })
    expect(Object.keys(search['responses'] as object)).toEqual(['200', '422'])
    expect(search['security']).toBeUndefined()
  })

  it('forbids unknown fields in every event, and requires its kind', () => {
    expect(EVENT_KINDS).toHaveLength(19)
    for (const kind of EVENT_KINDS) {
      const schema = raw.components.schemas[kind] as Schema
      expect(schema['additionalProperties']).toBe(false)
      expect((schema['properties'] as Record<string, Schema>)['kind']).toEqual({
        type: 'string',
        const: kind,
      })
      expect(schema['required']).toContain('kind')
    }
    const { oneOf, discriminator } = raw.components.schemas['Event'] as unknown as {
      oneOf: { $ref: string }[]
      discriminator: { propertyName: string; mapping: Record<string, string> }
    }
    expect(oneOf.map(({ $ref }) => $ref.split('/').at(-1))).toEqual([...EVENT_KINDS])
    expect(discriminator.propertyName).toBe('kind')
    expect(Object.keys(discriminator.mapping)).toEqual([...EVENT_KINDS])
  })

  it('contains every schema that it refers to', () => {
    const names = new Set([...references(raw)].map((name) => name.replace('#/components/schemas/', '')))
    expect([...names].filter((name) => raw.components.schemas[name] === undefined)).toEqual([])
  })

  it('has unique operation ids and every path parameter', () => {
    const ids = operations.map(({ operationId }) => operationId)
    expect(new Set(ids).size).toBe(ids.length)
    for (const { path, parameters } of operations) {
      const inPath = parameters.filter((parameter) => parameter.in === 'path')
      expect(inPath.map(({ name }) => `{${name}}`)).toEqual(path.match(/\{\w+\}/g) ?? [])
      expect(inPath.every(({ required }) => required)).toBe(true)
    }
  })

  it('forbids unknown fields in every body except at five paths', () => {
    const open = operations.filter(
      ({ body }) => body?.['type'] === 'object' && body['additionalProperties'] !== false,
    )
    expect(open.map(({ path }) => path).toSorted()).toEqual([
      '/api/agent-profiles/{name}',
      '/api/conversations',
      '/api/v1/app-conversations',
      '/api/v1/app-conversations/stream-start',
      '/api/v1/settings',
    ])
  })

  it('reports responses that it does not describe', () => {
    expect(complain(page({ kind: 'PauseEvent', id: 'p' }))).toBeNull()
    expect(complain(page({ kind: 'PauseEvent', id: 'p', more: 1 }))).toContain('not as documented')
    expect(complain(page({ kind: 'Pause' }))).toContain('not as documented')
    expect(complain({ next_page_id: null })).toContain('not as documented')
    expect(complain({ detail: 'x' }, 422)).toContain('not as documented')
    expect(complain({ detail: 'x' }, 500)).toContain('not among the answers')
  })
})
