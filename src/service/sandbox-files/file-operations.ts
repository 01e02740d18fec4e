/**
 * File, command and git operations of the service, and the same operations for one conversation. For a
 * conversation, the default path is its folder, and all paths must be inside this folder.
 */

import { isObject, textAt } from '../../event/json.ts'
import { appOf, incarnationOf } from '../control-plane/app-metadata.ts'
import type { Sandboxes } from '../control-plane/sandboxes.ts'
import { getConversationOr404 } from '../conversations/find-conversation.ts'
import { readBytes } from '../http/app.ts'
import { listOf, objectOf, type Operation, operationsIn, pageOfSchema } from '../http/operation.ts'
import { CURSOR_PAGING, pageByName } from '../http/paging.ts'
import { boolean, optional, text, withDefault } from '../http/parameters.ts'
import { HttpProblem, invalid, invalidValue } from '../http/problem.ts'
import { EDITOR_FOLDER } from '../workspace/workspace.ts'
import { MAX_BYTES, REFUSED, requireFiles, type SandboxFiles } from './contract.ts'
import type { ConversationRecord } from '../../store/contract/conversation-record.ts'
import type { Store } from '../../store/contract/store.ts'

const operation = operationsIn('Files')
const LOCATIONS = listOf(objectOf({ label: 'string', path: 'string' }))

export const fileOperations = (files: SandboxFiles | null): Operation[] => [
  operation('get /api/file/home', {
    name: 'get_home_directory',
    query: { include_hidden: withDefault(boolean(), false) },
    returns: objectOf({ home: 'string', favorites: LOCATIONS, locations: LOCATIONS }),
    description: 'The folder of the sandboxes; only its name if the service does not serve their files',
    handle: () => ({ home: files?.home ?? 'workspace', favorites: [], locations: [] }),
  }),
  operation('get /api/file/search_subdirs', {
    name: 'search_subdirs',
    query: { path: text(), ...CURSOR_PAGING, include_hidden: withDefault(boolean(), false) },
    returns: pageOfSchema(objectOf({ name: 'string', path: 'string' })),
    description: 'Folders by name; `page_id` is the last name of the previous page',
    otherwise: REFUSED,
    async handle({ query: { path: parent, include_hidden: hidden, ...paging } }) {
      const all = (await requireFiles(files).list(parent)).flatMap(({ name, path, is_directory }) =>
        is_directory && (hidden || !name.startsWith('.')) ? [{ name, path }] : [],
      )
      return pageByName(all, paging)
    },
  }),
  operation('get /api/file/download', {
    name: 'download_file',
    query: { path: text() },
    returns: 'string',
    description: 'The bytes of the file',
    mediaType: 'application/octet-stream',
    otherwise: { ...REFUSED, 413: 'The file is too large' },
    handle: async ({ query }) =>
      new Response(await requireFiles(files).read(query.path, MAX_BYTES), {
        // Browsers must not render files of a sandbox as pages.
        headers: { 'content-type': 'application/octet-stream', 'content-disposition': 'attachment' },
      }),
  }),
  operation('post /api/file/upload', {
    name: 'upload_file',
    summary: 'Upload File (a form with one `file`)',
    query: { path: text() },
    returns: objectOf({ success: 'boolean', file_size: 'integer' }),
    otherwise: { ...REFUSED, 413: 'The file is too large', 507: 'The disk is full' },
    async handle({ query, request }) {
      const available = requireFiles(files)
      return { success: true, file_size: await available.write(query.path, await fileOf(request)) }
    },
  }),
]

async function fileOf(request: Request): Promise<Uint8Array> {
  const bytes = await readBytes(request, MAX_BYTES)
  const form = await new Response(bytes, {
    headers: { 'content-type': request.headers.get('content-type') ?? '' },
  })
    .formData()
    .catch(() => null)
  const file = form?.get('file') ?? null
  if (file === null || typeof file === 'string')
    throw new HttpProblem(400, 'The body must be multipart/form-data with a file in the field `file`.')
  return new Uint8Array(await file.arrayBuffer())
}

const SCOPED = /^\/api\/(?:bash|git|vscode)\/|^\/api\/file\/(?:upload|download)$/
const BASE = '/api/conversations/{conversation_id}'
const OUTSIDE = { 422: 'The path is outside of the conversation’s folder' }

async function folderOf(
  sandboxes: Pick<Sandboxes, 'files' | 'state'>,
  record: ConversationRecord,
): Promise<string | null> {
  const { sandbox_id: sandboxId } = appOf(record)
  if (sandboxId !== null) return (await sandboxes.state(sandboxId)).working_dir
  const { workspace } = record.metadata
  const { files } = sandboxes
  const folder = isObject(workspace) ? textAt(workspace, 'working_dir') : null
  return folder !== null && files !== null && folder.startsWith(`${files.home}/`) ? folder : null
}

/** Creates the conversation's folder. The promise rejects only if the store fails. */
export async function makeFolder(sandboxes: Sandboxes, record: ConversationRecord): Promise<void> {
  const folder = await folderOf(sandboxes, record)
  if (folder !== null) await sandboxes.files?.makeFolder(folder).catch(() => undefined)
}

export function scopedOperations(
  store: Store,
  sandboxes: Sandboxes,
  operations: readonly Operation[],
): Operation[] {
  const scope = async (conversationId: string): Promise<Folder> => {
    const record = await getConversationOr404(store, conversationId)
    const files = requireFiles(sandboxes.files)
    const folder = await folderOf(sandboxes, record)
    if (folder === null) throw new HttpProblem(404, 'The conversation has no working directory in a sandbox.')
    await files.makeFolder(folder)
    return { incarnation: `${record.id} ${incarnationOf(record)}`, files, folder }
  }
  const bind = ({ handle, path: route, query = {} }: Operation, conversationId: string) => {
    const bound: Operation['handle'] = async (input) => {
      // The editor's status needs no files.
      if (route === '/api/vscode/status') return handle(input)
      const scoped = await scope(conversationId)
      const inside = (path: unknown, loc: string[]): Promise<string> => pathIn(scoped, path, loc)
      const value = input.query as Readonly<Record<string, unknown>>
      const changed = {
        ...('path' in query && { path: await inside(value['path'], ['query', 'path']) }),
        ...('workspace_dir' in query && {
          workspace_dir: await inside(chosenFolder(value['workspace_dir']), ['query', 'workspace_dir']),
        }),
      }
      const body =
        route.startsWith('/api/bash/') && isObject(input.body as never)
          ? {
              ...(input.body as object),
              cwd: await inside((input.body as { readonly cwd?: unknown }).cwd, ['body', 'cwd']),
            }
          : input.body
      return handle({
        ...input,
        body,
        query: { ...value, ...changed },
        path: { ...input.path, conversation_id: scoped.incarnation },
      })
    }
    return bound
  }
  const scopable = operations.filter(({ path }) => SCOPED.test(path))
  return [
    ...operations.map((one): Operation => {
      if (!SCOPED.test(one.path)) return one
      return {
        ...one,
        query: { ...one.query, ...pathParameter(one), cid: optional(text()) },
        otherwise: { ...one.otherwise, ...OUTSIDE },
        handle(input) {
          const { cid, ...query } = input.query as { readonly cid: string | null; readonly path?: string }
          if (cid !== null) return bind(one, cid)({ ...input, query })
          if (query.path === '')
            throw invalid({ type: 'missing', loc: ['query', 'path'], msg: 'Field required', input: null })
          return one.handle({ ...input, query })
        },
      }
    }),
    ...scopable.map((one): Operation => ({
      ...one,
      path: one.path.replace('/api', BASE),
      operationId: `conversation_${one.operationId}`,
      params: { conversation_id: text(), ...one.params },
      query: { ...one.query, ...pathParameter(one) },
      otherwise: { ...one.otherwise, ...REFUSED, ...OUTSIDE },
      handle: (input) => bind(one, String(input.path['conversation_id']))(input),
    })),
    operation(`post ${BASE}/file/create_directory`, {
      operationId: 'conversation_create_directory',
      tag: 'Files',
      summary: 'Create Directory In The Folder Of A Conversation',
      query: { path: text() },
      otherwise: { ...REFUSED, ...OUTSIDE },
      async handle({ path, query }) {
        const folder = await scope(path.conversation_id)
        await folder.files.makeFolder(await pathIn(folder, query.path, ['query', 'path']))
      },
    }),
  ]
}

/** Replaces the editor's default folder by the empty path, which means the conversation's folder. */
const chosenFolder = (folder: unknown): unknown => (folder === EDITOR_FOLDER ? '' : folder)

interface Folder {
  /** Separates the conversation's history from the history of a later conversation with the same id. */
  readonly incarnation: string
  readonly files: SandboxFiles
  readonly folder: string
}

const pathParameter = ({ query = {} }: Operation) =>
  'path' in query ? { path: withDefault(text(), '') } : {}

const isInside = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`)

async function pathIn({ files, folder }: Folder, path: unknown, loc: string[]): Promise<string> {
  if (typeof path !== 'string' || path === '') return folder
  const isDirect = path.startsWith('/') && !path.split('/').includes('..') && isInside(path, folder)
  // A symbolic link may lead to another conversation's folder.
  if (isDirect && isInside(await files.resolve(path), await files.resolve(folder))) return path
  throw invalidValue(loc, 'the path must be absolute and inside the conversation’s folder', path)
}
