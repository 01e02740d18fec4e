/**
 * What the product of the published interface has lists of, and a service of conversations has not: each is an empty
 * list, so that pages which ask for it show none. What there is no payload for anywhere says so with 501.
 */

import { type Operation, operation } from '../http/operation.ts'
import { HttpProblem } from '../http/problem.ts'

type Method = 'get' | 'post' | 'patch' | 'delete'

const PAGE = { items: [], next_page_id: null } as const

/** Method, path, and what is there. */
const EMPTY: readonly (readonly [method: Method, path: string, body: object])[] = [
  ['post', '/api/skills', { skills: [], sources: {} }],
  ['post', '/api/skills/sync', { status: 'success', message: 'There are no public skills here.' }],
  ['get', '/api/skills/installed', { skills: [] }],
  ['get', '/api/skills/marketplace', { skills: [] }],
  ['post', '/api/sub-agents', { agents: [] }],
  ['post', '/api/plugins', { plugins: [] }],
  ['get', '/api/plugins/installed', { plugins: [] }],
  ['get', '/api/plugins/marketplace', { plugins: [] }],
  ['post', '/api/hooks', { hook_config: null }],
  ['get', '/api/tools/', []],
  ['get', '/api/meta-profiles', { meta_profiles: [], active_meta_profile: null }],
  ['get', '/api/llm/models/verified', { models: {} }],
  ['get', '/api/llm/subscription/openai/models', { models: [], vendor: 'openai' }],
  ['get', '/api/llm/subscription/openai/status', { connected: false, vendor: 'openai' }],
  ['get', '/api/desktop/url', { url: null }],
  ['get', '/api/v1/skills/search', PAGE],
  ['get', '/api/v1/git/repositories/search', PAGE],
  ['get', '/api/v1/git/installations/search', PAGE],
  ['get', '/api/v1/git/branches/search', PAGE],
  ['get', '/api/v1/git/suggested-tasks/search', PAGE],
  ['get', '/api/automation/v1', { automations: [], total: 0 }],
]

const NO_EXTENSIONS =
  'Canvas Extensions are named in the published interface and described nowhere: there is nothing here to install, list or refresh.'
const NO_MANAGED_KEYS =
  'This service has no managed model keys: what a refresh of one would give is described nowhere.'

const ABSENT: readonly (readonly [method: Method, path: string, why: string])[] = [
  ['get', '/api/canvas-extensions/manifest', NO_EXTENSIONS],
  ['get', '/api/canvas-extensions/installed', NO_EXTENSIONS],
  ['post', '/api/canvas-extensions/install', NO_EXTENSIONS],
  ['post', '/api/canvas-extensions/refresh/check', NO_EXTENSIONS],
  ['post', '/api/canvas-extensions/refresh/apply', NO_EXTENSIONS],
  ['post', '/api/keys/llm/managed/refresh', NO_MANAGED_KEYS],
]

const nameOf = (method: Method, path: string): string =>
  `${method}${path.replaceAll(/\W+/g, '_').replace(/_$/, '')}`

const summaryOf = (path: string): string =>
  path
    .replace(/^\/api\/(?:v1\/)?/, '')
    .replaceAll(/\W+/g, ' ')
    .trim()

/** All of them. */
export const catalogueOperations = (): Operation[] => [
  ...EMPTY.map(([method, path, body]) =>
    operation(
      {
        method,
        path,
        operationId: nameOf(method, path),
        tag: 'Catalogues',
        summary: `None: ${summaryOf(path)}`,
        replies: {
          200: {
            description: 'There are none here',
            schema: { type: Array.isArray(body) ? 'array' : 'object' },
          },
        },
      },
      () => ({ body }),
    ),
  ),
  ...ABSENT.map(([method, path, why]) =>
    operation(
      {
        method,
        path,
        operationId: nameOf(method, path),
        tag: 'Catalogues',
        summary: `Not here: ${summaryOf(path)}`,
        replies: { 501: { description: why } },
      },
      () => {
        throw new HttpProblem(501, why)
      },
    ),
  ),
]
