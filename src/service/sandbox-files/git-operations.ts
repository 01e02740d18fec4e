/** The git of a sandbox's folder: what has changed, and the commits that there are. */

import type { JsonObject } from '../../event/shapes.ts'
import { listOf, maybe, objectOf } from '../http/json-schema.ts'
import { type Operation, operation } from '../http/operation.ts'
import { integer, optional, type Parameter, text, withDefault } from '../http/parameters.ts'
import { HttpProblem } from '../http/problem.ts'
import type { SandboxFiles } from './contract.ts'
import { MOST_BYTES, REFUSED, required } from './files.ts'
import { changesInCommit, changesOf, checkRef, commitsOf, diffOf } from './git.ts'

const tag = 'Git'
const string: JsonObject = { type: 'string' }

export const CHANGES = listOf(
  objectOf({ status: { type: 'string', enum: ['MOVED', 'ADDED', 'DELETED', 'UPDATED'] }, path: string }),
)
export const DIFF = objectOf({ modified: maybe(string), original: maybe(string) })
const COMMIT = objectOf({
  sha: string,
  short_sha: string,
  subject: string,
  author: string,
  timestamp: string,
})

const sha: Parameter<string> = {
  schema: { type: 'string', pattern: '^[0-9a-fA-F]{4,64}$' },
  required: true,
  read(given) {
    const [value = ''] = given
    if (/^[0-9a-f]{4,64}$/i.test(value)) return { value }
    return { wrong: { type: 'string_pattern_mismatch', msg: 'Must be 4 to 64 hexadecimal digits' } }
  },
}

export const gitOperations = (files: SandboxFiles | null): Operation[] => [
  operation(
    {
      method: 'get',
      path: '/api/git/changes',
      operationId: 'git_changes_query_api_git_changes_get',
      tag,
      summary: 'Git Changes',
      query: { path: text(), ref: optional(text()) },
      replies: {
        200: { description: 'By path; none where there is no repository', schema: CHANGES },
        ...REFUSED,
      },
    },
    async ({ query: { path, ref } }) => ({
      body: await changesOf(required(files), path, ref === null ? null : checkRef(ref)),
    }),
  ),
  operation(
    {
      method: 'get',
      path: '/api/git/diff',
      operationId: 'git_diff_query_api_git_diff_get',
      tag,
      summary: 'Git Diff',
      query: { path: text(), ref: optional(text()), commit: optional(sha) },
      replies: {
        200: { description: 'A file as it is and as it was; null where there is none', schema: DIFF },
        ...REFUSED,
        413: { description: 'The file is too large' },
      },
    },
    async ({ query: { path, ref, commit } }) => {
      if (ref !== null && commit !== null)
        throw new HttpProblem(400, 'Give a revision or a commit, not both.')
      const given = { ref: ref === null ? null : checkRef(ref), commit }
      return { body: await diffOf(required(files), path, given, MOST_BYTES) }
    },
  ),
  operation(
    {
      method: 'get',
      path: '/api/git/commits',
      operationId: 'git_commits_query_api_git_commits_get',
      tag,
      summary: 'Git Commits',
      query: { path: text(), limit: withDefault(integer({ least: 1, most: 200 }), 50) },
      replies: {
        200: {
          description: 'The latest first; none where there is no repository',
          schema: objectOf({ commits: listOf(COMMIT), has_more: { type: 'boolean' } }),
        },
        ...REFUSED,
      },
    },
    async ({ query: { path, limit } }) => ({ body: await commitsOf(required(files), path, limit) }),
  ),
  operation(
    {
      method: 'get',
      path: '/api/git/commits/{sha}/changes',
      operationId: 'git_commit_changes_query_api_git_commits__sha__changes_get',
      tag,
      summary: 'Git Commit Changes',
      params: { sha },
      query: { path: text() },
      replies: { 200: { description: 'What the commit has changed', schema: CHANGES }, ...REFUSED },
    },
    async ({ path, query }) => ({ body: await changesInCommit(required(files), query.path, path.sha) }),
  ),
]
