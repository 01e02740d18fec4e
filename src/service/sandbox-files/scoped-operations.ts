/**
 * File, git, command and editor operations for one conversation: below its path, or with `?cid=`. Paths
 * default to its folder and stay inside.
 */

import { isObject, textAt } from '../../event/json.ts'
import type { ConversationRecord } from '../../store/contract/conversation-record.ts'
import type { Store } from '../../store/contract/store.ts'
import { appOf } from '../control-plane/app-metadata.ts'
import type { Sandboxes } from '../control-plane/sandboxes.ts'
import { getConversationOr404 } from '../conversations/find-conversation.ts'
import { SUCCESS, SUCCESS_SCHEMA } from '../conversations/info.ts'
import { type Operation, operation } from '../http/operation.ts'
import { optional, text, withDefault } from '../http/parameters.ts'
import { HttpProblem, invalid } from '../http/problem.ts'
import { REFUSED, requireFiles, type SandboxFiles } from './contract.ts'

const SCOPED = /^\/api\/(?:bash|git|vscode)\/|^\/api\/file\/(?:upload|download)$/
const BASE = '/api/conversations/{conversation_id}'
const OUTSIDE = { 422: { description: 'The path is outside of the conversation’s folder' } }

/** The folder of a conversation: its sandbox's, or its workspace below the folder of the sandboxes; null for neither. */
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

/** Creates the folder of a conversation, if that is below the folder of the sandboxes. Never rejects. */
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
    return { id: record.id, files, folder }
  }
  const bind = ({ handle, path: route, query = {} }: Operation, conversationId: string) => {
    const bound: Operation['handle'] = async (input) => {
      // The editor's URL needs no files.
      if (route === '/api/vscode/status') return handle(input)
      const { id, files, folder } = await scope(conversationId)
      const inside = (path: unknown, loc: string[]): Promise<string> =>
        pathIn({ id, files, folder }, path, loc)
      const value = input.query as Readonly<Record<string, unknown>>
      const changed = {
        ...('path' in query && { path: await inside(value['path'], ['query', 'path']) }),
        ...('workspace_dir' in query && { workspace_dir: folder }),
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
        path: { ...input.path, conversation_id: id },
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
        replies: { ...one.replies, ...OUTSIDE },
        handle(input) {
          const { cid, ...query } = input.query as { readonly cid: string | null; readonly path?: string }
          if (cid !== null) return bind(one, cid)({ ...input, query })
          if (query.path === '') throw missingPath()
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
      replies: { ...one.replies, ...REFUSED, ...OUTSIDE },
      handle: (input) => bind(one, String(input.path['conversation_id']))(input),
    })),
    operation(
      `post ${BASE}/file/create_directory`,
      {
        operationId: 'conversation_create_directory',
        tag: 'Files',
        summary: 'Create Directory In The Folder Of A Conversation',
        query: { path: text() },
        replies: { 200: { description: 'Created', schema: SUCCESS_SCHEMA }, ...REFUSED, ...OUTSIDE },
      },
      async ({ path, query }) => {
        const folder = await scope(path.conversation_id)
        await folder.files.makeFolder(await pathIn(folder, query.path, ['query', 'path']))
        return { body: SUCCESS }
      },
    ),
  ]
}

interface Folder {
  readonly id: string
  readonly files: SandboxFiles
  readonly folder: string
}

/** A path may be omitted where a conversation has a folder. */
const pathParameter = ({ query = {} }: Operation) =>
  'path' in query ? { path: withDefault(text(), '') } : {}

const missingPath = (): HttpProblem =>
  invalid({ type: 'missing', loc: ['query', 'path'], msg: 'Field required', input: null })

const isInside = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`)

/** The path, by default the folder. @throws HttpProblem 422 for a relative path, and for one outside. */
async function pathIn({ files, folder }: Folder, path: unknown, loc: string[]): Promise<string> {
  if (typeof path !== 'string' || path === '') return folder
  const isDirect = path.startsWith('/') && !path.split('/').includes('..') && isInside(path, folder)
  // A symbolic link may lead to another conversation's folder.
  if (isDirect && isInside(await files.resolve(path), await files.resolve(folder))) return path
  throw invalid({
    type: 'value_error',
    loc,
    msg: 'Value error, the path must be absolute and inside the conversation’s folder',
    input: path,
  })
}
