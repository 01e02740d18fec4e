/** Operations that create directories in the service's workspace, and of the editor. */

import { maybe, objectOf, operationsIn, type Operation, bool, string } from '../http/operation.ts'
import { optional, text, withDefault } from '../http/parameters.ts'
import { HttpProblem, invalid } from '../http/problem.ts'

const operation = operationsIn('Workspace')

/** The folder of an editor's URL that names none. */
export const EDITOR_FOLDER = 'workspace'

/** An editor that runs next to the service. */
export interface Editor {
  readonly port: number
  readonly token: string
  /** Path of the editor on its port. Default: none. */
  readonly basePath?: string
}

export const editorOperations = (editor: Editor | null): Operation[] => [
  operation('get /api/vscode/url', {
    name: 'get_vscode_url',
    query: { base_url: optional(text()), workspace_dir: withDefault(text(), EDITOR_FOLDER) },
    returns: objectOf({ url: maybe(string) }),
    description: 'Null where there is no editor',
    handle: ({ query }) => ({ url: editor === null ? null : editorUrl(editor, query) }),
  }),
  operation('get /api/vscode/status', {
    name: 'get_vscode_status',
    returns: objectOf({ running: bool, enabled: bool }),
    description: 'As configured: the service does not check',
    handle: () => ({ running: editor !== null, enabled: editor !== null }),
  }),
]

function editorUrl(
  { port, token, basePath = '' }: Editor,
  {
    base_url: base,
    workspace_dir: folder,
  }: { readonly base_url: string | null; readonly workspace_dir: string },
): string {
  const input = base ?? `http://localhost:${port}`
  const url = URL.canParse(input) ? new URL(input) : null
  // Clients show it as a link, which must not be a script.
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw invalid({
      type: 'url_parsing',
      loc: ['query', 'base_url'],
      msg: 'Input should be a URL of http or https',
    })
  }
  const path = basePath.replaceAll(/^\/+|(?<!\/)\/+$/g, '')
  url.pathname = `${url.pathname.replace(/(?<!\/)\/+$/, '')}/${path === '' ? '' : `${path}/`}`
  url.search = ''
  url.hash = ''
  return `${url.href}?${new URLSearchParams({ tkn: token, folder })}`
}

/** A folder in which clients can create directories. */
export interface Workspace {
  /**
   * Creates a directory and its parents, unless it exists.
   * @throws HttpProblem 400, 403 for a path outside the folder.
   */
  readonly createDirectory: (path: string) => Promise<void>
}

/** Without a workspace, every path is rejected. */
export const workspaceOperations = (workspace: Workspace | null): Operation[] =>
  (['/api/file/create_directory', '/file/create_directory'] as const).map((path) =>
    operation(`post ${path}`, {
      operationId: path.startsWith('/api')
        ? 'create_directory_api_file_create_directory_post'
        : 'create_directory',
      summary: 'Create Directory',
      query: { path: text() },
      description: 'It is there',
      otherwise: {
        400: 'The path is not absolute, or a file is in the way',
        403: 'The path leads out of the workspace, or there is none',
        409: 'The path was changed meanwhile',
        507: 'The disk is full',
      },
      async handle({ query }) {
        if (workspace === null) throw new HttpProblem(403, 'This service has no workspace.')
        await workspace.createDirectory(query.path)
      },
    }),
  )
