/**
 * What pages ask for before they show files of a workspace in frames, which can send no key in a header. Files are not
 * given to frames here, so the session has no cookie, and a page that asks for one goes on without.
 */

import { type Operation, operation } from '../http/operation.ts'

const path = '/api/auth/workspace-session'
const tag = 'Workspaces'

/** Its operations. */
export const workspaceSessionOperations = (): Operation[] => [
  operation(
    {
      method: 'post',
      path,
      operationId: 'start_workspace_session_api_auth_workspace_session_post',
      tag,
      summary: 'Start Workspace Session',
      replies: { 204: { description: 'There is nothing to set' } },
    },
    async () => ({ status: 204, body: null }),
  ),
  operation(
    {
      method: 'delete',
      path,
      operationId: 'delete_workspace_session_api_auth_workspace_session_delete',
      tag,
      summary: 'End Workspace Session',
      replies: { 204: { description: 'There is nothing to clear' } },
    },
    async () => ({ status: 204, body: null }),
  ),
]
