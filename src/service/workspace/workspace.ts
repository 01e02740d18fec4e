/** The operations that make directories in the folder that a service may touch, and nowhere else. */

import { type Operation, operation } from '../http/operation.ts'
import { text } from '../http/parameters.ts'
import { HttpProblem } from '../http/problem.ts'
import { SUCCESS, SUCCESS_SCHEMA } from '../conversations/info.ts'

/** The files that a service may touch. */
export interface Workspace {
  /**
   * Makes a directory and those above it; one that is there is fine. @throws HttpProblem 400, 403 for what is outside.
   */
  readonly createDirectory: (path: string) => Promise<void>
}

/** Without a workspace, every path is refused. */
export const workspaceOperations = (workspace: Workspace | null): Operation[] =>
  ['/api/file/create_directory', '/file/create_directory'].map((path) =>
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
          409: { description: 'The path was changed meanwhile' },
          507: { description: 'The disk is full' },
        },
      },
      async ({ query }) => {
        if (workspace === null) throw new HttpProblem(403, 'This service was made without a workspace.')
        await workspace.createDirectory(query.path)
        return { body: SUCCESS }
      },
    ),
  )
