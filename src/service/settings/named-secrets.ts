/** Named secrets for the service's agents. Clients can write the secrets, but cannot read them. */

import type { Store } from '../../store/contract/store.ts'
import type { BodyOf, Operation } from '../http/operation.ts'
import { listOf, objectOf, operationsIn, pageOfSchema } from '../http/operation.ts'
import { CURSOR_PAGING, pageByName } from '../http/paging.ts'
import { matching, optional, text as anyText } from '../http/parameters.ts'
import { HttpProblem } from '../http/problem.ts'
import { SealedMap, type SecretBox } from './secret-box.ts'
import { describeBody, secretBody, SECRET_NAME } from './settings-schema.ts'

/** The fields of a named secret that clients can read: all fields except its value. */
export interface SecretInfo {
  readonly name: string
  readonly description: string | null
}

export class NamedSecrets extends SealedMap {
  constructor(store: Store, secretBox: SecretBox) {
    super(store, secretBox, { collection: 'named-secrets', noun: 'secret', limit: 1_000 })
  }

  async list(): Promise<SecretInfo[]> {
    return Array.from(await this.all(), ([name, { description }]) => ({
      name,
      description: typeof description === 'string' ? description : null,
    }))
  }

  /** Returns the secrets with their values. Pass them only to the service's agent, never to a client. */
  async values(): Promise<ReadonlyMap<string, string>> {
    return new Map(Array.from(await this.all(), ([name, { secret }]) => [name, String(secret)]))
  }

  /** Stores or replaces a secret. @throws HttpProblem 409, see {@link SealedMap}; also for too many. */
  async save(info: SecretInfo, secret: string): Promise<SecretInfo> {
    await this.put(info.name, () => ({ secret, description: info.description }))
    return info
  }
}

const operation = operationsIn('Secrets')

const secretName = matching(SECRET_NAME, 'Must be 1 to 64 letters, digits and _, beginning with a letter')

const params = { name: secretName }
const INFO = objectOf({ name: 'string', description: 'string?' })
const UNKNOWN = { 404: 'Unknown secret' }
const SEALED = { 409: 'Secrets cannot be stored, too many exist, or they were encrypted with another secret' }

const infoOf = ({ name, description = null }: BodyOf<typeof describeBody>): SecretInfo => ({
  name,
  description,
})

async function remove(secrets: NamedSecrets, name: string): Promise<void> {
  if ((await secrets.remove(name)) === undefined) throw secrets.unknown()
}

export const secretOperations = (secrets: NamedSecrets): Operation[] => [
  operation('get /api/settings/secrets', {
    name: 'list_secrets',
    returns: objectOf({ secrets: listOf(INFO) }),
    description: 'The secrets by name, without their values',
    otherwise: SEALED,
    handle: async () => ({ secrets: await secrets.list() }),
  }),
  ...(['put /api/settings/secrets', 'post /api/v1/secrets'] as const).map((route) =>
    operation(route, {
      name: 'create_secret',
      body: secretBody,
      status: route.startsWith('post') ? 201 : 200,
      returns: INFO,
      otherwise: SEALED,
      handle: ({ body }) => secrets.save(infoOf(body), body.value),
    }),
  ),
  operation('get /api/settings/secrets/{name}', {
    name: 'get_secret_value',
    summary: 'Check Whether A Secret Exists',
    params,
    status: 403,
    otherwise: { 403: 'The secret exists; its value is not shown', ...UNKNOWN, ...SEALED },
    async handle({ path: { name } }) {
      await secrets.get(name)
      throw new HttpProblem(403, 'Stored secrets are never shown. Only the agent receives them.')
    },
  }),
  operation('delete /api/settings/secrets/{name}', {
    name: 'delete_secret',
    params,
    returns: objectOf({ deleted: 'boolean' }),
    otherwise: { ...UNKNOWN, ...SEALED },
    async handle({ path: { name } }) {
      await remove(secrets, name)
      return { deleted: true }
    },
  }),
  operation('get /api/v1/secrets/search', {
    name: 'search_secrets',
    query: { name__contains: optional(anyText()), ...CURSOR_PAGING },
    returns: pageOfSchema(INFO),
    description: 'By name; `page_id` is the last name of the previous page',
    otherwise: SEALED,
    async handle({ query: { name__contains: part, ...paging } }) {
      const all = (await secrets.list()).filter(({ name }) => part === null || name.includes(part))
      return pageByName(all, paging)
    },
  }),
  operation('put /api/v1/secrets/{name}', {
    name: 'update_secret',
    summary: 'Rename Or Describe Secret',
    params,
    body: describeBody,
    returns: INFO,
    description: 'The new name and description',
    otherwise: { ...UNKNOWN, ...SEALED },
    async handle({ path: { name }, body }) {
      const info = infoOf(body)
      await secrets.rename(name, info.name, { description: info.description })
      return info
    },
  }),
  operation('delete /api/v1/secrets/{name}', {
    name: 'delete_secret',
    params,
    otherwise: { ...UNKNOWN, ...SEALED },
    handle: ({ path: { name } }) => remove(secrets, name),
  }),
]
