import { type StartBody, MAX_ORG_ID, userBody } from '../request-schema.ts'
import { type ApiKeys, sha256 } from '../auth/api-keys.ts'
import type { Caller } from '../auth/caller.ts'
import { findConversation } from '../conversations/find-conversation.ts'
import { jsonResponse } from '../http/app.ts'
import { listOf, objectOf, operationsIn, type Operation } from '../http/operation.ts'
import { HttpProblem } from '../http/problem.ts'
import { type Records, recordsOf } from '../records.ts'
import type { Store } from '../../store/contract/store.ts'

interface User {
  readonly user_id: string
  /** The user's id at the identity provider; null if the user was provisioned without this id. */
  readonly subject?: string | null
  /** E-mail address in lowercase. */
  readonly email: string
  readonly org_id: string
  readonly key_id: string | null
}

export class Users {
  readonly #records: Records<User>
  readonly #keys: ApiKeys

  constructor(store: Store, keys: ApiKeys) {
    this.#keys = keys
    this.#records = recordsOf<User>(store, 'users', ({ org_id, key_id }) => ({
      keys: { org: org_id, ...(key_id !== null && { key: key_id }) },
    }))
  }

  /**
   * Creates a user with an API key that is bound to the organization and returned only once. An existing user
   * gets no second key. In an organization, the subject alone identifies a user: a new e-mail address replaces
   * the old one, and users can share an address. Users without a subject are identified by their address.
   */
  async provision(
    org_id: string,
    address: string,
    subject: string | null,
    keyName: string | null,
  ): Promise<{ readonly user: User; readonly key: string | null; readonly isNew: boolean }> {
    const email = address.toLowerCase()
    // No e-mail address contains a line break, so the two forms never collide.
    const id = await sha256(subject === null ? `${org_id}\n${email}` : `${org_id}\n\n${subject}`)
    const known = await this.#records.find(id)
    if (known !== null) {
      const user = await this.#records.update(id, (before) =>
        before === null || before.email === email ? undefined : { ...before, email },
      )
      return { user: user ?? known.record, key: null, isNew: false }
    }
    const created = await this.#keys.create({
      name: keyName ?? email.slice(0, 255),
      not_before: null,
      expires_at: null,
      org_id,
    })
    let isNew = false
    const user = await this.#records.update(id, (before) => {
      isNew = before === null
      return before ?? { user_id: crypto.randomUUID(), subject, email, org_id, key_id: created.id }
    })
    // Another request created the user first. Delete the second key.
    if (!isNew) await this.#keys.remove(created.id)
    return { user: user as User, key: isNew ? created.key : null, isNew }
  }

  async byKey(keyId: string): Promise<User | null> {
    const { items } = await this.#records.list({ by: 'key', value: keyId, limit: 1 })
    return items[0]?.record ?? null
  }

  async organizations(): Promise<string[]> {
    const all = new Set<string>()
    for await (const { record } of this.#records.walk({ by: 'org' })) all.add(record.org_id)
    return [...all]
  }
}

/**
 * Returns the credits of an organization as a decimal string; a null result means 0. `org` is null for
 * callers without an organization.
 */
export type Credits = (org: string | null) => Promise<string | null> | string | null

const operation = operationsIn('Organizations')

export async function organizationOf({ headers }: Request, caller: Caller): Promise<string | null> {
  if (caller.type === 'api_key') return caller.key.org_id
  const named = headers.get('x-org-id')
  return named === '' || (named?.length ?? 0) > MAX_ORG_ID ? null : named
}

const USER = objectOf({
  email: 'string',
  subject: 'string?',
  password: { type: 'null' },
  api_key: 'string?',
  user_id: 'string',
  org_id: 'string',
})

export const organizationListOperations = (
  users: Users,
  identify: (request: Request) => Promise<Caller>,
  credits: Credits,
): Operation[] => [
  operation('get /api/organizations', {
    name: 'list_organizations',
    returns: objectOf({
      items: listOf(objectOf({ id: 'string', name: 'string', is_personal: 'boolean' })),
      current_org_id: 'string?',
    }),
    description: "The caller's organization, and all with provisioned users",
    async handle({ request }) {
      const caller = await identify(request)
      const current = await organizationOf(request, caller)
      const others = caller.type === 'api_key' ? [] : await users.organizations()
      const all = [...new Set([...(current === null ? [] : [current]), ...others])].toSorted()
      return { items: all.map((id) => ({ id, name: id, is_personal: false })), current_org_id: current }
    },
  }),
  operation('post /api/organizations/provision-user', {
    name: 'provision_user',
    body: userBody,
    returns: USER,
    description: 'The user existed; the key is not shown again',
    otherwise: {
      201: 'Created, with an API key that is shown only once',
      403: 'Not allowed with an API key, or from a page of another site',
      404: 'The header X-Org-Id is missing',
    },
    async handle({ body: { email, subject = null, api_key_name }, request }) {
      const caller = await identify(request)
      if (caller.type === 'api_key')
        throw new HttpProblem(403, 'An API key cannot provision users. Use a service key.')
      const org = await organizationOf(request, caller)
      if (org === null)
        throw new HttpProblem(404, 'The request names no organization. Send an organization id in X-Org-Id.')
      const { user, key, isNew } = await users.provision(org, email, subject, api_key_name ?? null)
      const { user_id, org_id } = user
      // No password is stored: there is no login, only keys.
      const named = { email: user.email, subject: user.subject ?? null }
      return jsonResponse({ ...named, password: null, api_key: key, user_id, org_id }, isNew ? 201 : 200)
    },
  }),
  operation('get /api/billing/credits', {
    name: 'get_credits',
    returns: objectOf({ credits: 'string' }),
    description: 'A decimal number; 0 if there is no balance',
    async handle({ request }) {
      return { credits: (await credits(await organizationOf(request, await identify(request)))) ?? '0' }
    },
  }),
]

export interface Quota {
  /** Maximum starts and forks per organization and day (UTC). Callers without an organization share a quota. */
  readonly perDay: number
  /** Ids of organizations without a limit. Default: none. */
  readonly exempt?: readonly string[]
}

const CREATION = 'start_conversation'

const LIMITED = [
  CREATION,
  'fork_conversation',
  'start_app_conversation_api_v1_app_conversations_post',
  'stream_app_conversation_start_api_v1_app_conversations_stream_start_post',
]

interface Day {
  readonly count: number
}

/** Limits the starts and forks of conversations by a daily quota, which all processes share. */
export function withQuota(
  operations: readonly Operation[],
  store: Store,
  quota: Quota,
  orgOf: (request: Request) => Promise<string | null>,
): Operation[] {
  const exempt = new Set(quota.exempt ?? [])
  const records: Records<Day> = recordsOf<Day>(store, 'daily-quota')
  const add = (id: string, by: number): Promise<Day | null> =>
    records.update(id, (before) => {
      const count = (before?.count ?? 0) + by
      if (by > 0 && count > quota.perDay)
        throw new HttpProblem(
          429,
          `The limit of ${quota.perDay} conversations a day has been reached. Try again tomorrow (UTC).`,
        )
      return { count: Math.max(0, count) }
    })
  const sweep = async (today: string): Promise<void> => {
    for await (const { id } of records.walk()) if (id < today) await records.remove(id)
  }
  /** Whether a creation request has the id of an existing conversation. The quota does not count such retries. */
  const exists = async ({ operationId }: Operation, body: unknown): Promise<boolean> => {
    const id = operationId === CREATION ? (body as StartBody | undefined)?.conversation_id : null
    return typeof id === 'string' && (await findConversation(store, id)) !== null
  }
  let latestDay = ''
  const limited = (one: Operation): Operation => ({
    ...one,
    otherwise: { ...one.otherwise, 429: 'Too many runs, or the daily quota is used up' },
    async handle(input) {
      const org = await orgOf(input.request)
      if (org !== null && exempt.has(org)) return one.handle(input)
      if (await exists(one, input.body)) return one.handle(input)
      const today = new Date().toISOString().slice(0, 10)
      if (latestDay !== today) {
        latestDay = today
        await sweep(today)
      }
      const id = `${today} ${org === null ? '' : await sha256(org)}`
      await add(id, 1)
      try {
        const reply = await one.handle(input)
        // The conversation existed already, so it was not started now.
        if (one.operationId === CREATION && reply instanceof Response && reply.status === 200)
          await add(id, -1)
        return reply
      } catch (error) {
        await add(id, -1)
        throw error
      }
    },
  })
  return operations.map((one) => (LIMITED.includes(one.operationId) ? limited(one) : one))
}

export type UserOf = (keyId: string) => Promise<{ readonly user_id: string; readonly email: string } | null>

const NO_USER = { user_id: null, email: null }

const WORK = ['view_conversations', 'edit_conversations', 'manage_sandboxes', 'edit_settings']

export const organizationOperations = (
  identify: (request: Request) => Promise<Caller>,
  userOf: UserOf,
): Operation[] =>
  (['/api/organizations/{org_id}/me', '/organizations/{org_id}/me'] as const).map((path) =>
    operation(`get ${path}`, {
      operationId: path.startsWith('/api')
        ? 'get_me_api_organizations__org_id__me_get'
        : 'get_me_in_organization',
      tag: 'Organizations',
      summary: 'Get Me',
      returns: objectOf({
        org_id: 'string',
        user_id: 'string?',
        email: 'string?',
        role: 'string',
        permissions: listOf('string'),
        status: 'string',
        llm_api_key: 'string?',
        llm_api_key_for_byor: 'string?',
        agent_settings_diff: 'object?',
        conversation_settings_diff: 'object?',
      }),
      description: "The caller's permissions",
      otherwise: { 400: 'X-Org-Id names another organization', 404: 'You are not a member' },
      async handle({ path: { org_id }, request }) {
        const header = request.headers.get('x-org-id')
        if (header !== null && header !== org_id)
          throw new HttpProblem(400, 'X-Org-Id does not match the organization in the path. Omit the header.')
        const caller = await identify(request)
        const bound = caller.type === 'api_key' ? caller.key.org_id : null
        if (bound !== null && bound !== org_id)
          throw new HttpProblem(404, 'The key belongs to another organization.')
        // A service key owns the service; an API key may do everything except manage keys.
        const isKey = caller.type === 'api_key'
        const permissions = isKey ? WORK : [...WORK, 'manage_keys']
        return {
          org_id,
          ...((caller.type === 'api_key' ? await userOf(caller.key.id) : null) ?? NO_USER),
          role: isKey ? 'member' : 'owner',
          permissions,
          status: 'active',
          // The service's model keys and settings apply to all organizations.
          llm_api_key: null,
          llm_api_key_for_byor: null,
          agent_settings_diff: null,
          conversation_settings_diff: null,
        }
      },
    }),
  )
