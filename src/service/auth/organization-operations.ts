/** The operation that describes a caller's role in an organization. */

import type { Caller } from './caller.ts'
import { listOf, maybe, objectOf, operation, type Operation } from '../http/operation.ts'
import { HttpProblem } from '../http/problem.ts'

const string = { type: 'string' } as const

export type UserOf = (keyId: string) => Promise<{ readonly user_id: string; readonly email: string } | null>

const NO_USER = { user_id: null, email: null }

const WORK = ['view_conversations', 'edit_conversations', 'manage_sandboxes', 'edit_settings']

export const organizationOperations = (
  identify: (request: Request) => Promise<Caller>,
  userOf: UserOf,
): Operation[] =>
  (['/api/organizations/{org_id}/me', '/organizations/{org_id}/me'] as const).map((path) =>
    operation(
      `get ${path}`,
      {
        operationId: path.startsWith('/api')
          ? 'get_me_api_organizations__org_id__me_get'
          : 'get_me_in_organization',
        tag: 'Organizations',
        summary: 'Get Me',
        replies: {
          200: {
            description: "The caller's permissions",
            schema: objectOf({
              org_id: string,
              user_id: maybe(string),
              email: maybe(string),
              role: string,
              permissions: listOf(string),
              status: string,
              llm_api_key: maybe(string),
              llm_api_key_for_byor: maybe(string),
              agent_settings_diff: maybe({ type: 'object' }),
              conversation_settings_diff: maybe({ type: 'object' }),
            }),
          },
          400: { description: 'X-Org-Id names another organization' },
          404: { description: 'You are not a member' },
        },
      },
      async ({ path: { org_id }, request }) => {
        const header = request.headers.get('x-org-id')
        if (header !== null && header !== org_id)
          throw new HttpProblem(400, 'X-Org-Id does not match the organization in the path.')
        const caller = await identify(request)
        const bound = caller.type === 'api_key' ? caller.key.org_id : null
        if (bound !== null && bound !== org_id)
          throw new HttpProblem(404, 'You are not a member of this organization.')
        // A session key owns the service; an API key may do everything except manage keys.
        const isKey = caller.type === 'api_key'
        const permissions = isKey ? WORK : [...WORK, 'manage_keys']
        return {
          body: {
            org_id,
            ...((caller.type === 'api_key' ? await userOf(caller.key.id) : null) ?? NO_USER),
            role: isKey ? 'member' : 'owner',
            permissions,
            status: 'active',
            // Organizations have no keys and settings of their own: the service's apply to all.
            llm_api_key: null,
            llm_api_key_for_byor: null,
            agent_settings_diff: null,
            conversation_settings_diff: null,
          },
        }
      },
    ),
  )
