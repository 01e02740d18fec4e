import { expect, it } from 'vitest'
import { memoryStore } from '../../src/store/memory/store.ts'
import { clientOver } from './client.ts'
import type { DocumentedOperation, Schema } from './document.ts'
import { AGENT_SERVER } from './published/agent-server.ts'
import { APP_CONVERSATIONS } from './published/app-conversations.ts'
import { APP_SERVER } from './published/app-server.ts'
import type { Published } from './published/operation.ts'

const PUBLISHED = [...AGENT_SERVER, ...APP_CONVERSATIONS, ...APP_SERVER]

const { document } = await clientOver(memoryStore(), { keys: ['k'] })
const { raw, operations } = document

/**
 * Organizations, and paging of lists that are always empty, are not supported. Unpromised response fields
 * are mostly present, in an open object. Messages and profiles require fields with an empty published
 * default.
 */
const DIFFERENCES: Readonly<Record<string, readonly string[]>> = {
  'delete /api/agent-profiles/{name}': ['takes no org_id'],
  'delete /api/keys/{key_id}': ['does not promise message'],
  'delete /api/v1/secrets/{name}': ['does not promise message'],
  'get /': ['does not promise uptime', 'does not promise idle_time'],
  'get /api/agent-profiles': ['gives no 422', 'takes no org_id'],
  'get /api/agent-profiles/{name}': ['takes no org_id'],
  'get /api/bash/bash_events/{event_id}': ['does not promise command'],
  'get /api/conversations/{conversation_id}': ['does not promise agent', 'does not promise workspace'],
  'get /api/conversations/{conversation_id}/events': ['asks for id'],
  'get /api/conversations/{conversation_id}/events/{event_id}': ['does not promise llm_response_id'],
  'get /api/desktop/url': ['gives no 422', 'takes no base_url', 'does not promise url'],
  'get /api/organizations': ['gives no 422', 'takes no page_id', 'takes no limit'],
  'get /api/organizations/{org_id}/profiles/{name}': ['does not promise llm'],
  'get /api/v1/git/branches/search': [
    'gives no 422',
    'takes no provider',
    'takes no repository',
    'takes no query',
    'takes no page_id',
    'takes no limit',
    'does not promise items',
  ],
  'get /api/v1/git/installations/search': [
    'gives no 422',
    'takes no provider',
    'takes no page_id',
    'takes no limit',
    'does not promise items',
  ],
  'get /api/v1/git/repositories/search': [
    'gives no 422',
    'takes no provider',
    'takes no query',
    'takes no installation_id',
    'takes no page_id',
    'takes no limit',
    'takes no sort_order',
    'does not promise items',
  ],
  'get /api/v1/git/suggested-tasks/search': [
    'gives no 422',
    'takes no page_id',
    'takes no limit',
    'does not promise items',
  ],
  'get /api/v1/settings': ['does not promise llm_api_key_set'],
  'get /api/v1/skills/search': [
    'gives no 422',
    'takes no page_id',
    'takes no limit',
    'does not promise items',
  ],
  'get /server_info': ['does not promise uptime', 'does not promise idle_time'],
  'post /api/agent-profiles/{name}': ['takes no org_id'],
  'post /api/agent-profiles/{name}/materialize': ['takes no org_id', 'does not promise agent_kind'],
  'post /api/agent-profiles/{name}/rename': ['takes no org_id'],
  'post /api/agent-profiles/{profile_id}/activate': ['takes no org_id'],
  'post /api/bash/execute_bash_command': ['does not promise command_id'],
  'post /api/bash/start_bash_command': ['does not promise command'],
  'post /api/conversations': ['does not promise agent', 'does not promise workspace'],
  'post /api/conversations/{conversation_id}/events': ['asks for content'],
  'post /api/hooks': ['gives no 422'],
  'post /api/keys': ['asks for name'],
  'post /api/keys/llm/managed/refresh': ['is not here'],
  'post /api/organizations/{org_id}/profiles/{name}': [
    'gives no 200',
    'asks for llm',
    'does not promise name',
    'does not promise message',
  ],
  'post /api/organizations/{org_id}/profiles/{name}/activate': ['does not promise llm'],
  'post /api/skills': ['gives no 422', 'does not promise skills'],
  'post /api/skills/sync': ['does not promise status', 'does not promise message'],
  'post /api/v1/conversations/{conversation_id}/pending-messages': ['asks for content'],
  'post /api/v1/secrets': ['does not promise message'],
  'post /api/v1/settings/profiles/{name}': ['asks for llm'],
  'put /api/v1/secrets/{name}': ['does not promise message'],
}

/** Resolves a schema's references; of alternatives, returns the first that is not null. */
function whole(schema: Schema | undefined): Schema {
  if (schema === undefined) return {}
  const { $ref: ref, anyOf, oneOf } = schema
  if (typeof ref === 'string') return whole(raw.components.schemas[ref.split('/').at(-1) ?? ''])
  const first = ((anyOf ?? oneOf) as readonly Schema[] | undefined)?.find(({ type }) => type !== 'null')
  return first === undefined || schema['properties'] !== undefined ? schema : whole(first)
}

const required = (schema: Schema): readonly string[] =>
  (whole(schema)['required'] as readonly string[] | undefined) ?? []

const field = (schema: Schema, name: string): Schema =>
  whole((whole(schema)['properties'] as Readonly<Record<string, Schema>> | undefined)?.[name])

/** What a client of the published operation would find different. */
function differences(operation: DocumentedOperation | undefined, published: Published): string[] {
  if (operation === undefined) return ['is not here']
  const { parameters, responses } = operation
  const body = operation.body ?? {}
  const reply = responses[published.status]?.content?.['application/json']?.schema ?? {}
  const query = parameters.filter((parameter) => parameter.in === 'query')
  const { query: names = [], needed = [], body: fields = [], gives = [], enums = {} } = published
  const placed = (path: string): Schema => {
    const [location = '', name = ''] = path.split('.')
    if (location === 'body') return field(body, name)
    if (location === 'reply') return field(reply, name)
    return whole(query.find((parameter) => parameter.name === location)?.schema)
  }
  return [
    ...(responses[published.status] === undefined ? [`gives no ${published.status}`] : []),
    ...(published.refuses === true && responses['422'] === undefined ? ['gives no 422'] : []),
    ...names.filter((name) => !query.some((one) => one.name === name)).map((name) => `takes no ${name}`),
    ...query.filter((one) => one.required && !needed.includes(one.name)).map((one) => `asks for ${one.name}`),
    ...required(body)
      .filter((name) => !fields.includes(name))
      .map((name) => `asks for ${name}`),
    ...gives.filter((name) => !required(reply).includes(name)).map((name) => `does not promise ${name}`),
    ...Object.entries(enums).flatMap(([path, values]) => {
      const inputs = placed(path)['enum'] as readonly unknown[] | undefined
      // A schema for any text accepts these too.
      if (inputs === undefined) return []
      return values.filter((value) => !inputs.includes(value)).map((value) => `${path} is never ${value}`)
    }),
  ]
}

it('the document differs from the published ones only as listed', () => {
  const matches = PUBLISHED.flatMap(([name, published]) => {
    const [method = '', path = ''] = name.split(' ')
    const operation = operations.find((one) => one.method.toLowerCase() === method && one.path === path)
    const different = differences(operation, published)
    return different.length === 0 ? [] : [[name, different] as const]
  })
  expect(PUBLISHED.length).toBeGreaterThan(100)
  expect(Object.fromEntries(matches)).toEqual(DIFFERENCES)
})
