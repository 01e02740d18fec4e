import { type BodyOf, listOf, objectOf, operationsIn, type Operation } from '../http/operation.ts'
import { optional, text, type ValuesOf, withDefault } from '../http/parameters.ts'
import { HttpProblem, invalid } from '../http/problem.ts'
import type { Store } from '../../store/contract/store.ts'
import { type Records, recordsOf } from '../records.ts'
import { MAX_WORKSPACES, parentsBody, workspacesBody } from '../request-schema.ts'

const operation = operationsIn('Workspace')

export const EDITOR_FOLDER = 'workspace'

const EDITOR_QUERY = {
  base_url: optional(text()),
  workspace_dir: withDefault(text(), EDITOR_FOLDER),
} as const

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
    query: EDITOR_QUERY,
    returns: objectOf({ url: 'string?' }),
    description: 'Null if there is no editor',
    handle: ({ query }) => ({ url: editor === null ? null : editorUrl(editor, query) }),
  }),
  operation('get /api/vscode/status', {
    name: 'get_vscode_status',
    returns: objectOf({ running: 'boolean', enabled: 'boolean' }),
    description: 'The configured values; the service does not check them',
    handle: () => ({ running: editor !== null, enabled: editor !== null }),
  }),
]

function editorUrl(
  { port, token, basePath = '' }: Editor,
  { base_url: base, workspace_dir: folder }: ValuesOf<typeof EDITOR_QUERY>,
): string {
  const input = base ?? `http://localhost:${port}`
  const url = URL.canParse(input) ? new URL(input) : null
  // Clients show it as a link, which must not be a script.
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw invalid({
      type: 'url_parsing',
      loc: ['query', 'base_url'],
      msg: 'Input should be an http or https URL',
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
   * Creates a directory and its missing parents. If the directory exists, does nothing.
   * @throws HttpProblem 400 for an invalid path or a file in the way, 403 for a path outside the folder, 409
   *   if the path is changed meanwhile, 507 if the disk is full.
   */
  readonly createDirectory: (path: string) => Promise<void>
}

export const workspaceOperations = (workspace: Workspace | null): Operation[] =>
  (['/api/file/create_directory', '/file/create_directory'] as const).map((path) =>
    operation(`post ${path}`, {
      operationId: path.startsWith('/api')
        ? 'create_directory_api_file_create_directory_post'
        : 'create_directory',
      summary: 'Create Directory',
      query: { path: text() },
      description: 'The directory exists',
      otherwise: {
        400: 'The path is not absolute, or part of it is a file',
        403: 'The path leads out of the workspace, or there is no workspace',
        409: 'The path changed during the request',
        507: 'The disk is full',
      },
      async handle({ query }) {
        if (workspace === null)
          throw new HttpProblem(403, 'This service has no workspace. Set `--workspace`, or pass `workspace`.')
        await workspace.createDirectory(query.path)
      },
    }),
  )

/** The list of workspaces that clients save. A workspace is only a path; the service never opens its folder. */
interface Saved {
  readonly workspaces: readonly Item[]
  readonly workspaceParents: readonly Item[]
}

type Item = BodyOf<typeof workspacesBody>['workspaces'][number]

const NO_WORKSPACES: Saved = { workspaces: [], workspaceParents: [] }
const COLLECTION = 'saved-workspaces'

const PARENT = objectOf({ id: 'string', name: 'string', path: 'string' })
const LIST = {
  description: 'All workspaces',
  returns: objectOf({
    workspaces: listOf(objectOf({ id: 'string', name: 'string', path: 'string', parentPath: 'string?' })),
    workspaceParents: listOf(PARENT),
  }),
}
const FULL = { 409: `The list would exceed ${MAX_WORKSPACES} entries` }

const savedOperation = operationsIn('Workspaces')

export function savedWorkspaceOperations(store: Store): Operation[] {
  const records: Records<Saved> = recordsOf<Saved>(store, COLLECTION)
  const shown = ({ workspaces, workspaceParents }: Saved): object => ({
    workspaces: workspaces.map((one) => ({ ...one, parentPath: one.parentPath ?? null })),
    workspaceParents,
  })
  const add = async (field: keyof Saved, items: readonly Item[]): Promise<object> => {
    const after = await records.update(COLLECTION, (before) => {
      const all = new Map((before ?? NO_WORKSPACES)[field].map((one) => [one.path, one]))
      for (const one of items) all.set(one.path, one)
      if (all.size > MAX_WORKSPACES)
        throw new HttpProblem(
          409,
          `The list would exceed its maximum of ${MAX_WORKSPACES} entries. Delete some entries first.`,
        )
      return { ...(before ?? NO_WORKSPACES), [field]: [...all.values()] }
    })
    return shown(after ?? NO_WORKSPACES)
  }
  const remove = async (field: keyof Saved, path: string): Promise<object> => {
    let deleted = false
    await records.update(COLLECTION, (before) => {
      const remaining = (before ?? NO_WORKSPACES)[field].filter((one) => one.path !== path)
      deleted = remaining.length < (before ?? NO_WORKSPACES)[field].length
      return deleted ? { ...(before ?? NO_WORKSPACES), [field]: remaining } : undefined
    })
    return { deleted }
  }
  return [
    savedOperation('get /api/workspaces', {
      name: 'list_workspaces',
      ...LIST,
      handle: async () => shown((await records.find(COLLECTION))?.record ?? NO_WORKSPACES),
    }),
    savedOperation('post /api/workspaces', {
      name: 'add_workspaces',
      body: workspacesBody,
      ...LIST,
      otherwise: FULL,
      handle: ({ body }) => add('workspaces', body.workspaces),
    }),
    savedOperation('post /api/workspaces/parents', {
      name: 'add_workspace_parents',
      body: parentsBody,
      ...LIST,
      otherwise: FULL,
      handle: ({ body }) => add('workspaceParents', body.parents),
    }),
    ...(['', '/parents'] as const).map((path) =>
      savedOperation(`delete /api/workspaces${path}`, {
        name: `delete_workspace${path === '' ? '' : '_parent'}`,
        query: { path: text() },
        returns: objectOf({ deleted: 'boolean' }),
        handle: ({ query }) => remove(path === '' ? 'workspaces' : 'workspaceParents', query.path),
      }),
    ),
  ]
}
