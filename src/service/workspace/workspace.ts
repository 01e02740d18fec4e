/** The workspace, the editor and the one organization there is, over HTTP: what the embedder gives goes in, the table of operations comes out. */

import type { Caller } from '../auth.ts'
import { listOf, maybe, objectOf } from '../control/shapes.ts'
import { type Operation, operation } from '../http/operation.ts'
import { optional, text, withDefault } from '../http/parameters.ts'
import { HttpProblem, invalid } from '../http/problem.ts'
import { SUCCESS, SUCCESS_SCHEMA } from '../lifecycle/info.ts'

/** The files that a service may touch. */
export interface Workspace {
  /** Makes a directory and those above it; one that is there is fine. @throws HttpProblem 400, 403 for what is outside. */
  readonly createDirectory: (path: string) => Promise<void>
}

/** An editor beside the service. */
export interface Editor {
  readonly port: number
  /** Put into its URL, where the editor looks for it. */
  readonly token: string
  /** Where it is served below its address. */
  readonly basePath?: string
}

/** What the operations work on. */
export interface WorkspaceParts {
  readonly workspace: Workspace | null
  readonly editor: Editor | null
  readonly identify: (request: Request) => Promise<Caller>
}

const string = { type: 'string' } as const

export const workspaceOperations = ({ workspace, editor, identify }: WorkspaceParts): Operation[] => [
  ...['/api/file/create_directory', '/file/create_directory'].map((path) =>
    operation(
      {
        method: 'post',
        path,
        operationId: path.startsWith('/api')
          ? 'create_directory_api_file_create_directory_post'
          : 'create_directory',
        tag: 'Workspace',
        summary: 'Create Directory',
        query: { path: text() },
        replies: {
          200: { description: 'It is there', schema: SUCCESS_SCHEMA },
          400: { description: 'The path is not absolute, or a file is in the way' },
          403: { description: 'The path leads out of the workspace, or there is none' },
          409: { description: 'Somebody changed the path meanwhile' },
          507: { description: 'The disk is full' },
        },
      },
      async ({ query }) => {
        if (workspace === null) throw new HttpProblem(403, 'This service was made without a workspace.')
        await workspace.createDirectory(query.path)
        return { body: SUCCESS }
      },
    ),
  ),
  operation(
    {
      method: 'get',
      path: '/api/vscode/url',
      operationId: 'get_vscode_url_api_vscode_url_get',
      tag: 'Workspace',
      summary: 'Get Editor Url',
      query: { base_url: optional(text()), workspace_dir: withDefault(text(), 'workspace') },
      replies: {
        200: { description: 'Null where there is no editor', schema: objectOf({ url: maybe(string) }) },
      },
    },
    ({ query }) => ({ body: { url: editor === null ? null : editorUrl(editor, query) } }),
  ),
  ...['/api/organizations/{org_id}/me', '/organizations/{org_id}/me'].map((path) =>
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
        // There are no users here: whoever has a session key owns the service, and an API key may do all but manage keys.
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
  ),
]

const WORK = ['view_conversations', 'edit_conversations', 'manage_sandboxes', 'edit_settings']

function editorUrl(
  { port, token, basePath = '' }: Editor,
  {
    base_url: base,
    workspace_dir: folder,
  }: { readonly base_url: string | null; readonly workspace_dir: string },
): string {
  const given = base ?? `http://localhost:${port}`
  const url = URL.canParse(given) ? new URL(given) : null
  // It is shown as a link: a script must not become one.
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw invalid({
      type: 'url_parsing',
      loc: ['query', 'base_url'],
      msg: 'Input should be a URL of http or https',
    })
  }
  const path = basePath.replaceAll(/^\/+|\/+$/g, '')
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/${path === '' ? '' : `${path}/`}`
  url.search = ''
  url.hash = ''
  return `${url.href}?${new URLSearchParams({ tkn: token, folder })}`
}
