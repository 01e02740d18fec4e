/** The files of the sandbox that a conversation lives in, by paths below its folder. */

import { getConversationOr404 } from '../../conversations/find.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { optional, text, withDefault } from '../../http/parameters.ts'
import { HttpProblem } from '../../http/problem.ts'
import type { SandboxFiles } from '../../sandbox-files/contract.ts'
import { MOST_BYTES, REFUSED, required } from '../../sandbox-files/files.ts'
import { changesOf, checkRef, diffOf } from '../../sandbox-files/git.ts'
import { CHANGES, DIFF } from '../../sandbox-files/git-operations.ts'
import type { ControlPlane } from '../control-plane.ts'
import { listOf, objectOf } from '../replies.ts'
import { appOf } from './metadata.ts'

const tag = 'Files'
const params = { conversation_id: text() }
const BASE = '/api/v1/app-conversations/{conversation_id}'
const string = { type: 'string' } as const

/** The files, and the absolute path of one of a conversation. @throws HttpProblem 403, 404. */
async function placeOf(
  { store, sandboxes }: ControlPlane,
  id: string,
  path: string,
): Promise<{ readonly files: SandboxFiles; readonly path: string }> {
  const files = required(sandboxes.files)
  const { sandbox_id: sandboxId } = appOf(await getConversationOr404(store, id))
  const folder = sandboxId === null ? null : (await sandboxes.state(sandboxId)).working_dir
  if (folder === null) throw new HttpProblem(404, 'The conversation lives in no sandbox that has files.')
  return { files, path: path.startsWith('/') ? path : `${folder}/${path}` }
}

export const conversationFileOperations = (plane: ControlPlane): Operation[] => [
  operation(
    {
      method: 'get',
      path: `${BASE}/files`,
      operationId: 'list_files_api_v1_app_conversations__conversation_id__files_get',
      tag,
      summary: 'List Files',
      params,
      query: { path: withDefault(text(), '') },
      replies: {
        200: {
          description: 'What is in a folder of its sandbox, by name',
          schema: objectOf({
            items: listOf(
              objectOf({
                name: string,
                path: string,
                is_directory: { type: 'boolean' },
                size: { type: 'integer' },
              }),
            ),
          }),
        },
        ...REFUSED,
      },
    },
    async ({ path, query }) => {
      const place = await placeOf(plane, path.conversation_id, query.path)
      return { body: { items: await place.files.list(place.path) } }
    },
  ),
  operation(
    {
      method: 'get',
      path: `${BASE}/file`,
      operationId: 'read_file_api_v1_app_conversations__conversation_id__file_get',
      tag,
      summary: 'Read File',
      params,
      query: { file_path: withDefault(text(), 'PLAN.md') },
      replies: {
        200: { description: 'Its text', mediaType: 'text/plain', schema: string },
        ...REFUSED,
        413: { description: 'It is too large' },
      },
    },
    async ({ path, query }) => {
      const place = await placeOf(plane, path.conversation_id, query.file_path)
      const bytes = await place.files.read(place.path, MOST_BYTES)
      return new Response(bytes, { headers: { 'content-type': 'text/plain; charset=utf-8' } })
    },
  ),
  operation(
    {
      method: 'get',
      path: `${BASE}/git/changes`,
      operationId: 'git_changes_api_v1_app_conversations__conversation_id__git_changes_get',
      tag,
      summary: 'Git Changes',
      params,
      query: { path: withDefault(text(), ''), ref: optional(text()) },
      replies: { 200: { description: 'By path', schema: CHANGES }, ...REFUSED },
    },
    async ({ path, query }) => {
      const place = await placeOf(plane, path.conversation_id, query.path)
      return {
        body: await changesOf(place.files, place.path, query.ref === null ? null : checkRef(query.ref)),
      }
    },
  ),
  operation(
    {
      method: 'get',
      path: `${BASE}/git/diff`,
      operationId: 'git_diff_api_v1_app_conversations__conversation_id__git_diff_get',
      tag,
      summary: 'Git Diff',
      params,
      query: { path: text(), ref: optional(text()) },
      replies: {
        200: { description: 'A file as it is and as it was', schema: DIFF },
        ...REFUSED,
        413: { description: 'It is too large' },
      },
    },
    async ({ path, query }) => {
      const place = await placeOf(plane, path.conversation_id, query.path)
      const given = { ref: query.ref === null ? null : checkRef(query.ref), commit: null }
      return { body: await diffOf(place.files, place.path, given, MOST_BYTES) }
    },
  ),
]
