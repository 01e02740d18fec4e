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
 * Organizations, and paging of lists that are always empty, are not supported. Response fields without a
 * guarantee are mostly present, in an open object. Messages and profiles require fields with an empty published
 * default.
 */
const DIFFERENCES: Readonly<Record<string, readonly string[]>> = {
  'delete /api/agent-profiles/{name}': ['lacks parameter org_id'],
  'delete /api/keys/{key_id}': ['does not guarantee message'],
  'delete /api/v1/secrets/{name}': ['does not guarantee message'],
  'get /': ['does not guarantee uptime', 'does not guarantee idle_time'],
  'get /api/agent-profiles': ['lacks response 422', 'lacks parameter org_id'],
  'get /api/agent-profiles/{name}': ['lacks parameter org_id'],
  'get /api/bash/bash_events/{event_id}': ['does not guarantee command'],
  'get /api/conversations/{conversation_id}': ['does not guarantee agent', 'does not guarantee workspace'],
  'get /api/conversations/{conversation_id}/events': ['requires id'],
  'get /api/conversations/{conversation_id}/events/{event_id}': ['does not guarantee llm_response_id'],
  'get /api/desktop/url': ['lacks response 422', 'lacks parameter base_url', 'does not guarantee url'],
  'get /api/organizations': ['lacks response 422', 'lacks parameter page_id', 'lacks parameter limit'],
  'get /api/organizations/{org_id}/profiles/{name}': ['does not guarantee llm'],
  'get /api/v1/git/branches/search': [
    'lacks response 422',
    'lacks parameter provider',
    'lacks parameter repository',
    'lacks parameter query',
    'lacks parameter page_id',
    'lacks parameter limit',
    'does not guarantee items',
  ],
  'get /api/v1/git/installations/search': [
    'lacks response 422',
    'lacks parameter provider',
    'lacks parameter page_id',
    'lacks parameter limit',
    'does not guarantee items',
  ],
  'get /api/v1/git/repositories/search': [
    'lacks response 422',
    'lacks parameter provider',
    'lacks parameter query',
    'lacks parameter installation_id',
    'lacks parameter page_id',
    'lacks parameter limit',
    'lacks parameter sort_order',
    'does not guarantee items',
  ],
  'get /api/v1/git/suggested-tasks/search': [
    'lacks response 422',
    'lacks parameter page_id',
    'lacks parameter limit',
    'does not guarantee items',
  ],
  'get /api/v1/settings': ['does not guarantee llm_api_key_set'],
  'get /api/v1/skills/search': [
    'lacks response 422',
    'lacks parameter page_id',
    'lacks parameter limit',
    'does not guarantee items',
  ],
  'get /server_info': ['does not guarantee uptime', 'does not guarantee idle_time'],
  'post /api/agent-profiles/{name}': ['lacks parameter org_id'],
  'post /api/agent-profiles/{name}/materialize': ['lacks parameter org_id', 'does not guarantee agent_kind'],
  'post /api/agent-profiles/{name}/rename': ['lacks parameter org_id'],
  'post /api/agent-profiles/{profile_id}/activate': ['lacks parameter org_id'],
  'post /api/bash/execute_bash_command': ['does not guarantee command_id'],
  'post /api/bash/start_bash_command': ['does not guarantee command'],
  'post /api/conversations': ['does not guarantee agent', 'does not guarantee workspace'],
  'post /api/conversations/{conversation_id}/events': ['requires content'],
  'post /api/hooks': ['lacks response 422'],
  'post /api/keys': ['requires name'],
  'post /api/keys/llm/managed/refresh': ['is missing'],
  'post /api/organizations/{org_id}/profiles/{name}': [
    'lacks response 200',
    'requires llm',
    'does not guarantee name',
    'does not guarantee message',
  ],
  'post /api/organizations/{org_id}/profiles/{name}/activate': ['does not guarantee llm'],
  'post /api/skills': ['lacks response 422', 'does not guarantee skills'],
  'post /api/skills/sync': ['does not guarantee status', 'does not guarantee message'],
  'post /api/v1/conversations/{conversation_id}/pending-messages': ['requires content'],
  'post /api/v1/secrets': ['does not guarantee message'],
  'post /api/v1/settings/profiles/{name}': ['requires llm'],
  'put /api/v1/secrets/{name}': ['does not guarantee message'],
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
  if (operation === undefined) return ['is missing']
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
    ...(responses[published.status] === undefined ? [`lacks response ${published.status}`] : []),
    ...(published.refuses === true && responses['422'] === undefined ? ['lacks response 422'] : []),
    ...names
      .filter((name) => !query.some((one) => one.name === name))
      .map((name) => `lacks parameter ${name}`),
    ...query.filter((one) => one.required && !needed.includes(one.name)).map((one) => `requires ${one.name}`),
    ...required(body)
      .filter((name) => !fields.includes(name))
      .map((name) => `requires ${name}`),
    ...gives.filter((name) => !required(reply).includes(name)).map((name) => `does not guarantee ${name}`),
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
