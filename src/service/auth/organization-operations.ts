/** What a caller may do in an organization. */

import type { Caller } from './caller.ts'
import { listOf, maybe, objectOf } from '../http/json-schema.ts'
import { type Operation, operation } from '../http/operation.ts'
import { text } from '../http/parameters.ts'
import { HttpProblem } from '../http/problem.ts'

const string = { type: 'string' } as const

/** What every caller may do. */
const WORK = ['view_conversations', 'edit_conversations', 'manage_sandboxes', 'edit_settings']

/** `identify` finds the caller. */
export const organizationOperations = (identify: (request: Request) => Promise<Caller>): Operation[] =>
  ['/api/organizations/{org_id}/me', '/organizations/{org_id}/me'].map((path) =>
    operation(
      {
        method: 'get',
        path,
        operationId: path.startsWith('/api')
          ? 'get_me_api_organizations__org_id__me_get'
          : 'get_me_in_organization',
        tag: 'Organizations',
        summary: 'Get Me',
        params: { org_id: text() },
        replies: {
          200: {
            description: 'What the caller may do',
            schema: objectOf({
              org_id: string,
              user_id: maybe(string),
              email: maybe(string),
              role: string,
              permissions: listOf(string),
              status: string,
            }),
          },
          400: { description: 'X-Org-Id names another organization' },
          404: { description: 'The caller is no member' },
        },
      },
      async ({ path: { org_id }, request }) => {
        const named = request.headers.get('x-org-id')
        if (named !== null && named !== org_id)
          throw new HttpProblem(400, 'X-Org-Id names another organization.')
        const caller = await identify(request)
        const bound = caller.type === 'api_key' ? caller.key.org_id : null
        if (bound !== null && bound !== org_id)
          throw new HttpProblem(404, 'The caller is no member of this organization.')
        // There are no users here: a session key owns the service, and an API key may do all but manage keys.
        const isKey = caller.type === 'api_key'
        const permissions = isKey ? WORK : [...WORK, 'manage_keys']
        return {
          body: {
            org_id,
            user_id: null,
            email: null,
            role: isKey ? 'member' : 'owner',
            permissions,
            status: 'active',
          },
        }
      },
    ),
  )
