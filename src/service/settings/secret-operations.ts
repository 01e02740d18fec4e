/** The operations on secrets by name: kept, listed, renamed and deleted, and never shown. */

import type { JsonObject } from '../../event/shapes.ts'
import { SUCCESS, SUCCESS_SCHEMA } from '../conversations/info.ts'
import { listOf, maybe, objectOf } from '../http/json-schema.ts'
import { type Operation, operation } from '../http/operation.ts'
import { integer, optional, type Parameter, text as anyText, withDefault } from '../http/parameters.ts'
import { HttpProblem } from '../http/problem.ts'
import { type NamedSecrets, SECRET_NAME, type SecretInfo, unknownSecret } from './named-secrets.ts'
import { describeBody, secretBody } from './settings-schema.ts'

const tag = 'Secrets'
const string: JsonObject = { type: 'string' }

/** Not said again: it may be a secret that was put into the wrong place. */
const secretName: Parameter<string> = {
  schema: { type: 'string', pattern: SECRET_NAME.source },
  required: true,
  read(given) {
    const [name = ''] = given
    if (SECRET_NAME.test(name)) return { value: name }
    const msg = 'Must begin with a letter, and hold 1 to 64 letters, digits and _'
    return { wrong: { type: 'string_pattern_mismatch', msg } }
  },
}

const params = { name: secretName }
const INFO = objectOf({ name: string, description: maybe(string) })
const UNKNOWN = { 404: { description: 'Unknown secret' } }
const SEALED = { 409: { description: 'Secrets cannot be kept, or no more, or with another secret only' } }

const infoOf = (given: {
  readonly name: string
  readonly description?: string | null | undefined
}): SecretInfo => ({
  name: given.name,
  description: given.description ?? null,
})

/** Under the paths of an agent server, and those of the control plane. */
export const secretOperations = (secrets: NamedSecrets): Operation[] => [
  operation(
    {
      method: 'get',
      path: '/api/settings/secrets',
      operationId: 'list_secrets_api_settings_secrets_get',
      tag,
      summary: 'List Secrets',
      replies: {
        200: { description: 'By name, without their values', schema: objectOf({ secrets: listOf(INFO) }) },
        ...SEALED,
      },
    },
    async () => ({ body: { secrets: await secrets.list() } }),
  ),
  operation(
    {
      method: 'put',
      path: '/api/settings/secrets',
      operationId: 'create_secret_api_settings_secrets_put',
      tag,
      summary: 'Keep Secret',
      body: secretBody,
      replies: { 200: { description: 'Kept', schema: INFO }, ...SEALED },
    },
    async ({ body }) => {
      await secrets.put(infoOf(body), body.value)
      return { body: infoOf(body) }
    },
  ),
  operation(
    {
      method: 'get',
      path: '/api/settings/secrets/{name}',
      operationId: 'get_secret_value_api_settings_secrets__name__get',
      tag,
      summary: 'Say Whether There Is A Secret',
      params,
      replies: { 403: { description: 'There is, and it is not shown' }, ...UNKNOWN, ...SEALED },
    },
    async ({ path: { name } }) => {
      if (!(await secrets.values()).has(name)) throw unknownSecret()
      throw new HttpProblem(403, 'A secret that is kept is handed to the agent, and not shown.')
    },
  ),
  operation(
    {
      method: 'delete',
      path: '/api/settings/secrets/{name}',
      operationId: 'delete_secret_api_settings_secrets__name__delete',
      tag,
      summary: 'Delete Secret',
      params,
      replies: {
        200: { description: 'It is gone', schema: objectOf({ deleted: { type: 'boolean' } }) },
        ...UNKNOWN,
        ...SEALED,
      },
    },
    async ({ path: { name } }) => {
      await secrets.remove(name)
      return { body: { deleted: true } }
    },
  ),
  operation(
    {
      method: 'get',
      path: '/api/v1/secrets/search',
      operationId: 'search_secrets_api_v1_secrets_search_get',
      tag,
      summary: 'Search Secrets',
      query: {
        name__contains: optional(anyText()),
        page_id: optional(anyText()),
        limit: withDefault(integer({ least: 1, most: 100 }), 100),
      },
      replies: {
        200: {
          description: 'By name; `page_id` is the last name of the page before',
          schema: objectOf({ items: listOf(INFO), next_page_id: maybe(string) }),
        },
        ...SEALED,
      },
    },
    async ({ query: { name__contains: part, page_id: after, limit } }) => {
      const all = (await secrets.list()).filter(
        ({ name }) => (part === null || name.includes(part)) && (after === null || name > after),
      )
      const items = all.slice(0, limit)
      return { body: { items, next_page_id: all.length > limit ? (items.at(-1)?.name ?? null) : null } }
    },
  ),
  operation(
    {
      method: 'post',
      path: '/api/v1/secrets',
      operationId: 'create_secret_api_v1_secrets_post',
      tag,
      summary: 'Create Secret',
      body: secretBody,
      replies: { 201: { description: 'Kept', schema: INFO }, ...SEALED },
    },
    async ({ body }) => {
      await secrets.put(infoOf(body), body.value)
      return { status: 201, body: infoOf(body) }
    },
  ),
  operation(
    {
      method: 'put',
      path: '/api/v1/secrets/{name}',
      operationId: 'update_secret_api_v1_secrets__name__put',
      tag,
      summary: 'Rename Or Describe Secret',
      params,
      body: describeBody,
      replies: { 200: { description: 'As it is called now', schema: INFO }, ...UNKNOWN, ...SEALED },
    },
    async ({ path: { name }, body }) => {
      await secrets.describe(name, infoOf(body))
      return { body: infoOf(body) }
    },
  ),
  operation(
    {
      method: 'delete',
      path: '/api/v1/secrets/{name}',
      operationId: 'delete_secret_api_v1_secrets__name__delete',
      tag,
      summary: 'Delete Secret',
      params,
      replies: { 200: { description: 'It is gone', schema: SUCCESS_SCHEMA }, ...UNKNOWN, ...SEALED },
    },
    async ({ path: { name } }) => {
      await secrets.remove(name)
      return { body: SUCCESS }
    },
  ),
]
