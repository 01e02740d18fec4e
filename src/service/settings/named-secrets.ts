/** Secrets by name, for the service's agents: clients can write but not read them. */

import type { Store } from '../../store/contract/store.ts'
import {
  listOf,
  maybe,
  objectOf,
  operationsIn,
  type Operation,
  pageOfSchema,
  string,
  bool,
} from '../http/operation.ts'
import { CURSOR_PAGING, pageByName } from '../http/page-bytes.ts'
import { matching, optional, text as anyText } from '../http/parameters.ts'
import { HttpProblem } from '../http/problem.ts'
import { SealedMap, type SecretBox } from './secret-box.ts'
import { describeBody, secretBody, SECRET_NAME } from './settings-schema.ts'

/** The fields of a named secret that clients can read, without its value. */
export interface SecretInfo {
  readonly name: string
  readonly description: string | null
}

export class NamedSecrets {
  readonly #stored: SealedMap

  constructor(store: Store, secretBox: SecretBox) {
    const options = { collection: 'named-secrets', noun: 'secret', limit: 1_000 }
    this.#stored = new SealedMap(store, secretBox, options)
  }

  async list(): Promise<SecretInfo[]> {
    return Array.from(await this.#stored.all(), ([name, { description }]) => ({
      name,
      description: typeof description === 'string' ? description : null,
    }))
  }

  /** The secrets with their values: for the service's own agent, never for a response. */
  async values(): Promise<ReadonlyMap<string, string>> {
    return new Map(Array.from(await this.#stored.all(), ([name, { secret }]) => [name, String(secret)]))
  }

  /** @throws HttpProblem 404. */
  async check(name: string): Promise<void> {
    await this.#stored.get(name)
  }

  /**
   * Stores a secret, replacing one with the same name. Returns its fields.
   * @throws HttpProblem 409 if secrets cannot be stored, or at the maximum.
   */
  async put(info: SecretInfo, secret: string): Promise<SecretInfo> {
    await this.#stored.put(info.name, () => ({ secret, description: info.description }))
    return info
  }

  /** Changes the name and description of a secret. @throws HttpProblem 404, 409 when the name is in use. */
  async describe(name: string, info: SecretInfo): Promise<SecretInfo> {
    await this.#stored.rename(name, info.name, { description: info.description })
    return info
  }

  /** @throws HttpProblem 404. */
  async remove(name: string): Promise<void> {
    if ((await this.#stored.remove(name)) === undefined) throw this.#stored.unknown()
  }
}

const operation = operationsIn('Secrets')

const secretName = matching(SECRET_NAME, 'Must be 1 to 64 letters, digits and _, beginning with a letter')

const params = { name: secretName }
const INFO = objectOf({ name: string, description: maybe(string) })
const UNKNOWN = { 404: 'Unknown secret' }
const SEALED = {
  409: 'Secrets cannot be stored, there are too many, or they were encrypted with another secret',
}

const infoOf = (request: {
  readonly name: string
  readonly description?: string | null | undefined
}): SecretInfo => ({
  name: request.name,
  description: request.description ?? null,
})

export const secretOperations = (secrets: NamedSecrets): Operation[] => [
  operation('get /api/settings/secrets', {
    name: 'list_secrets',
    returns: objectOf({ secrets: listOf(INFO) }),
    description: 'By name, without their values',
    otherwise: SEALED,
    handle: async () => ({ secrets: await secrets.list() }),
  }),
  operation('put /api/settings/secrets', {
    name: 'create_secret',
    body: secretBody,
    returns: INFO,
    otherwise: SEALED,
    handle: ({ body }) => secrets.put(infoOf(body), body.value),
  }),
  operation('get /api/settings/secrets/{name}', {
    name: 'get_secret_value',
    summary: 'Check Whether A Secret Exists',
    params,
    status: 403,
    otherwise: { 403: 'The secret exists and is not shown', ...UNKNOWN, ...SEALED },
    async handle({ path: { name } }) {
      await secrets.check(name)
      throw new HttpProblem(403, 'Stored secrets are passed to the agent and never shown.')
    },
  }),
  operation('delete /api/settings/secrets/{name}', {
    name: 'delete_secret',
    params,
    returns: objectOf({ deleted: bool }),
    otherwise: { ...UNKNOWN, ...SEALED },
    async handle({ path: { name } }) {
      await secrets.remove(name)
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
  operation('post /api/v1/secrets', {
    name: 'create_secret',
    body: secretBody,
    status: 201,
    returns: INFO,
    otherwise: SEALED,
    handle: ({ body }) => secrets.put(infoOf(body), body.value),
  }),
  operation('put /api/v1/secrets/{name}', {
    name: 'update_secret',
    summary: 'Rename Or Describe Secret',
    params,
    body: describeBody,
    returns: INFO,
    description: 'The new name and description',
    otherwise: { ...UNKNOWN, ...SEALED },
    handle: ({ path: { name }, body }) => secrets.describe(name, infoOf(body)),
  }),
  operation('delete /api/v1/secrets/{name}', {
    name: 'delete_secret',
    params,
    otherwise: { ...UNKNOWN, ...SEALED },
    handle: ({ path: { name } }) => secrets.remove(name),
  }),
]
