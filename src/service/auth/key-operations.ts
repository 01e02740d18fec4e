import { parseInstant } from '../../event/time.ts'
import type { Caller } from './caller.ts'
import { listOf, objectOf, operationsIn, type Operation } from '../http/operation.ts'
import { dateTime } from '../http/parameters.ts'
import { HttpProblem, invalid, invalidValue } from '../http/problem.ts'
import { MAX_ORG_ID, newKeyBody } from '../request-schema.ts'
import { type ApiKeys, isWithin, type NewApiKey } from './api-keys.ts'
import type { UserOf } from '../organizations/organizations.ts'

const operation = operationsIn('Keys')

const INFO = {
  id: 'string',
  name: 'string',
  created_at: 'string',
  last_used_at: 'string?',
  not_before: 'string?',
  expires_at: 'string?',
  org_id: 'string?',
} as const

const FORBIDDEN = { 403: 'A key cannot manage keys' }

export const keyOperations = (
  keys: ApiKeys,
  identify: (request: Request) => Promise<Caller>,
  userOf: UserOf,
): Operation[] => {
  /** Rejects callers with an API key: they could create a key that outlives their own key. */
  const requireSession = async (request: Request): Promise<void> => {
    const { type } = await identify(request)
    if (type === 'api_key') throw new HttpProblem(403, 'API keys cannot manage keys. Use a service key.')
  }
  return [
    operation('post /api/keys', {
      name: 'create_api_key',
      body: newKeyBody,
      returns: objectOf({ ...INFO, key: 'string' }),
      description: 'The key, which is shown only once',
      otherwise: FORBIDDEN,
      async handle({ body, request }) {
        await requireSession(request)
        const window = {
          not_before: readTime('not_before', body.not_before),
          expires_at: readTime('expires_at', body.expires_at),
        }
        checkWindow(window)
        const org_id = body.org_id === undefined ? orgOf(request) : body.org_id
        return keys.create({ name: body.name, ...window, org_id })
      },
    }),
    operation('get /api/keys', {
      name: 'list_api_keys',
      returns: listOf(objectOf(INFO)),
      description: 'The newest first',
      otherwise: FORBIDDEN,
      async handle({ request }) {
        await requireSession(request)
        return keys.list()
      },
    }),
    operation('get /api/keys/current', {
      name: 'current_api_key',
      returns: objectOf({
        id: 'string',
        name: 'string',
        org_id: 'string?',
        bound_org_id: 'string?',
        user_id: 'string?',
        auth_type: { const: 'api_key' },
      }),
      description: "The request's key",
      otherwise: { 400: 'The request has no API key' },
      async handle({ request }) {
        const caller = await identify(request)
        if (caller.type !== 'api_key') throw new HttpProblem(400, 'The request has no API key. Send one.')
        const { id, name, org_id: bound } = caller.key
        const org_id = bound ?? request.headers.get('x-org-id')
        const user_id = (await userOf(id))?.user_id ?? null
        return { id, name, org_id, bound_org_id: bound, user_id, auth_type: 'api_key' }
      },
    }),
    operation('delete /api/keys/{key_id}', {
      name: 'delete_api_key',
      returns: objectOf({ success: { const: true } }),
      otherwise: { 404: 'Unknown key', ...FORBIDDEN },
      async handle({ path, request }) {
        await requireSession(request)
        if (await keys.remove(path.key_id)) return { success: true }
        throw new HttpProblem(404, `Key ${JSON.stringify(path.key_id)} was not found.`)
      },
    }),
  ]
}

function orgOf({ headers }: Request): string | null {
  const org = headers.get('x-org-id')
  if (org === null || (org !== '' && org.length <= MAX_ORG_ID)) return org
  const msg = `String should have 1 to ${MAX_ORG_ID} characters`
  throw invalid({ type: 'value_error', loc: ['header', 'x-org-id'], msg, input: null })
}

function readTime(name: string, input: string | null | undefined): string | null {
  if (input === undefined || input === null) return null
  const read = dateTime().read([input])
  if ('wrong' in read) throw invalid({ loc: ['body', name], ...read.wrong })
  return new Date(Number((parseInstant(read.value) ?? 0n) / 1000n)).toISOString()
}

function checkWindow({ not_before, expires_at }: Pick<NewApiKey, 'not_before' | 'expires_at'>): void {
  if (expires_at !== null && !isWithin({ not_before: null, expires_at }, Date.now()))
    throw invalidValue(['body', 'expires_at'], 'it is in the past')
  if (not_before !== null && expires_at !== null && Date.parse(not_before) >= Date.parse(expires_at))
    throw invalidValue(['body', 'expires_at'], 'it is not after not_before')
}
