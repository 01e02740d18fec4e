/**
 * Upstream's feature map of an agent server (F01 to F34, October 2026): a request, its status, and a second
 * view. `differs` explains an intended difference; UNTESTED, an untested feature.
 */

import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Step } from '../../src/conversation/run/step.ts'
import { stuckDetector } from '../../src/context/stuck.ts'
import { processSandboxes } from '../../src/service/node/process-sandboxes.ts'
import { directoryExtensions } from '../../src/service/node/canvas-extensions.ts'
import { directoryWorkspace } from '../../src/service/node/workspace.ts'
import { type ScriptedReply, scriptedAgent } from './scripted-agent.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { type Client, clientOver } from './client.ts'
import { folder } from './sandbox-commands.ts'

interface More {
  /** The request body; a string is sent as a file. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** The response contains this. */
  readonly has?: unknown
  /** The response does not contain this text. */
  readonly lacks?: string
  /** Further requests, and what they soon return. */
  readonly views?: Readonly<Record<string, unknown>>
  /** Stores a field of the response as a variable. */
  readonly save?: readonly [name: string, field: string]
  readonly differs?: string
}

/** Method suffix: `!` sends no key, `?` a wrong one. */
type Row = readonly [feature: string, request: string, status: number, more?: More]

const CALL: ScriptedReply = { calls: [{ tool: 'echo', arguments: { a: 1 } }] }
const risk = (security_risk: 'LOW' | 'HIGH'): ScriptedReply => ({ calls: [{ tool: 'echo', security_risk }] })
const SCRIPTS: Readonly<Record<string, readonly ScriptedReply[]>> = {
  answer: ['The answer.'],
  call: [CALL, 'Done.'],
  finish: [{ calls: [{ tool: 'finish', arguments: { message: 'All done.' } }] }],
  risky: [risk('LOW'), risk('HIGH'), 'Done.'],
  loop: Array.from({ length: 40 }, () => CALL),
}
const hang: Step = async function* ({ signal }) {
  await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  yield []
}
const fail: Step = () => {
  throw new Error('The provider is unreachable.')
}

const C = '/api/conversations'
const UNKNOWN = '00000000-0000-4000-8000-000000000000'
const say = (text: string, more: object = {}) => ({
  role: 'user',
  content: [{ type: 'text', text }],
  ...more,
})
const scripted = (script: string, more: object = {}) => ({ agent: { kind: 'Agent', script }, ...more })
const started = (script: string, more: object = {}) =>
  scripted(script, { initial_message: say('Begin', { run: true }), ...more })
const status = (execution_status: string) => ({ execution_status })

const STATUS: readonly Row[] = [
  [
    'F01.alive',
    'GET! /alive',
    200,
    { has: { status: 'ok' }, views: { 'GET! /api/conversations/count': 401 } },
  ],
  ['F01.health', 'GET! /health', 200, { has: { status: 'ok' } }],
  ['F01.ready', 'GET! /ready', 200, { has: { status: 'ready' } }],
  [
    'F01.server-info',
    'GET! /server_info',
    200,
    {
      has: {
        conversation_runtime: 'local',
        capabilities: ['idempotent_conversation_create_v1', 'conversation_runtime_routes_v1'],
      },
    },
  ],
  ['F01.root-info', 'GET! /', 200, { views: { 'GET! /server_info': { conversation_runtime: 'local' } } }],
  [
    'F01.openapi',
    'GET! /openapi.json',
    200,
    {
      has: { paths: { '/api/conversations/{conversation_id}/pause': {} } },
      lacks: '"/sockets/events/{conversation_id}"',
    },
  ],
]

const AUTH: readonly Row[] = [
  ['F02.http-key-required', `GET! ${C}/count`, 401, { has: { detail: expect.any(String) } }],
  ['F02.http-key-required', `GET? ${C}/count`, 401, { views: { [`GET ${C}/count`]: expect.any(Number) } }],
  ['F02.http-header-only', `GET! ${C}/count?session_api_key=k`, 401],
  ['F02.http-header-only', `GET! ${C}/count`, 401, { headers: { cookie: 'oh_workspace_session_key=k' } }],
  [
    'F02.http-header-only',
    `GET! ${C}/count`,
    200,
    { headers: { authorization: 'Bearer k' }, differs: 'a bearer token is a key here, too' },
  ],
  ['F02.multiple-keys', `GET! ${C}/count`, 200, { headers: { 'x-session-api-key': 'second' } }],
]

const LIFECYCLE: readonly Row[] = [
  [
    'F04.create-settings',
    `POST ${C}`,
    201,
    {
      body: { agent_settings: { llm: { model: 'm', api_key: 'sk-hidden-1' } }, tags: { qa: 'f4' } },
      has: { execution_status: 'idle', tags: { qa: 'f4' } },
      lacks: 'sk-hidden-1',
      save: ['A', 'id'],
      views: { [`GET ${C}/{A}`]: { id: '{A}', execution_status: 'idle', title: null } },
    },
  ],
  [
    'F04.create-inline-agent',
    `POST ${C}`,
    201,
    {
      body: { agent: { llm: { model: 'm', api_key: 'sk-hidden-2' } } },
      lacks: 'sk-hidden-2',
      save: ['B', 'id'],
      views: { [`GET ${C}/{B}/events/count`]: 0 },
    },
  ],
  [
    'F04.create-validation',
    `POST ${C}`,
    422,
    { body: { tags: { 'Bad Key': 'x' } }, views: { [`GET ${C}/count`]: 2 } },
  ],
  ['F04.create-validation', `POST ${C}`, 422, { body: { max_iterations: 0 } }],
  ['F04.create-validation', `POST ${C}`, 422, { body: { max_iterations: 'many' } }],
  ['F04.create-validation', `POST ${C}`, 422, { body: { workspace: 'here' } }],
  ['F04.create-validation', `POST ${C}`, 422, { body: [] }],
  ['F04.create-validation', `POST! ${C}`, 401, { body: {}, views: { [`GET ${C}/count`]: 2 } }],
  [
    'F04.create-validation-redaction',
    `POST ${C}`,
    422,
    { body: { agent: { llm: { api_key: 'sk-hidden-3' } }, tags: 5 }, lacks: 'sk-hidden-3' },
  ],
  [
    'F04.create-idempotent',
    `POST ${C}`,
    201,
    {
      body: {
        conversation_id: '11111111-1111-4111-8111-111111111111',
        initial_message: say('Once', { run: false }),
      },
      save: ['I', 'id'],
    },
  ],
  [
    'F04.create-idempotent',
    `POST ${C}`,
    200,
    {
      body: {
        conversation_id: '11111111-1111-4111-8111-111111111111',
        initial_message: say('Once', { run: false }),
      },
      views: { [`GET ${C}/{I}/events/count?body=Once`]: 1, [`GET ${C}/count`]: 3 },
    },
  ],
  [
    'F04.create-initial-message-run-false',
    `GET ${C}/{I}`,
    200,
    { has: status('idle'), views: { [`GET ${C}/{I}/events/count?source=user`]: 1 } },
  ],
  [
    'F04.create-initial-message-run-false',
    `POST ${C}`,
    201,
    { body: started('answer'), save: ['R', 'id'], views: { [`GET ${C}/{R}`]: status('finished') } },
  ],
  [
    'F04.create-parent',
    `POST ${C}`,
    201,
    {
      body: { parent_conversation_id: '{A}' },
      save: ['K', 'id'],
      views: { [`GET ${C}/{A}`]: { sub_conversation_ids: ['{K}'] } },
    },
  ],
  ['F04.create-parent', `POST ${C}`, 422, { body: { parent_conversation_id: UNKNOWN } }],
  [
    'F04.create-secrets',
    `POST ${C}`,
    201,
    {
      body: { secrets: { TOKEN: { kind: 'StaticSecret', value: 'sk-hidden-4' } } },
      lacks: 'sk-hidden-4',
      save: ['S', 'id'],
      views: { [`GET ${C}/{S}`]: { id: '{S}' } },
    },
  ],
  [
    'F04.create-secrets-get',
    `GET ${C}/{S}`,
    200,
    { lacks: 'sk-hidden-4', differs: 'the information of a conversation does not name its secrets' },
  ],
  [
    'F04.create-secrets-plain',
    `POST ${C}`,
    201,
    { body: { secrets: { PLAIN: 'sk-hidden-5' } }, lacks: 'sk-hidden-5' },
  ],
  ['F04.create-secrets-plain', `POST ${C}`, 422, { body: { secrets: { PLAIN: 5 } } }],
  [
    'F04.run-real',
    `GET ${C}/{R}`,
    200,
    { has: status('finished'), views: { [`GET ${C}/{R}/events/count?source=agent`]: expect.any(Number) } },
  ],
  ['F04.final-response', `GET ${C}/{A}/agent_final_response`, 200, { has: { response: '' } }],
  ['F04.final-response', `GET ${C}/{R}/agent_final_response`, 200, { has: { response: 'The answer.' } }],
  ['F04.final-response', `GET ${C}/${UNKNOWN}/agent_final_response`, 404],
  [
    'F04.final-response',
    `POST ${C}`,
    201,
    {
      body: started('finish'),
      save: ['F', 'id'],
      views: { [`GET ${C}/{F}/agent_final_response`]: { response: 'All done.' } },
    },
  ],
  ['F04.get', `GET ${C}/{A}?include_skills=true`, 200, { has: { id: '{A}' } }],
  ['F04.get', `GET ${C}/${UNKNOWN}`, 404],
  ['F04.get', `GET! ${C}/{A}`, 401],
  [
    'F04.get',
    `GET ${C}/not%20an%20id`,
    404,
    { differs: 'an id is any text here, so a malformed one is unknown' },
  ],
  [
    'F04.batch-get',
    `GET ${C}?ids={A}&ids=${UNKNOWN}&ids={B}`,
    200,
    { has: [{ id: '{A}' }, null, { id: '{B}' }] },
  ],
  ['F04.batch-get', `GET ${C}`, 422],
  ['F04.batch-get-limit', `GET ${C}?${Array.from({ length: 101 }, (_, n) => `ids=${n}`).join('&')}`, 400],
  [
    'F04.search-page',
    `GET ${C}/search?limit=1`,
    200,
    { has: { next_page_id: expect.any(String) }, save: ['P', 'next_page_id'] },
  ],
  ['F04.search-page', `GET ${C}/search?limit=1&page_id={P}`, 200, { has: { items: [{}] } }],
  [
    'F04.search-page',
    `GET ${C}/search?sort_order=CREATED_AT&limit=1`,
    200,
    { has: { items: [{ id: '{A}' }] } },
  ],
  ['F04.search-page', `GET ${C}/search?limit=0`, 422],
  ['F04.search-page', `GET ${C}/search?limit=101`, 422],
  ['F04.search-page', `GET ${C}/search?sort_order=SIDEWAYS`, 422],
  [
    'F04.search-filter',
    `GET ${C}/search?status=finished`,
    200,
    { has: { items: [{ id: '{F}' }, { id: '{R}' }] }, views: { [`GET ${C}/count?status=finished`]: 2 } },
  ],
  [
    'F04.search-filter',
    `GET ${C}/search?status=sleeping`,
    422,
    { views: { [`GET ${C}/count?status=sleeping`]: 422 } },
  ],
  ['F04.count', `GET ${C}/count`, 200, { has: 8 }],
  [
    'F04.patch-title',
    `PATCH ${C}/{A}`,
    200,
    {
      body: { title: '  A title ' },
      has: { success: true },
      views: {
        [`GET ${C}/{A}`]: { title: 'A title' },
        [`GET ${C}/search?sort_order=UPDATED_AT_DESC&limit=1`]: { items: [{ id: '{A}' }] },
      },
    },
  ],
  [
    'F04.patch-tags',
    `PATCH ${C}/{A}`,
    200,
    { body: { tags: { other: 'x' } }, views: { [`GET ${C}/{A}`]: { tags: { other: 'x' } } } },
  ],
  [
    'F04.patch-errors',
    `PATCH ${C}/{A}`,
    422,
    { body: { title: '' }, views: { [`GET ${C}/{A}`]: { title: 'A title' } } },
  ],
  ['F04.patch-errors', `PATCH ${C}/{A}`, 422, { body: { title: 'x'.repeat(201) } }],
  [
    'F04.patch-errors',
    `PATCH ${C}/{A}`,
    422,
    { body: { tags: { 'Bad Key': 'x' } }, views: { [`GET ${C}/{A}`]: { tags: { other: 'x' } } } },
  ],
  [
    'F04.patch-errors',
    `PATCH! ${C}/{A}`,
    401,
    { body: { title: 'Stolen' }, views: { [`GET ${C}/{A}`]: { title: 'A title' } } },
  ],
  [
    'F04.patch-whitespace-title',
    `PATCH ${C}/{A}`,
    422,
    { body: { title: '   ' }, views: { [`GET ${C}/{A}`]: { title: 'A title' } } },
  ],
  ['F04.patch-unknown-id', `PATCH ${C}/${UNKNOWN}`, 404, { body: { title: 'x' } }],
  ['F04.delete', `DELETE! ${C}/{K}`, 401, { views: { [`GET ${C}/{K}`]: { id: '{K}' } } }],
  [
    'F04.delete',
    `DELETE ${C}/{K}`,
    200,
    {
      has: { success: true },
      views: {
        [`GET ${C}/{K}`]: 404,
        [`GET ${C}/{K}/events/search`]: 404,
        [`GET ${C}/{A}`]: { sub_conversation_ids: [] },
      },
    },
  ],
  ['F04.delete-unknown-id', `DELETE ${C}/{K}`, 404, { views: { [`DELETE ${C}/${UNKNOWN}`]: 404 } }],
]

const RUNS: readonly Row[] = [
  [
    'F05.run-queued',
    `POST ${C}/{A}/events`,
    200,
    {
      body: say('Echo me', { run: false }),
      has: { success: true },
      views: { [`GET ${C}/{A}`]: status('idle') },
    },
  ],
  [
    'F05.run-queued',
    `POST ${C}/{A}/run`,
    200,
    { has: { success: true }, views: { [`GET ${C}/{A}`]: status('finished') } },
  ],
  ['F05.run-finished-noop', `GET ${C}/{A}/events/count`, 200, { save: ['N', ''] }],
  [
    'F05.run-finished-noop',
    `POST ${C}/{A}/run`,
    200,
    { views: { [`GET ${C}/{A}/events/count`]: '{N}', [`GET ${C}/{A}`]: status('finished') } },
  ],
  [
    'F05.run-new-input',
    `POST ${C}/{A}/events`,
    200,
    { body: say('Again', { run: false }), views: { [`GET ${C}/{A}`]: status('idle') } },
  ],
  ['F05.run-new-input', `POST ${C}/{A}/run`, 200, { views: { [`GET ${C}/{A}`]: status('finished') } }],
  [
    'F05.pause-idle',
    `POST ${C}/{B}/pause`,
    200,
    {
      views: {
        [`GET ${C}/{B}`]: status('paused'),
        [`GET ${C}/{B}/events/count?kind=PauseEvent`]: 1,
        [`GET ${C}/count?status=paused`]: 1,
      },
    },
  ],
  [
    'F05.pause-repeat',
    `POST ${C}/{B}/pause`,
    200,
    { views: { [`GET ${C}/{B}/events/count?kind=PauseEvent`]: 1 } },
  ],
  ['F05.run-resume-paused', `POST ${C}/{B}/events`, 200, { body: say('Go', { run: false }) }],
  ['F05.run-resume-paused', `POST ${C}/{B}/run`, 200, { views: { [`GET ${C}/{B}`]: status('finished') } }],
  ['F05.interrupt-idle', `POST ${C}/{S}/interrupt`, 200, { views: { [`GET ${C}/{S}`]: status('paused') } }],
  [
    'F05.run-error',
    `POST ${C}`,
    201,
    {
      body: started('fail'),
      save: ['E', 'id'],
      views: {
        [`GET ${C}/{E}`]: status('error'),
        [`GET ${C}/{E}/events/count?kind=ConversationErrorEvent`]: 1,
        [`GET ${C}/search?status=error`]: { items: [{ id: '{E}' }] },
      },
    },
  ],
  [
    'F05.pause-terminal',
    `POST ${C}/{A}/pause`,
    200,
    { views: { [`GET ${C}/{A}`]: status('finished'), [`GET ${C}/{A}/events/count?kind=PauseEvent`]: 0 } },
  ],
  ['F05.pause-terminal', `POST ${C}/{E}/interrupt`, 200, { views: { [`GET ${C}/{E}`]: status('error') } }],
  [
    'F05.run-error-responsive',
    `POST ${C}/{E}/run`,
    200,
    { views: { 'GET! /alive': { status: 'ok' }, [`GET ${C}/{E}`]: status('error') } },
  ],
  ['F05.unknown-id-run', `POST ${C}/${UNKNOWN}/run`, 404],
  ['F05.unknown-id-pause', `POST ${C}/${UNKNOWN}/pause`, 404],
  ['F05.unknown-id-pause', `POST ${C}/${UNKNOWN}/interrupt`, 404],
  ['F05.control-errors', `POST! ${C}/{I}/run`, 401],
  ['F05.control-errors', `POST? ${C}/{I}/pause`, 401, { views: { [`GET ${C}/{I}`]: status('idle') } }],
  [
    'F05.control-errors',
    `POST! ${C}/{I}/interrupt`,
    401,
    { views: { [`GET ${C}/{I}/events/count?kind=PauseEvent`]: 0 } },
  ],
  [
    'F05.interrupt-running',
    `POST ${C}`,
    201,
    { body: started('hang'), save: ['H', 'id'], views: { [`GET ${C}/{H}`]: status('running') } },
  ],
  [
    'F05.run-conflict',
    `POST ${C}/{H}/run`,
    409,
    {
      has: { detail: expect.any(String) },
      views: { [`GET ${C}/{H}`]: status('running') },
    },
  ],
  [
    'F05.pause-running',
    `POST ${C}/{H}/pause`,
    200,
    {
      views: {
        [`GET ${C}/{H}/events/count?kind=PauseEvent`]: 1,
        [`GET ${C}/search?status=paused`]: {
          items: expect.arrayContaining([expect.objectContaining({ id: '{H}' })]),
        },
      },
    },
  ],
  ['F05.pause-running', `POST ${C}/{H}/run`, 409],
  ['F05.pause-running-get', `GET ${C}/{H}`, 200, { has: status('paused') }],
  [
    'F05.pause-running-release',
    `POST ${C}/{H}/interrupt`,
    200,
    { views: { [`GET ${C}/{H}`]: status('paused'), [`GET ${C}/{H}/events/count?kind=InterruptEvent`]: 1 } },
  ],
  ['F05.run-after-interrupt', `POST ${C}/{H}/run`, 200, { views: { [`GET ${C}/{H}`]: status('running') } }],
  [
    'F05.interrupt-running',
    `POST ${C}/{H}/interrupt`,
    200,
    { views: { [`GET ${C}/{H}`]: status('paused'), [`GET ${C}/{H}/events/count?kind=InterruptEvent`]: 2 } },
  ],
  [
    'F05.stuck-detected',
    `POST ${C}`,
    201,
    {
      body: started('loop'),
      save: ['L', 'id'],
      views: {
        [`GET ${C}/{L}`]: status('stuck'),
        [`GET ${C}/count?status=stuck`]: 1,
        [`GET ${C}/{L}/events/count?kind=ConversationErrorEvent`]: 0,
      },
    },
  ],
  ['F05.stuck-rerun', `POST ${C}/{L}/run`, 200, { views: { [`GET ${C}/{L}`]: status('stuck') } }],
  [
    'F05.stuck-new-input',
    `POST ${C}/{L}/events`,
    200,
    { body: say('Something else', { run: false }), views: { [`GET ${C}/{L}`]: status('idle') } },
  ],
  [
    'F05.max-iterations-stop',
    `POST ${C}`,
    201,
    {
      body: started('loop', { max_iterations: 2 }),
      save: ['M', 'id'],
      has: { max_iterations: 2 },
      views: {
        [`GET ${C}/{M}`]: status('error'),
        [`GET ${C}/{M}/events/count?kind=ConversationErrorEvent`]: 1,
        [`GET ${C}/{M}/events/count?kind=ActionEvent`]: 2,
      },
    },
  ],
  [
    'F05.max-iterations-resume',
    `POST ${C}/{M}/run`,
    200,
    {
      views: {
        [`GET ${C}/{M}/events/count?kind=ConversationErrorEvent`]: 2,
        [`GET ${C}/{M}/events/count?kind=ActionEvent`]: 4,
      },
    },
  ],
]

const EVENTS: readonly Row[] = [
  ['F06.send-no-run', `POST ${C}`, 201, { body: {}, save: ['V', 'id'] }],
  [
    'F06.send-no-run',
    `POST ${C}/{V}/events`,
    200,
    {
      body: say('First apple', { run: false }),
      has: { success: true },
      views: { [`GET ${C}/{V}`]: status('idle'), [`GET ${C}/{V}/events/count?kind=MessageEvent`]: 1 },
    },
  ],
  [
    'F06.send-no-run',
    `POST ${C}/{V}/events`,
    200,
    {
      body: { content: [{ type: 'text', text: 'Second pear' }] },
      views: { [`GET ${C}/{V}/events/count?source=user`]: 2 },
    },
  ],
  [
    'F06.search-page',
    `GET ${C}/{V}/events/search?kind=MessageEvent&limit=1`,
    200,
    {
      has: { items: [{ kind: 'MessageEvent', source: 'user' }], next_page_id: expect.any(String) },
      save: ['PV', 'next_page_id'],
    },
  ],
  [
    'F06.search-page',
    `GET ${C}/{V}/events/search?kind=MessageEvent&limit=1&page_id={PV}`,
    200,
    { has: { items: [{ llm_message: { content: [{ text: 'Second pear' }] } }], next_page_id: null } },
  ],
  [
    'F06.search-page',
    `GET ${C}/{V}/events/search?kind=MessageEvent&sort_order=TIMESTAMP_DESC`,
    200,
    {
      has: {
        items: [
          { llm_message: { content: [{ text: 'Second pear' }] } },
          { llm_message: { content: [{ text: 'First apple' }] } },
        ],
      },
    },
  ],
  [
    'F06.search-page',
    `GET ${C}/{V}/events/search?page_id=unknown`,
    422,
    { differs: 'an invalid cursor is rejected and does not mean the beginning' },
  ],
  [
    'F06.search-validation',
    `GET ${C}/{V}/events/search?limit=0`,
    422,
    { has: { detail: [{ loc: ['query', 'limit'] }] } },
  ],
  ['F06.search-validation', `GET ${C}/{V}/events/search?limit=101`, 422],
  ['F06.search-validation', `GET ${C}/{V}/events/search?limit=100`, 200],
  [
    'F06.search-validation',
    `GET ${C}/{V}/events/search?sort_order=bogus`,
    422,
    { has: { detail: [{ loc: ['query', 'sort_order'] }] } },
  ],
  [
    'F06.search-validation',
    `GET ${C}/{V}/events/search?timestamp__gte=not-a-date`,
    422,
    { has: { detail: [{ loc: ['query', 'timestamp__gte'] }] } },
  ],
  [
    'F06.search-filters',
    `GET ${C}/{V}/events/search?body=PEAR`,
    200,
    { has: { items: [{ source: 'user' }] } },
  ],
  [
    'F06.search-filters',
    `GET ${C}/{V}/events/search?body=APPLE&source=user`,
    200,
    { has: { items: [{ kind: 'MessageEvent' }] } },
  ],
  [
    'F06.search-filters',
    `GET ${C}/{V}/events/search?kind=openhands.sdk.event.llm_convertible.message.MessageEvent&source=user`,
    200,
    { has: { items: [{}, {}] } },
  ],
  [
    'F06.search-filters',
    `GET ${C}/{V}/events/search?source=nonsense`,
    422,
    { differs: 'an unknown source is an error' },
  ],
  [
    'F06.search-kind-short',
    `GET ${C}/{V}/events/search?kind=MessageEvent`,
    200,
    { has: { items: [{ kind: 'MessageEvent' }, { kind: 'MessageEvent' }] }, save: ['W', 'items.1'] },
  ],
  [
    'F06.search-time-window',
    `GET ${C}/{V}/events/count?kind=MessageEvent&timestamp__gte=2000-01-01T00:00:00Z`,
    200,
    {
      has: 2,
      views: { [`GET ${C}/{V}/events/count?kind=MessageEvent&timestamp__lt=2000-01-01T00:00:00Z`]: 0 },
    },
  ],
  [
    'F06.search-time-window',
    `GET ${C}/{V}/events/count?kind=MessageEvent&timestamp__gte=2999-01-01T00:00:00%2B02:00`,
    200,
    { has: 0 },
  ],
  ['F06.count', `GET ${C}/{V}/events/count?source=user`, 200, { has: 2 }],
  [
    'F06.get-one',
    `GET ${C}/{V}/events/{W.id}`,
    200,
    { has: { id: '{W.id}', llm_message: { content: [{ text: 'Second pear' }] } } },
  ],
  ['F06.unknown-event', `GET ${C}/{V}/events/${UNKNOWN}`, 404],
  [
    'F06.unknown-event',
    `GET ${C}/{V}/events?id=${UNKNOWN}&id={W.id}`,
    200,
    { has: [null, { id: '{W.id}' }] },
  ],
  [
    'F06.batch-get',
    `GET ${C}/{V}/events?id={W.id}&id={W.id}`,
    200,
    { has: [{ id: '{W.id}' }, { id: '{W.id}' }], differs: 'ids are in the query: a GET has no body' },
  ],
  ['F06.batch-get', `GET ${C}/{V}/events`, 422],
  ['F06.not-found-auth', `GET ${C}/${UNKNOWN}/events/search`, 404],
  ['F06.not-found-auth', `GET ${C}/${UNKNOWN}/events/count`, 404],
  ['F06.not-found-auth', `GET ${C}/${UNKNOWN}/events/{W.id}`, 404],
  ['F06.not-found-auth', `POST ${C}/${UNKNOWN}/events`, 404, { body: say('x') }],
  ['F06.not-found-auth', `GET! ${C}/{V}/events/search`, 401],
  ['F06.not-found-auth', `GET! ${C}/{V}/events/count`, 401],
  ['F06.not-found-auth', `GET? ${C}/{V}/events/{W.id}`, 401],
  [
    'F06.not-found-auth',
    `POST! ${C}/{V}/events`,
    401,
    { body: say('x'), views: { [`GET ${C}/{V}/events/count?source=user`]: 2 } },
  ],
  [
    'F06.send-validation',
    `POST ${C}/{V}/events`,
    422,
    { views: { [`GET ${C}/{V}/events/count?source=user`]: 2 } },
  ],
  ['F06.send-validation', `POST ${C}/{V}/events`, 422, { body: { role: 'pilot', content: [] } }],
  [
    'F06.send-validation',
    `POST ${C}/{V}/events`,
    422,
    { body: { role: 'user', content: 'text' }, views: { [`GET ${C}/{V}/events/count?source=user`]: 2 } },
  ],
  [
    'F06.send-image',
    `POST ${C}/{V}/events`,
    200,
    {
      body: {
        role: 'user',
        run: false,
        content: [
          { type: 'text', text: 'Look' },
          { type: 'image', image_urls: ['data:image/png;base64,AAAA'] },
        ],
      },
      views: {
        [`GET ${C}/{V}/events/search?body=Look`]: {
          items: [{ llm_message: { content: [{}, { image_urls: ['data:image/png;base64,AAAA'] }] } }],
        },
      },
    },
  ],
  [
    'F06.send-image',
    `POST ${C}/{V}/events`,
    422,
    {
      body: { role: 'user', content: [{ type: 'image' }] },
      views: { [`GET ${C}/{V}/events/count?source=user`]: 3 },
    },
  ],
  [
    'F06.send-non-user-role',
    `POST ${C}/{V}/events`,
    422,
    {
      body: { role: 'assistant', content: [{ type: 'text', text: 'x' }] },
      views: { [`GET ${C}/{V}/events/count?source=user`]: 3 },
    },
  ],
  [
    'F06.send-run',
    `POST ${C}/{V}/events`,
    200,
    {
      body: say('Run', { run: true }),
      views: {
        [`GET ${C}/{V}`]: status('finished'),
        [`GET ${C}/{V}/events/count?kind=MessageEvent&source=agent`]: 1,
      },
    },
  ],
  [
    'F06.search-timestamp-order',
    `GET ${C}/{V}/events/search?sort_order=TIMESTAMP`,
    200,
    { has: { items: expect.any(Array) } },
  ],
  [
    'F06.send-resets-finished',
    `POST ${C}/{V}/events`,
    200,
    { body: say('More', { run: false }), views: { [`GET ${C}/{V}`]: status('idle') } },
  ],
  ['F06.send-while-running', `POST ${C}/{H}/run`, 200, { views: { [`GET ${C}/{H}`]: status('running') } }],
  [
    'F06.send-while-running',
    `POST ${C}/{H}/events`,
    200,
    {
      body: say('While it runs', { run: true }),
      views: { [`GET ${C}/{H}`]: status('running'), [`GET ${C}/{H}/events/count?body=While%20it%20runs`]: 1 },
    },
  ],
  [
    'F06.send-while-running',
    `POST ${C}/{H}/interrupt`,
    200,
    { views: { [`GET ${C}/{H}`]: status('paused') } },
  ],
]

const POLICY = (policy: object) => ({ policy })
const CONFIRMATION: readonly Row[] = [
  [
    'F08.policy-set',
    `POST ${C}/{B}/confirmation_policy`,
    200,
    {
      body: POLICY({ kind: 'AlwaysConfirm' }),
      has: { success: true },
      views: { [`GET ${C}/{B}`]: { confirmation_policy: { kind: 'AlwaysConfirm' } } },
    },
  ],
  [
    'F08.policy-set',
    `POST ${C}/{B}/confirmation_policy`,
    200,
    {
      body: POLICY({ kind: 'ConfirmRisky', threshold: 'MEDIUM', confirm_unknown: false }),
      views: {
        [`GET ${C}/{B}`]: {
          confirmation_policy: { kind: 'ConfirmRisky', threshold: 'MEDIUM', confirm_unknown: false },
        },
      },
    },
  ],
  [
    'F08.policy-set',
    `POST ${C}/{B}/confirmation_policy`,
    200,
    {
      body: POLICY({ kind: 'NeverConfirm' }),
      views: { [`GET ${C}/{B}`]: { confirmation_policy: { kind: 'NeverConfirm' } } },
    },
  ],
  [
    'F08.policy-errors',
    `POST ${C}/{B}/confirmation_policy`,
    422,
    { body: POLICY({ kind: 'SometimesConfirm' }) },
  ],
  [
    'F08.policy-errors',
    `POST ${C}/{B}/confirmation_policy`,
    422,
    { body: POLICY({ kind: 'ConfirmRisky', threshold: 'UNKNOWN' }) },
  ],
  [
    'F08.policy-errors',
    `POST ${C}/{B}/confirmation_policy`,
    422,
    { body: POLICY({ kind: 'ConfirmRisky', threshold: 'EXTREME' }) },
  ],
  ['F08.policy-errors', `POST ${C}/{B}/confirmation_policy`, 422, { body: {} }],
  ['F08.policy-errors', `POST ${C}/{B}/confirmation_policy`, 422, { body: POLICY({}) }],
  [
    'F08.policy-errors',
    `POST ${C}/${UNKNOWN}/confirmation_policy`,
    404,
    { body: POLICY({ kind: 'NeverConfirm' }) },
  ],
  [
    'F08.policy-errors',
    `POST! ${C}/{B}/confirmation_policy`,
    401,
    {
      body: POLICY({ kind: 'AlwaysConfirm' }),
      views: { [`GET ${C}/{B}`]: { confirmation_policy: { kind: 'NeverConfirm' } } },
    },
  ],
  [
    'F08.always-confirm-wait',
    `POST ${C}`,
    201,
    {
      body: started('call', { confirmation_policy: { kind: 'AlwaysConfirm' } }),
      save: ['Q', 'id'],
      views: {
        [`GET ${C}/{Q}`]: status('waiting_for_confirmation'),
        [`GET ${C}/{Q}/events/count?kind=ActionEvent`]: 1,
        [`GET ${C}/{Q}/events/count?kind=ObservationEvent`]: 0,
      },
    },
  ],
  ['F08.confirm-errors', `POST ${C}/{Q}/events/respond_to_confirmation`, 422, { body: {} }],
  ['F08.confirm-errors', `POST ${C}/{Q}/events/respond_to_confirmation`, 422, { body: { accept: 'maybe' } }],
  [
    'F08.confirm-errors',
    `POST ${C}/${UNKNOWN}/events/respond_to_confirmation`,
    404,
    { body: { accept: true } },
  ],
  [
    'F08.confirm-errors',
    `POST! ${C}/{Q}/events/respond_to_confirmation`,
    401,
    { body: { accept: true }, views: { [`GET ${C}/{Q}`]: status('waiting_for_confirmation') } },
  ],
  [
    'F08.confirm-accept',
    `POST ${C}/{Q}/events/respond_to_confirmation`,
    200,
    {
      body: { accept: true },
      views: { [`GET ${C}/{Q}`]: status('finished'), [`GET ${C}/{Q}/events/count?kind=ObservationEvent`]: 1 },
    },
  ],
  [
    'F08.confirm-reject',
    `POST ${C}`,
    201,
    {
      body: started('call', { confirmation_policy: { kind: 'AlwaysConfirm' } }),
      save: ['J', 'id'],
      views: { [`GET ${C}/{J}`]: status('waiting_for_confirmation') },
    },
  ],
  [
    'F08.confirm-reject',
    `POST ${C}/{J}/events/respond_to_confirmation`,
    200,
    {
      body: { accept: false, reason: 'Not now' },
      views: {
        [`GET ${C}/{J}`]: status('idle'),
        [`GET ${C}/{J}/events/search?kind=UserRejectObservation`]: {
          items: [{ rejection_reason: 'Not now' }],
        },
      },
    },
  ],
  [
    'F08.confirm-reject',
    `POST ${C}/{J}/events/respond_to_confirmation`,
    200,
    { body: { accept: false }, views: { [`GET ${C}/{J}/events/count?kind=UserRejectObservation`]: 1 } },
  ],
  [
    'F08.confirm-reject',
    `POST ${C}/{J}/events/respond_to_confirmation`,
    409,
    { body: { accept: true }, differs: 'no call waits, so none can be accepted; `run` continues' },
  ],
  [
    'F08.analyzer-set-clear',
    `POST ${C}/{B}/security_analyzer`,
    200,
    {
      body: { security_analyzer: { kind: 'LLMSecurityAnalyzer' } },
      views: { [`GET ${C}/{B}`]: { security_analyzer: { kind: 'LLMSecurityAnalyzer' } } },
    },
  ],
  [
    'F08.analyzer-set-clear',
    `POST ${C}/{B}/security_analyzer`,
    200,
    { body: { security_analyzer: null }, views: { [`GET ${C}/{B}`]: { security_analyzer: null } } },
  ],
  [
    'F08.analyzer-errors',
    `POST ${C}/{B}/security_analyzer`,
    422,
    { body: { security_analyzer: { kind: 'Guess' } } },
  ],
  ['F08.analyzer-errors', `POST ${C}/{B}/security_analyzer`, 422, { body: {} }],
  [
    'F08.analyzer-errors',
    `POST ${C}/${UNKNOWN}/security_analyzer`,
    404,
    { body: { security_analyzer: null } },
  ],
  [
    'F08.analyzer-errors',
    `POST! ${C}/{B}/security_analyzer`,
    401,
    { body: { security_analyzer: null }, views: { [`GET ${C}/{B}`]: { security_analyzer: null } } },
  ],
  [
    'F08.confirm-risky',
    `POST ${C}`,
    201,
    {
      body: started('risky', {
        confirmation_policy: { kind: 'ConfirmRisky', threshold: 'HIGH', confirm_unknown: true },
      }),
      save: ['Y', 'id'],
      views: {
        [`GET ${C}/{Y}`]: status('waiting_for_confirmation'),
        [`GET ${C}/{Y}/events/count?kind=ObservationEvent`]: 1,
        [`GET ${C}/{Y}/events/count?kind=ActionEvent`]: 2,
      },
    },
  ],
  [
    'F08.secrets-update',
    `POST ${C}/{B}/secrets`,
    200,
    {
      body: {
        secrets: {
          ONE: 'sk-hidden-6',
          TWO: { kind: 'StaticSecret', value: 'sk-hidden-7' },
          THREE: { kind: 'StaticSecret', value: 'sk-hidden-8' },
        },
      },
      has: { success: true },
    },
  ],
  [
    'F08.secrets-visible',
    `GET ${C}/{B}`,
    200,
    { lacks: 'sk-hidden', differs: 'the information of a conversation does not name its secrets' },
  ],
  ['F08.secrets-errors', `POST ${C}/{B}/secrets`, 422, { body: {} }],
  ['F08.secrets-errors', `POST ${C}/{B}/secrets`, 422, { body: { secrets: [] } }],
  ['F08.secrets-errors', `POST ${C}/{B}/secrets`, 422, { body: { secrets: { X: { kind: 'Nonsense' } } } }],
  [
    'F08.secrets-errors',
    `POST ${C}/{B}/secrets`,
    422,
    { body: { secrets: { X: { kind: 'LookupSecret' } } } },
  ],
  ['F08.secrets-errors', `POST ${C}/${UNKNOWN}/secrets`, 404, { body: { secrets: {} } }],
  ['F08.secrets-errors', `POST! ${C}/{B}/secrets`, 401, { body: { secrets: { X: 'x' } } }],
  ['F08.secrets-bad-value', `POST ${C}/{B}/secrets`, 422, { body: { secrets: { X: 5 } } }],
  ['F08.secrets-bad-value', `POST ${C}/{B}/secrets`, 422, { body: { secrets: { X: null } } }],
  ['F08.secrets-bad-value', `POST ${C}/{B}/secrets`, 422, { body: { secrets: { X: true } } }],
]

const BRANCHES: readonly Row[] = [
  ['F10.fork-whole', `GET ${C}/{V}/events/count?kind=MessageEvent`, 200, { save: ['NV', ''] }],
  [
    'F10.fork-whole',
    `POST ${C}/{V}/fork`,
    201,
    {
      has: { execution_status: 'idle', forked_from_conversation_id: '{V}' },
      save: ['G', 'id'],
      views: {
        [`GET ${C}/{G}/events/count?kind=MessageEvent`]: '{NV}',
        [`GET ${C}/{G}/events/{W.id}`]: { id: '{W.id}' },
        [`GET ${C}/{V}/events/count?kind=MessageEvent`]: '{NV}',
      },
    },
  ],
  [
    'F10.fork-named',
    `POST ${C}/{V}/fork`,
    201,
    {
      body: { id: '22222222-2222-4222-8222-222222222222', title: 'Named', tags: { qa: 'f10' } },
      has: { title: 'Named', tags: { qa: 'f10' } },
      save: ['GN', 'id'],
      views: { [`GET ${C}/{GN}`]: { title: 'Named' } },
    },
  ],
  [
    'F10.fork-from-event',
    `POST ${C}/{V}/fork`,
    201,
    {
      body: { from_event_id: '{W.id}' },
      has: { forked_from_event_id: '{W.id}', leaf_event_id: '{W.id}' },
      save: ['GE', 'id'],
      views: {
        [`GET ${C}/{GE}/events/count?kind=MessageEvent`]: 2,
        [`GET ${C}/{GE}/events/count?body=Look`]: 0,
      },
    },
  ],
  [
    'F10.fork-independent',
    `POST ${C}/{GE}/events`,
    200,
    {
      body: say('Only in the fork', { run: false }),
      views: { [`GET ${C}/{V}/events/count?body=Only`]: 0, [`GET ${C}/{GE}/events/count?body=Only`]: 1 },
    },
  ],
  ['F10.fork-metrics', `POST ${C}/{V}/fork`, 201, { body: { reset_metrics: false }, has: { stats: {} } }],
  ['F10.fork-tags-consistent', `GET ${C}/{G}`, 200, { has: { tags: {} } }],
  ['F10.fork-errors', `POST ${C}/${UNKNOWN}/fork`, 404],
  ['F10.fork-errors', `POST ${C}/{V}/fork`, 404, { body: { from_event_id: UNKNOWN } }],
  ['F10.fork-errors', `POST ${C}/{V}/fork`, 409, { body: { id: '{GN}' } }],
  ['F10.fork-errors', `POST ${C}/{V}/fork`, 422, { body: { tags: { 'Bad Key': 'x' } } }],
  ['F10.fork-errors', `POST ${C}/{V}/fork`, 422, { body: { title: 'x'.repeat(201) } }],
  ['F10.fork-errors', `POST! ${C}/{V}/fork`, 401],
  ['F10.fork-keeps-credentials', `POST ${C}/{S}/fork`, 201, { lacks: 'sk-hidden' }],
  [
    'F10.fork-run-memory',
    `POST ${C}/{GE}/run`,
    200,
    { views: { [`GET ${C}/{GE}/agent_final_response`]: { response: 'Only in the fork' } } },
  ],
  [
    'F10.navigate-event',
    `POST ${C}/{G}/navigate`,
    200,
    {
      body: { event_id: '{W.id}' },
      has: { leaf_event_id: '{W.id}' },
      views: {
        [`GET ${C}/{G}`]: { leaf_event_id: '{W.id}' },
        [`GET ${C}/{G}/events/count?kind=MessageEvent`]: '{NV}',
      },
    },
  ],
  [
    'F10.navigate-branch',
    `POST ${C}/{G}/events`,
    200,
    {
      body: say('Sibling', { run: false }),
      views: { [`GET ${C}/{G}/events/search?body=Sibling`]: { items: [{ parent_id: '{W.id}' }] } },
    },
  ],
  ['F10.navigate-final-response', `GET ${C}/{G}/agent_final_response`, 200, { has: { response: '' } }],
  [
    'F10.navigate-empty',
    `POST ${C}/{G}/navigate`,
    200,
    { body: { event_id: null }, has: { leaf_event_id: null } },
  ],
  ['F10.navigate-empty', `POST ${C}/{G}/navigate`, 200, { body: {}, has: { leaf_event_id: null } }],
  ['F10.navigate-errors', `POST ${C}/{G}/navigate`, 404, { body: { event_id: UNKNOWN } }],
  ['F10.navigate-errors', `POST ${C}/${UNKNOWN}/navigate`, 404, { body: { event_id: null } }],
  [
    'F10.navigate-errors',
    `POST ${C}/{G}/navigate`,
    200,
    { differs: 'a missing body counts as an empty one' },
  ],
  [
    'F10.navigate-errors',
    `POST! ${C}/{G}/navigate`,
    401,
    { body: { event_id: '{W.id}' }, views: { [`GET ${C}/{G}`]: { leaf_event_id: null } } },
  ],
  [
    'F10.condense-no-condenser',
    `POST ${C}/{V}/condense`,
    200,
    {
      views: { [`GET ${C}/{V}/events/count?kind=CondensationRequest`]: 1 },
      differs: 'the request is recorded, and the agent of the service decides',
    },
  ],
  ['F10.condense-errors', `POST ${C}/${UNKNOWN}/condense`, 404],
  [
    'F10.condense-errors',
    `POST! ${C}/{V}/condense`,
    401,
    { views: { [`GET ${C}/{V}/events/count?kind=CondensationRequest`]: 1 } },
  ],
  [
    'F10.ask-agent',
    `POST ${C}/{V}/ask_agent`,
    200,
    {
      body: { question: 'What now?' },
      has: { response: 'What now?' },
      views: { [`GET ${C}/{V}/events/count?body=What%20now`]: 0, [`GET ${C}/{V}`]: status('idle') },
    },
  ],
  ['F10.ask-agent-errors', `POST ${C}/{V}/ask_agent`, 422, { body: {} }],
  ['F10.ask-agent-errors', `POST! ${C}/{V}/ask_agent`, 401, { body: { question: 'x' } }],
  ['F10.ask-agent-unknown', `POST ${C}/${UNKNOWN}/ask_agent`, 404, { body: { question: 'x' } }],
]

const bash = (path: string) => `/api/bash/${path}`
const scoped = (path: string) => `${C}/{X}/${path}`
const COMMANDS: readonly Row[] = [
  [
    'F13.scoped-cwd',
    `POST ${C}`,
    201,
    { body: { workspace: { working_dir: '{HOME}/project/x' } }, save: ['X', 'id'] },
  ],
  [
    'F13.scoped-isolation',
    `POST ${C}`,
    201,
    { body: { workspace: { working_dir: '{HOME}/project/x2' } }, save: ['X2', 'id'] },
  ],
  ...(['start_bash_command', 'execute_bash_command'] as const).flatMap((name): Row[] => [
    ['F13.auth', `POST! ${bash(name)}`, 401, { body: { command: 'touch {HOME}/a/stolen' } }],
    [
      'F13.auth',
      `POST? ${scoped(`bash/${name}`)}`,
      401,
      {
        body: { command: 'touch {HOME}/a/stolen' },
        views: { [`GET ${scoped('bash/bash_events/search')}`]: { items: [] } },
      },
    ],
  ]),
  ['F13.auth', `GET! ${bash('bash_events/search')}`, 401],
  ['F13.auth', `GET! ${bash(`bash_events/${UNKNOWN}`)}`, 401],
  ['F13.auth', `DELETE! ${bash('bash_events')}`, 401],
  ['F13.auth', `POST! ${bash(`bash_commands/${UNKNOWN}/stop`)}`, 401],
  [
    'F13.execute-sync',
    `POST ${bash('execute_bash_command')}`,
    200,
    {
      body: { command: 'echo out; echo err >&2; exit 3', cwd: '{HOME}/a', timeout: 30 },
      has: { kind: 'BashOutput', exit_code: 3, stdout: 'out\n', stderr: 'err\n', order: 0 },
      save: ['O', 'command_id'],
      views: {
        [`GET ${bash('bash_events/{O}')}`]: { kind: 'BashCommand', timeout: 30 },
        [`GET ${bash('bash_events/search?command_id__eq={O}&kind__eq=BashOutput')}`]: {
          items: [{ exit_code: 3 }],
        },
      },
    },
  ],
  ['F13.execute-sync', `POST ${bash('execute_bash_command')}`, 422, { body: { cwd: '{HOME}/a' } }],
  [
    'F13.execute-sync',
    `POST ${bash('execute_bash_command')}`,
    422,
    { body: { command: 'true', timeout: 'soon' } },
  ],
  [
    'F13.global-cwd',
    `POST ${bash('execute_bash_command')}`,
    200,
    { body: { command: 'pwd', cwd: '{HOME}/a' }, has: { stdout: '{HOME}/a\n' } },
  ],
  [
    'F13.global-cwd',
    `POST ${bash('execute_bash_command')}`,
    403,
    { body: { command: 'pwd', cwd: '/tmp' }, differs: 'commands run in folders of sandboxes only' },
  ],
  [
    'F13.global-cwd',
    `POST ${bash('execute_bash_command')}`,
    404,
    {
      body: { command: 'pwd', cwd: '{HOME}/a/none' },
      differs: 'a folder that does not exist is an error of the request',
    },
  ],
  [
    'F13.env-sanitized',
    `POST ${bash('execute_bash_command')}`,
    200,
    { body: { command: 'env', cwd: '{HOME}/a' }, lacks: 'SESSION_API_KEY' },
  ],
  [
    'F13.start-async',
    `POST ${bash('start_bash_command')}`,
    200,
    {
      body: { command: 'sleep 0.1; echo later', cwd: '{HOME}/a' },
      has: { kind: 'BashCommand' },
      save: ['SA', 'id'],
      views: {
        [`GET ${bash('bash_events/search?command_id__eq={SA}&kind__eq=BashOutput')}`]: {
          items: [{ stdout: 'later\n', exit_code: 0 }],
        },
      },
    },
  ],
  ['F13.get-events', `GET ${bash('bash_events/{O}')}`, 200, { has: { kind: 'BashCommand' } }],
  ['F13.get-events', `GET ${bash(`bash_events/${UNKNOWN}`)}`, 404],
  [
    'F13.search',
    `GET ${bash('bash_events/search?kind__eq=BashCommand&limit=1')}`,
    200,
    { has: { items: [{ kind: 'BashCommand' }] } },
  ],
  ['F13.search', `GET ${bash('bash_events/search?limit=0')}`, 422],
  ['F13.search', `GET ${bash('bash_events/search?sort_order=bogus')}`, 422],
  ['F13.search', `GET ${bash('bash_events/search?timestamp__gte=never')}`, 422],
  [
    'F13.order-gt-paging',
    `GET ${bash('bash_events/search?command_id__eq={O}&order__gt=0')}`,
    200,
    { has: { items: [] } },
  ],
  [
    'F13.timestamp-offset',
    `GET ${bash('bash_events/search?timestamp__gte=2999-01-01T00:00:00%2B02:00')}`,
    200,
    { has: { items: [] } },
  ],
  [
    'F13.timeout',
    `POST ${bash('execute_bash_command')}`,
    200,
    { body: { command: 'sleep 60', cwd: '{HOME}/a', timeout: 1 }, has: { exit_code: -1 } },
  ],
  [
    'F13.stop',
    `POST ${bash('start_bash_command')}`,
    200,
    { body: { command: 'sleep 60', cwd: '{HOME}/a' }, save: ['ST', 'id'] },
  ],
  [
    'F13.stop',
    `POST ${bash('bash_commands/{ST}/stop')}`,
    200,
    {
      views: {
        [`GET ${bash('bash_events/search?command_id__eq={ST}&kind__eq=BashOutput')}`]: {
          items: [{ exit_code: -15 }],
        },
      },
    },
  ],
  ['F13.stop-idempotent', `POST ${bash('bash_commands/{ST}/stop')}`, 200],
  ['F13.stop-idempotent', `POST ${bash(`bash_commands/${UNKNOWN}/stop`)}`, 404],
  [
    'F13.scoped-cwd',
    `POST ${scoped('bash/execute_bash_command')}`,
    200,
    { body: { command: 'pwd' }, has: { stdout: '{HOME}/project/x\n' } },
  ],
  [
    'F13.scoped-cwd',
    `POST ${scoped('bash/execute_bash_command')}`,
    422,
    { body: { command: 'pwd', cwd: '{HOME}/a' } },
  ],
  [
    'F13.scoped-cwd',
    `POST ${scoped('bash/execute_bash_command')}`,
    422,
    { body: { command: 'pwd', cwd: '{HOME}/project/x/../x2' } },
  ],
  [
    'F13.scoped-cwd',
    `POST ${scoped('bash/execute_bash_command')}`,
    422,
    { body: { command: 'pwd', cwd: 'x' } },
  ],
  [
    'F13.scoped-routes',
    `POST ${scoped('bash/execute_bash_command')}`,
    200,
    {
      body: { command: 'echo hi > made.txt' },
      save: ['SC', 'command_id'],
      views: {
        [`GET ${scoped('bash/bash_events/{SC}')}`]: { kind: 'BashCommand' },
        [`GET ${scoped('file/download?path={HOME}/project/x/made.txt')}`]: 'hi\n',
      },
    },
  ],
  [
    'F13.scoped-isolation',
    `GET ${bash('bash_events/{SC}')}`,
    404,
    {
      views: {
        [`GET ${C}/{X2}/bash/bash_events/search`]: { items: [] },
        [`POST ${bash('bash_commands/{SC}/stop')}`]: 404,
      },
    },
  ],
  ...(['bash_events/search', `bash_events/${UNKNOWN}`] as const).map((name): Row => [
    'F13.scoped-unknown',
    `GET ${C}/${UNKNOWN}/bash/${name}`,
    404,
  ]),
  ['F13.scoped-unknown', `POST ${C}/${UNKNOWN}/bash/execute_bash_command`, 404, { body: { command: 'pwd' } }],
  ['F13.scoped-unknown', `POST ${C}/${UNKNOWN}/bash/start_bash_command`, 404, { body: { command: 'pwd' } }],
  [
    'F13.clear',
    `DELETE ${scoped('bash/bash_events')}`,
    200,
    {
      has: { cleared_count: expect.any(Number) },
      views: {
        [`GET ${scoped('bash/bash_events/search')}`]: { items: [] },
        [`POST ${scoped('bash/bash_commands/{SC}/stop')}`]: 404,
        [`GET ${bash('bash_events/{O}')}`]: { kind: 'BashCommand' },
      },
    },
  ],
]

const FILES: readonly Row[] = [
  ['F14.auth', 'GET! /api/file/home', 401],
  ['F14.auth', 'GET! /api/file/search_subdirs?path={HOME}/a', 401],
  [
    'F14.auth',
    'POST! /api/file/upload?path={HOME}/a/stolen',
    401,
    { body: 'x', views: { 'GET /api/file/download?path={HOME}/a/stolen': 404 } },
  ],
  ['F14.auth', 'GET? /api/file/download?path={HOME}/a/none', 401],
  ['F14.auth', 'POST! /api/file/create_directory?path={HOME}/a/none', 401],
  ['F14.auth', 'GET! /api/file/download-trajectory/{A}', 401],
  ['F14.auth', `POST! ${scoped('file/upload?path={HOME}/project/x/stolen')}`, 401, { body: 'x' }],
  ['F14.auth', `GET! ${scoped('file/download?path={HOME}/project/x/made.txt')}`, 401],
  [
    'F14.upload-download',
    'POST /api/file/upload?path={HOME}/a/b/c/file.txt',
    200,
    { body: 'content', views: { 'GET /api/file/download?path={HOME}/a/b/c/file.txt': 'content' } },
  ],
  [
    'F14.upload-download',
    'POST /api/file/upload?path={HOME}/a/b/c/file.txt',
    200,
    { body: 'other', views: { 'GET /api/file/download?path={HOME}/a/b/c/file.txt': 'other' } },
  ],
  ['F14.upload-errors', 'POST /api/file/upload', 422, { body: 'x' }],
  ['F14.upload-errors', 'POST /api/file/upload?path=relative.txt', 400, { body: 'x' }],
  [
    'F14.upload-onto-directory',
    'POST /api/file/upload?path={HOME}/a/b',
    400,
    { body: 'x', views: { 'GET /api/file/download?path={HOME}/a/b/c/file.txt': 'other' } },
  ],
  ['F14.upload-onto-directory', 'POST /api/file/upload?path={HOME}/a/b/c/file.txt/x', 400, { body: 'x' }],
  [
    'F14.upload-size',
    'POST /api/file/upload?path={HOME}/a/size.txt',
    200,
    { body: '12345', has: { file_size: 5 } },
  ],
  ['F14.download-errors', 'GET /api/file/download?path={HOME}/a/none', 404],
  ['F14.download-errors', 'GET /api/file/download?path={HOME}/a/b', 400],
  ['F14.download-errors', 'GET /api/file/download?path=relative', 400],
  [
    'F14.download-errors',
    'GET /api/file/download?path=/etc/passwd',
    403,
    { differs: 'only files of sandboxes can be read' },
  ],
  [
    'F14.mkdir',
    'POST /api/file/create_directory?path={HOME}/a/new/deep',
    200,
    { views: { 'GET /api/file/search_subdirs?path={HOME}/a/new': { items: [{ name: 'deep' }] } } },
  ],
  [
    'F14.mkdir',
    'POST /api/file/create_directory?path={HOME}/a/b',
    200,
    { views: { 'GET /api/file/download?path={HOME}/a/b/c/file.txt': 'other' } },
  ],
  ['F14.mkdir', 'POST /api/file/create_directory?path={HOME}/a/b/c/file.txt', 400],
  ['F14.home', 'GET /api/file/home', 200, { has: { home: '{HOME}' } }],
  [
    'F14.subdirs',
    'GET /api/file/search_subdirs?path={HOME}/a',
    200,
    { has: { items: [{ name: 'b' }, { name: 'new' }] }, lacks: 'size.txt' },
  ],
  [
    'F14.subdirs-pagination',
    'GET /api/file/search_subdirs?path={HOME}/a&limit=1',
    200,
    { has: { items: [{ name: 'b' }], next_page_id: expect.any(String) }, save: ['PD', 'next_page_id'] },
  ],
  [
    'F14.subdirs-pagination',
    'GET /api/file/search_subdirs?path={HOME}/a&limit=1&page_id={PD}',
    200,
    { has: { items: [{ name: 'new' }] } },
  ],
  [
    'F14.subdirs-pagination',
    'GET /api/file/search_subdirs?path={HOME}/a&limit=0',
    422,
    { views: { 'GET /api/file/search_subdirs?path={HOME}/a&limit=101': 422 } },
  ],
  ['F14.subdirs-errors', 'GET /api/file/search_subdirs?path={HOME}/a/none', 404],
  ['F14.subdirs-errors', 'GET /api/file/search_subdirs?path={HOME}/a/size.txt', 400],
  ['F14.subdirs-errors', 'GET /api/file/search_subdirs?path=relative', 400],
  ['F14.trajectory', 'GET /api/file/download-trajectory/{A}', 200],
  ['F14.trajectory-errors', `GET /api/file/download-trajectory/${UNKNOWN}`, 404],
  [
    'F14.scoped-transfer',
    `POST ${scoped('file/upload?path={HOME}/project/x/up.txt')}`,
    200,
    {
      body: 'scoped',
      views: { [`GET ${scoped('file/download?path={HOME}/project/x/up.txt')}`]: 'scoped' },
    },
  ],
  ['F14.scoped-transfer', `POST ${scoped('file/create_directory?path={HOME}/project/x/dir')}`, 200],
  [
    'F14.scoped-path-guard',
    `POST ${scoped('file/upload?path={HOME}/project/x2/up.txt')}`,
    422,
    { body: 'x', views: { 'GET /api/file/download?path={HOME}/project/x2/up.txt': 404 } },
  ],
  ['F14.scoped-path-guard', `GET ${scoped('file/download?path={HOME}/project/x/../x2/up.txt')}`, 422],
  ['F14.scoped-path-guard', `GET ${scoped('file/download?path=up.txt')}`, 422],
  ['F14.scoped-conversation-errors', `GET ${C}/${UNKNOWN}/file/download?path={HOME}/project/x/up.txt`, 404],
]

const git = (path: string) => `/api/git/${path}`
const GIT: readonly Row[] = [
  ['F15.auth', `GET! ${git('changes?path={HOME}/repo')}`, 401],
  ['F15.auth', `GET! ${git('diff?path={HOME}/repo/README.md')}`, 401],
  ['F15.auth', `GET? ${git('commits?path={HOME}/repo')}`, 401],
  ['F15.auth', `GET! ${git('commits/{SHA}/changes?path={HOME}/repo')}`, 401],
  [
    'F15.changes',
    `GET ${git('changes?path={HOME}/repo')}`,
    200,
    {
      has: [
        { status: 'UPDATED', path: 'README.md' },
        { status: 'ADDED', path: 'notes.txt' },
      ],
    },
  ],
  [
    'F15.changes-ref',
    `GET ${git('changes?path={HOME}/repo&ref=HEAD')}`,
    200,
    { has: [{ path: 'README.md' }, { path: 'notes.txt' }] },
  ],
  ['F15.changes-ref', `GET ${git('changes?path={HOME}/repo&ref=nothing')}`, 400],
  ['F15.changes-ref', `GET ${git('changes?path={HOME}/repo&ref=--output=x')}`, 400],
  ['F15.changes-ref', `GET ${git('changes')}`, 422],
  [
    'F15.diff',
    `GET ${git('diff?path={HOME}/repo/README.md')}`,
    200,
    { has: { original: 'first\n', modified: 'changed\n' } },
  ],
  [
    'F15.diff',
    `GET ${git('diff?path={HOME}/repo/notes.txt')}`,
    200,
    { has: { original: null, modified: 'new\n' } },
  ],
  [
    'F15.diff-commit',
    `GET ${git('diff?path={HOME}/repo/README.md&commit={SHA}')}`,
    200,
    { has: { original: null, modified: 'first\n' } },
  ],
  ['F15.diff-errors', `GET ${git('diff?path={HOME}/repo/README.md&commit={SHA}&ref=HEAD')}`, 400],
  ['F15.diff-errors', `GET ${git('diff?path={HOME}/repo/README.md&commit=zzzz')}`, 422],
  ['F15.diff-errors', `GET ${git('diff')}`, 422],
  [
    'F15.commits',
    `GET ${git('commits?path={HOME}/repo')}`,
    200,
    { has: { commits: [{ sha: '{SHA}', subject: 'Begin', author: 'A' }], has_more: false } },
  ],
  ['F15.commits', `GET ${git('commits?path={HOME}/repo&limit=0')}`, 422],
  ['F15.commits', `GET ${git('commits?path={HOME}/repo&limit=201')}`, 422],
  [
    'F15.commit-changes',
    `GET ${git('commits/{SHA}/changes?path={HOME}/repo')}`,
    200,
    { has: [{ status: 'ADDED', path: 'README.md' }] },
  ],
  [
    'F15.commit-changes',
    `GET ${git('commits/0000000000000000000000000000000000000000/changes?path={HOME}/repo')}`,
    404,
  ],
  ['F15.commit-changes', `GET ${git('commits/zz/changes?path={HOME}/repo')}`, 422],
  ['F15.non-repo', `GET ${git('changes?path={HOME}/a')}`, 200, { has: [] }],
  ['F15.non-repo', `GET ${git('commits?path={HOME}/a')}`, 200, { has: { commits: [], has_more: false } }],
  [
    'F15.scoped',
    `POST ${C}`,
    201,
    {
      body: { workspace: { working_dir: '{HOME}/repo' } },
      save: ['Z', 'id'],
      views: {
        [`GET ${C}/{Z}/git/changes`]: [{ path: 'README.md' }, { path: 'notes.txt' }],
        [`GET ${C}/{Z}/git/commits`]: { commits: [{ sha: '{SHA}' }] },
        [`GET ${C}/{Z}/git/commits/{SHA}/changes`]: [{ path: 'README.md' }],
      },
    },
  ],
  ['F15.scoped-guard', `GET ${C}/{Z}/git/changes?path={HOME}/a`, 422],
  ['F15.scoped-guard', `GET ${C}/{Z}/git/diff?path={HOME}/a/size.txt`, 422],
  ['F15.scoped-guard', `GET ${C}/${UNKNOWN}/git/changes`, 404],
]

const S = '/api/settings'
const SETTINGS: readonly Row[] = [
  ['F18.get-defaults', `GET ${S}`, 200, { has: { llm_api_key_is_set: false, active_profile: null } }],
  [
    'F18.agent-schema',
    `GET ${S}/agent-schema`,
    200,
    {
      has: {
        model_name: 'AgentSettings',
        sections: [
          { key: 'llm' },
          { key: 'condenser', fields: [{ key: 'condenser.enabled', default: true }, {}, {}, {}] },
        ],
      },
    },
  ],
  [
    'F18.conversation-schema',
    `GET ${S}/conversation-schema`,
    200,
    {
      has: {
        sections: [
          { key: 'general', fields: [{ key: 'max_iterations' }] },
          {
            key: 'verification',
            fields: [{ key: 'confirmation_mode', default: false }, { key: 'security_analyzer' }],
          },
        ],
      },
    },
  ],
  ['F18.auth-required', `GET! ${S}`, 401, { headers: { 'x-expose-secrets': 'plaintext' } }],
  ['F18.auth-required', `PATCH? ${S}`, 401, { body: { misc_settings_diff: { a: 1 } } }],
  ['F18.auth-required', `GET! ${S}/secrets`, 401],
  ['F18.auth-required', `GET! ${S}/secrets/TOKEN`, 401],
  [
    'F18.auth-required',
    `PUT! ${S}/secrets`,
    401,
    { body: { name: 'TOKEN', value: 'x' }, views: { [`GET ${S}/secrets/TOKEN`]: 404 } },
  ],
  ['F18.auth-required', `DELETE! ${S}/secrets/TOKEN`, 401],
  [
    'F18.patch-llm',
    `PATCH ${S}`,
    200,
    {
      body: { agent_settings_diff: { llm: { model: 'openai/x', api_key: 'sk-hidden-9' } } },
      headers: { 'x-expose-secrets': 'plaintext' },
      lacks: 'sk-hidden-9',
      views: { [`GET ${S}`]: { llm_api_key_is_set: true, agent_settings: { llm: { model: 'openai/x' } } } },
    },
  ],
  ['F18.expose-modes', `GET ${S}`, 200, { lacks: 'sk-hidden-9' }],
  [
    'F18.expose-modes',
    `GET ${S}`,
    200,
    {
      headers: { 'x-expose-secrets': 'plaintext' },
      lacks: 'sk-hidden-9',
      differs: 'no header shows a secret',
    },
  ],
  [
    'F18.agent-diff-merge',
    `PATCH ${S}`,
    200,
    {
      body: { agent_settings_diff: { llm: { model: 'openai/y' } } },
      views: { [`GET ${S}`]: { llm_api_key_is_set: true, agent_settings: { llm: { model: 'openai/y' } } } },
    },
  ],
  [
    'F18.conversation-diff',
    `PATCH ${S}`,
    200,
    {
      body: { conversation_settings_diff: { max_iterations: 7 } },
      views: { [`GET ${S}`]: { conversation_settings: { max_iterations: 7 } } },
    },
  ],
  [
    'F18.conversation-diff',
    `PATCH ${S}`,
    422,
    {
      body: { conversation_settings_diff: 5 },
      views: { [`GET ${S}`]: { conversation_settings: { max_iterations: 7 } } },
    },
  ],
  [
    'F18.misc-settings-merge',
    `PATCH ${S}`,
    200,
    {
      body: { misc_settings_diff: { a: { b: 1, c: [1] } } },
      views: { [`GET ${S}`]: { misc_settings: { a: { b: 1, c: [1] } } } },
    },
  ],
  [
    'F18.misc-settings-merge',
    `PATCH ${S}`,
    200,
    {
      body: { misc_settings_diff: { a: { b: null, c: [2] } } },
      views: { [`GET ${S}`]: { misc_settings: { a: { c: [2] } } } },
    },
  ],
  ['F18.patch-validation', `PATCH ${S}`, 400, { body: {} }],
  [
    'F18.patch-validation',
    `PATCH ${S}`,
    422,
    {
      body: { agent_settings_diff: 5, misc_settings_diff: { key: 'sk-hidden-10' } },
      lacks: 'sk-hidden-10',
      views: { [`GET ${S}`]: { agent_settings: { llm: { model: 'openai/y' } } } },
    },
  ],
  [
    'F18.active-profile-pointer',
    `PATCH ${S}`,
    404,
    { body: { active_profile: 'nobody' }, views: { [`GET ${S}`]: { active_profile: null } } },
  ],
  [
    'F18.secret-put-list-get',
    `PUT ${S}/secrets`,
    200,
    {
      body: { name: 'TOKEN', value: 'sk-hidden-11', description: 'Mine' },
      has: { name: 'TOKEN', description: 'Mine' },
      lacks: 'sk-hidden-11',
      views: {
        [`GET ${S}/secrets`]: { secrets: [{ name: 'TOKEN', description: 'Mine' }] },
        [`GET ${S}/secrets/TOKEN`]: 403,
      },
    },
  ],
  [
    'F18.secret-put-list-get',
    `PUT ${S}/secrets`,
    200,
    { body: { name: 'TOKEN', value: 'second' }, views: { [`GET ${S}/secrets/TOKEN`]: 403 } },
  ],
  ['F18.secret-put-list-get', `GET ${S}/secrets`, 200, { lacks: 'second' }],
  [
    'F18.secret-delete',
    `DELETE ${S}/secrets/TOKEN`,
    200,
    {
      has: { deleted: true },
      views: { [`GET ${S}/secrets/TOKEN`]: 404, [`GET ${S}/secrets`]: { secrets: [] } },
    },
  ],
  ['F18.secret-delete', `DELETE ${S}/secrets/TOKEN`, 404],
  ['F18.secret-name-validation', `PUT ${S}/secrets`, 422, { body: { name: '1bad', value: 'x' } }],
  ['F18.secret-name-validation', `PUT ${S}/secrets`, 422, { body: { name: 'x'.repeat(65), value: 'x' } }],
  ['F18.secret-name-validation', `PUT ${S}/secrets`, 200, { body: { name: 'x'.repeat(64), value: 'x' } }],
  ['F18.secret-name-validation', `PUT ${S}/secrets`, 422, { body: { name: 'NO_VALUE' } }],
  ['F18.secret-name-validation', `GET ${S}/secrets/UNKNOWN`, 404],
  [
    'F18.secret-scope-agent-profile',
    `GET ${S}/secrets?agent_profile_id=${UNKNOWN}`,
    200,
    { differs: 'secrets have no scope' },
  ],
]

const stdio = { command: 'server', args: [], env: { TOKEN: 'sk-hidden-12' } }
const MCP: readonly Row[] = [
  ['F19.auth', `POST! ${S}/mcp/one`, 401, { body: stdio }],
  ['F19.auth', `PATCH! ${S}/mcp/one`, 401, { body: { enabled: false } }],
  ['F19.auth', `DELETE? ${S}/mcp/one`, 401],
  [
    'F19.settings-create',
    `POST ${S}/mcp/one`,
    201,
    {
      body: stdio,
      lacks: 'sk-hidden-12',
      views: { [`GET ${S}`]: { agent_settings: { mcp_config: { one: { command: 'server' } } } } },
    },
  ],
  [
    'F19.settings-create',
    `POST ${S}/mcp/one`,
    409,
    {
      body: { command: 'other' },
      views: { [`GET ${S}`]: { agent_settings: { mcp_config: { one: { command: 'server' } } } } },
    },
  ],
  ['F19.settings-validation', `POST ${S}/mcp/two`, 422, { body: { command: 5 } }],
  ['F19.settings-validation', `POST ${S}/mcp/two`, 422, { body: { url: 'https://x.example', unknown: 1 } }],
  ['F19.settings-empty-server', `POST ${S}/mcp/two`, 422, { body: { env: {} } }],
  [
    'F19.settings-patch',
    `PATCH ${S}/mcp/one`,
    200,
    {
      body: { enabled: false },
      views: {
        [`GET ${S}`]: { agent_settings: { mcp_config: { one: { command: 'server', enabled: false } } } },
      },
    },
  ],
  ['F19.settings-patch', `PATCH ${S}/mcp/nothing`, 404, { body: { enabled: false } }],
  ['F19.settings-patch', `PATCH ${S}/mcp/one`, 422, { body: { unknown: 1 } }],
  ['F19.settings-delete', `DELETE ${S}/mcp/one`, 200, { views: { [`DELETE ${S}/mcp/one`]: 404 } }],
]

const P = '/api/profiles'
const llm = { model: 'openai/z', api_key: 'sk-hidden-13', base_url: 'http://127.0.0.1:9/v1' }
const PROFILES: readonly Row[] = [
  ['F20.auth-required', `GET! ${P}`, 401],
  ['F20.auth-required', `POST! ${P}/one`, 401, { body: { llm }, views: { [`GET ${P}/one`]: 404 } }],
  ['F20.auth-required', `DELETE! ${P}/one`, 401],
  ['F20.auth-required', `POST! ${P}/one/rename`, 401, { body: { new_name: 'x' } }],
  ['F20.auth-required', `POST? ${P}/one/activate`, 401],
  ['F20.auth-required', `POST! ${P}/one/validate`, 401, { body: { llm } }],
  [
    'F20.save',
    `POST ${P}/one`,
    201,
    {
      body: { llm },
      lacks: 'sk-hidden-13',
      views: {
        [`GET ${P}`]: { profiles: [{ name: 'one', model: 'openai/z', api_key_set: true }] },
        [`GET ${P}/one`]: { config: { model: 'openai/z' } },
      },
    },
  ],
  ['F20.get-secrets', `GET ${P}/one`, 200, { has: { api_key_set: true }, lacks: 'sk-hidden-13' }],
  [
    'F20.get-secrets',
    `GET ${P}/one`,
    200,
    {
      headers: { 'x-expose-secrets': 'plaintext' },
      lacks: 'sk-hidden-13',
      differs: 'no header shows a secret',
    },
  ],
  [
    'F20.save-without-secrets',
    `POST ${P}/bare`,
    201,
    { body: { llm, include_secrets: false }, views: { [`GET ${P}/bare`]: { api_key_set: false } } },
  ],
  ['F20.not-found', `GET ${P}/nobody`, 404],
  ['F20.not-found', `POST ${P}/nobody/activate`, 404],
  ['F20.not-found', `POST ${P}/nobody/rename`, 404, { body: { new_name: 'somebody' } }],
  ['F20.name-rules', `POST ${P}/-bad`, 422, { body: { llm } }],
  ['F20.name-rules', `POST ${P}/${'n'.repeat(65)}`, 422, { body: { llm } }],
  ['F20.name-rules', `POST ${P}/${'n'.repeat(64)}`, 201, { body: { llm } }],
  ['F20.name-rules', `POST ${P}/empty`, 422, { body: {}, views: { [`GET ${P}/empty`]: 404 } }],
  ['F20.name-rules', `POST ${P}/empty`, 422, { body: { llm: {} } }],
  [
    'F20.activate',
    `POST ${P}/one/activate`,
    200,
    {
      views: {
        [`GET ${S}`]: { active_profile: 'one', agent_settings: { llm: { model: 'openai/z' } } },
        [`GET ${P}`]: { active_profile: 'one' },
      },
    },
  ],
  [
    'F20.rename',
    `POST ${P}/one/rename`,
    200,
    {
      body: { new_name: 'two' },
      views: {
        [`GET ${P}/one`]: 404,
        [`GET ${P}/two`]: { api_key_set: true },
        [`GET ${S}`]: { active_profile: 'two' },
      },
    },
  ],
  ['F20.rename-errors', `POST ${P}/two/rename`, 409, { body: { new_name: 'bare' } }],
  ['F20.rename-errors', `POST ${P}/two/rename`, 200, { body: { new_name: 'two' } }],
  ['F20.rename-errors', `POST ${P}/two/rename`, 422, { body: { new_name: '-bad' } }],
  ['F20.rename-errors', `POST ${P}/two/rename`, 422, { body: {} }],
  [
    'F20.delete',
    `DELETE ${P}/two`,
    200,
    {
      views: {
        [`GET ${P}/two`]: 404,
        [`GET ${S}`]: { active_profile: null, agent_settings: { llm: { model: 'openai/z' } } },
      },
    },
  ],
  ['F20.delete', `DELETE ${P}/two`, 200],
]

const W = '/api/workspaces'
const saved = (...paths: string[]) => ({ workspaces: paths.map((path) => ({ id: path, name: path, path })) })
const parents = (...paths: string[]) => ({ parents: paths.map((path) => ({ id: path, name: path, path })) })
const WORKSPACES: readonly Row[] = [
  ['F17.list-empty', `GET ${W}`, 200, { has: { workspaces: [], workspaceParents: [] } }],
  ['F17.auth-required', `GET! ${W}`, 401],
  ['F17.auth-required', `POST! ${W}`, 401, { body: saved('/stolen') }],
  ['F17.auth-required', `DELETE? ${W}?path=/a`, 401],
  ['F17.auth-required', `POST! ${W}/parents`, 401, { body: parents('/stolen') }],
  [
    'F17.auth-required',
    `DELETE! ${W}/parents?path=/a`,
    401,
    { views: { [`GET ${W}`]: { workspaces: [], workspaceParents: [] } } },
  ],
  [
    'F17.noop-delete-no-file',
    `DELETE ${W}?path=/never`,
    200,
    { has: { deleted: false }, differs: 'deleting what is not there is no error' },
  ],
  [
    'F17.add-workspaces',
    `POST ${W}`,
    200,
    {
      body: saved('/a', '/b'),
      has: { workspaces: [{ path: '/a' }, { path: '/b' }] },
      views: { [`GET ${W}`]: { workspaces: [{ path: '/a' }, { path: '/b' }] } },
    },
  ],
  [
    'F17.wire-format',
    `POST ${W}`,
    200,
    {
      body: { workspaces: [{ id: 'c', name: 'c', path: '/c', parentPath: '/' }] },
      has: { workspaces: [{}, {}, { path: '/c', parentPath: '/' }] },
    },
  ],
  [
    'F17.wire-format',
    `POST ${W}`,
    422,
    {
      body: { workspaces: [{ id: 'c', name: 'c', path: '/c', extra: 1 }] },
      differs: 'an unknown field is an error',
    },
  ],
  [
    'F17.idempotent-add',
    `POST ${W}`,
    200,
    {
      body: { workspaces: [{ id: 'other', name: 'Other', path: '/a' }] },
      has: { workspaces: [{ id: 'other' }, {}, {}] },
      differs: 'the last name of a path wins',
    },
  ],
  [
    'F17.delete-workspace',
    `DELETE ${W}?path=/b`,
    200,
    { has: { deleted: true }, views: { [`GET ${W}`]: { workspaces: [{ path: '/a' }, { path: '/c' }] } } },
  ],
  [
    'F17.delete-not-found',
    `DELETE ${W}?path=/a/`,
    200,
    {
      has: { deleted: false },
      views: { [`GET ${W}`]: { workspaces: [{}, {}] } },
      differs: 'deleting what is not there is no error',
    },
  ],
  ['F17.delete-not-found', `DELETE ${W}`, 422],
  [
    'F17.paths-opaque',
    `POST ${W}`,
    200,
    {
      body: saved('relative ü & ?#', '/a/'),
      has: {
        workspaces: expect.arrayContaining([
          expect.objectContaining({ path: 'relative ü & ?#' }),
          expect.objectContaining({ path: '/a/' }),
        ]),
      },
    },
  ],
  [
    'F17.paths-opaque',
    `DELETE ${W}?path=${encodeURIComponent('relative ü & ?#')}`,
    200,
    { has: { deleted: true } },
  ],
  [
    'F17.paths-opaque',
    `DELETE ${W}?path=/a/`,
    200,
    { has: { deleted: true }, views: { [`GET ${W}`]: { workspaces: [{}, {}] } } },
  ],
  ['F17.validation', `POST ${W}`, 422, { body: {} }],
  ['F17.validation', `POST ${W}`, 422, { body: { workspaces: 'x' } }],
  [
    'F17.validation',
    `POST ${W}`,
    422,
    {
      body: { workspaces: [{ id: 'd', name: 'd', path: '/d' }, { id: 'e' }] },
      views: { [`GET ${W}`]: { workspaces: [{}, {}] } },
    },
  ],
  [
    'F17.add-parents',
    `POST ${W}/parents`,
    200,
    { body: parents('/p', '/p', '/a'), has: { workspaceParents: [{}, {}], workspaces: [{}, {}] } },
  ],
  ['F17.parent-children', `GET ${W}`, 200, { has: { workspaces: [{ path: '/a' }, { path: '/c' }] } }],
  [
    'F17.lists-independent',
    `DELETE ${W}/parents?path=/c`,
    200,
    { has: { deleted: false }, views: { [`GET ${W}`]: { workspaces: [{ path: '/a' }, { path: '/c' }] } } },
  ],
  [
    'F17.delete-parent',
    `DELETE ${W}/parents?path=/a`,
    200,
    {
      has: { deleted: true },
      views: {
        [`GET ${W}`]: { workspaces: [{ path: '/a' }, { path: '/c' }], workspaceParents: [{ path: '/p' }] },
      },
    },
  ],
  ['F17.delete-parent', `DELETE ${W}/parents`, 422],
]

const AP = '/api/agent-profiles'
const AGENTS: readonly Row[] = [
  ['F21.lazy-seed', `GET ${AP}`, 200, { has: { profiles: [] }, differs: 'a read creates nothing' }],
  ['F21.seed-no-ghost-llm', `GET ${P}/default`, 404],
  ['F21.auth-required', `GET! ${AP}`, 401],
  ['F21.auth-required', `GET! ${AP}/coder`, 401],
  [
    'F21.auth-required',
    `POST! ${AP}/coder`,
    401,
    { body: { llm_profile_ref: 'bare' }, views: { [`GET ${AP}/coder`]: 404 } },
  ],
  ['F21.auth-required', `DELETE? ${AP}/coder`, 401],
  ['F21.auth-required', `POST! ${AP}/coder/rename`, 401, { body: { new_name: 'x' } }],
  ['F21.auth-required', `POST! ${AP}/${UNKNOWN}/activate`, 401],
  ['F21.auth-required', `POST! ${AP}/coder/materialize`, 401, { body: {} }],
  [
    'F21.save-create',
    `POST ${AP}/coder`,
    201,
    {
      body: { llm_profile_ref: 'bare' },
      views: {
        [`GET ${AP}/coder`]: {
          name: 'coder',
          profile: { name: 'coder', llm_profile_ref: 'bare', revision: 0 },
        },
      },
    },
  ],
  [
    'F21.save-create',
    `GET ${AP}/coder`,
    200,
    {
      save: ['AP', 'profile'],
      views: {
        [`GET ${AP}`]: { profiles: expect.arrayContaining([expect.objectContaining({ name: 'coder' })]) },
      },
    },
  ],
  [
    'F21.save-overwrite',
    `POST ${AP}/coder`,
    201,
    {
      body: { llm_profile_ref: 'other', revision: 40 },
      views: { [`GET ${AP}/coder`]: { profile: { id: '{AP.id}', llm_profile_ref: 'other', revision: 1 } } },
    },
  ],
  ['F21.save-validation', `POST ${AP}/broken`, 422, { body: [], views: { [`GET ${AP}/broken`]: 404 } }],
  ['F21.name-rules', `POST ${AP}/-bad`, 422, { body: { llm_profile_ref: 'bare' } }],
  ['F21.name-rules', `POST ${AP}/${'n'.repeat(65)}`, 422, { body: { llm_profile_ref: 'bare' } }],
  ['F21.name-rules', `POST ${AP}/${'n'.repeat(64)}`, 201, { body: { llm_profile_ref: 'bare' } }],
  ['F21.not-found', `GET ${AP}/nobody`, 404],
  ['F21.not-found', `POST ${AP}/nobody/rename`, 404, { body: { new_name: 'somebody' } }],
  ['F21.not-found', `POST ${AP}/${UNKNOWN}/activate`, 404],
  [
    'F21.activate',
    `POST ${AP}/{AP.id}/activate`,
    200,
    {
      views: {
        [`GET ${S}`]: { active_agent_profile_id: '{AP.id}', agent_settings: { llm: {} } },
        [`GET ${AP}`]: { active_agent_profile_id: '{AP.id}' },
      },
    },
  ],
  [
    'F21.rename',
    `POST ${AP}/coder/rename`,
    200,
    {
      body: { new_name: 'renamed' },
      views: {
        [`GET ${AP}/coder`]: 404,
        [`GET ${AP}/renamed`]: { profile: { id: '{AP.id}', revision: 1 } },
        [`GET ${S}`]: { active_agent_profile_id: '{AP.id}' },
      },
    },
  ],
  ['F21.rename', `POST ${AP}/renamed/rename`, 409, { body: { new_name: 'n'.repeat(64) } }],
  [
    'F21.delete',
    `DELETE ${AP}/renamed`,
    200,
    { views: { [`GET ${AP}/renamed`]: 404, [`GET ${S}`]: { active_agent_profile_id: null } } },
  ],
]

const SWITCHES: readonly Row[] = [
  [
    'F09.auth-required',
    `POST! ${C}/{B}/switch_llm`,
    401,
    { body: { llm: { model: 'stolen' } }, views: { [`GET ${C}/{B}`]: { agent: { llm: { model: 'm' } } } } },
  ],
  ['F09.auth-required', `POST? ${C}/{B}/switch_profile`, 401, { body: { profile_name: 'bare' } }],
  [
    'F09.switch-llm',
    `POST ${C}/{B}/switch_llm`,
    200,
    {
      body: { llm: { model: 'openai/switched', api_key: 'sk-hidden-20', usage_id: 'switched' } },
      has: { success: true },
      views: {
        [`GET ${C}/{B}`]: {
          agent: { llm: { model: 'openai/switched', usage_id: 'switched' } },
        },
      },
    },
  ],
  ['F09.switch-llm', `GET ${C}/{B}`, 200, { lacks: 'sk-hidden-20' }],
  [
    'F09.switch-llm-ws',
    `GET ${C}/{B}/events/search?kind=ConversationStateUpdateEvent&sort_order=TIMESTAMP_DESC&limit=1`,
    200,
    {
      has: { items: [{ key: 'agent', value: { llm: { model: 'openai/switched' } } }] },
      lacks: 'sk-hidden-20',
    },
  ],
  ['F09.switch-llm-errors', `POST ${C}/${UNKNOWN}/switch_llm`, 404, { body: { llm: { model: 'x' } } }],
  ['F09.switch-llm-errors', `POST ${C}/{B}/switch_llm`, 422, { body: {} }],
  [
    'F09.switch-llm-errors',
    `POST ${C}/{B}/switch_llm`,
    422,
    {
      body: { llm: { api_key: 'sk-hidden-21' } },
      lacks: 'sk-hidden-21',
      views: { [`GET ${C}/{B}`]: { agent: { llm: { model: 'openai/switched' } } } },
    },
  ],
  [
    'F09.switch-profile',
    `POST ${C}/{B}/switch_profile`,
    200,
    {
      body: { profile_name: 'bare' },
      views: { [`GET ${C}/{B}`]: { agent: { llm: { model: 'openai/z' } } } },
    },
  ],
  [
    'F09.switch-profile-errors',
    `POST ${C}/{B}/switch_profile`,
    404,
    {
      body: { profile_name: 'nobody' },
      views: { [`GET ${C}/{B}`]: { agent: { llm: { model: 'openai/z' } } } },
    },
  ],
  [
    'F09.switch-profile-errors',
    `POST ${C}/{B}/switch_profile`,
    404,
    { body: { profile_name: '-bad' }, differs: 'an invalid name is an unknown profile' },
  ],
  ['F09.switch-profile-errors', `POST ${C}/{B}/switch_profile`, 422, { body: {} }],
  [
    'F09.switch-profile-errors',
    `POST ${C}/${UNKNOWN}/switch_profile`,
    404,
    { body: { profile_name: 'bare' } },
  ],
  [
    'F09.switch-profile-edited',
    `POST ${P}/bare`,
    201,
    { body: { llm: { ...llm, model: 'openai/edited' }, include_secrets: false } },
  ],
  [
    'F09.switch-profile-edited',
    `POST ${C}/{B}/switch_profile`,
    200,
    {
      body: { profile_name: 'bare' },
      views: { [`GET ${C}/{B}`]: { agent: { llm: { model: 'openai/edited' } } } },
    },
  ],
  [
    'F09.acp-model-native',
    `POST ${C}/{B}/switch_acp_model`,
    404,
    { body: { model: 'x' }, differs: 'ACP agents are not supported' },
  ],
  [
    'F09.load-plugin-errors',
    `POST ${C}/{B}/load_plugin`,
    404,
    { body: { plugin_ref: 'x' }, differs: 'plugins belong to the agent' },
  ],
]

const EDITOR: readonly Row[] = [
  ['F16.vscode-auth', 'GET! /api/vscode/status', 401],
  ['F16.vscode-auth', 'GET? /api/vscode/url', 401],
  ['F16.vscode-auth', `GET! ${scoped('vscode/status')}`, 401],
  [
    'F16.vscode-auth',
    `GET! ${scoped('vscode/url')}`,
    401,
    { headers: { cookie: 'oh_workspace_session_key=k' } },
  ],
  [
    'F16.vscode-disabled',
    'GET /api/vscode/status',
    200,
    {
      has: { running: false, enabled: false },
      views: { [`GET ${scoped('vscode/status')}`]: { running: false, enabled: false } },
    },
  ],
  [
    'F16.vscode-url-not-running',
    'GET /api/vscode/url',
    200,
    { has: { url: null }, lacks: 'tkn', views: { [`GET ${scoped('vscode/url')}`]: { url: null } } },
  ],
  ['F16.vscode-scoped-guards', `GET ${C}/${UNKNOWN}/vscode/url`, 404],
  ['F16.vscode-scoped-guards', `GET ${scoped('vscode/url?workspace_dir=/etc')}`, 422],
  ['F16.vscode-scoped-guards', `GET ${scoped('vscode/url?workspace_dir=here')}`, 422],
  ['F16.vscode-scoped-guards', `GET ${scoped('vscode/url?workspace_dir={HOME}/project/x/dir')}`, 200],
]

const CATALOG: readonly Row[] = [
  ['F23.auth-required', 'GET! /api/llm/providers', 401],
  ['F23.auth-required', 'GET! /api/llm/models', 401],
  ['F23.auth-required', 'GET? /api/llm/models/verified', 401],
  [
    'F23.auth-required',
    'GET? /api/llm/provider-connections',
    401,
    { views: { 'GET /api/llm/provider-connections': [] } },
  ],
  [
    'F23.providers',
    'GET /api/llm/providers',
    200,
    { has: { providers: ['openai'] }, differs: 'lists the providers of the models in profiles and settings' },
  ],
  [
    'F23.models',
    'GET /api/llm/models',
    200,
    {
      has: { models: ['openai/edited', 'openai/z'] },
      differs: 'lists the models in profiles and settings, sorted and without duplicates',
    },
  ],
  [
    'F23.models-filter',
    'GET /api/llm/models?provider=openai',
    200,
    { has: { models: [{}, {}].map(() => expect.any(String)) } },
  ],
  ['F23.models-filter', 'GET /api/llm/models?provider=nobody', 200, { has: { models: [] } }],
  [
    'F23.verified-models',
    'GET /api/llm/models/verified',
    200,
    { has: { models: {} }, differs: 'the service has no list of models' },
  ],
]

const AGENTS_OWN = 'skills, plugins, hooks and tools are those of the agent'
const LISTS: readonly Row[] = [
  ['F25.auth', 'POST! /api/skills', 401, { body: {} }],
  ['F25.auth', 'GET! /api/skills/installed', 401],
  ['F25.auth', 'GET? /api/skills/marketplace', 401],
  [
    'F25.catalog-project',
    'POST /api/skills',
    200,
    { body: { project_dir: '{HOME}/a' }, has: { skills: [] }, differs: AGENTS_OWN },
  ],
  [
    'F25.sync',
    'POST /api/skills/sync',
    200,
    { has: { status: 'success' }, views: { 'GET /api/skills/installed': { skills: [] } } },
  ],
  [
    'F25.marketplace-catalog',
    'GET /api/skills/marketplace',
    200,
    { has: { skills: [] }, differs: AGENTS_OWN },
  ],
  ['F25.name-errors', 'GET /api/skills/installed/unknown', 404],
  ['F26.auth', 'POST! /api/plugins', 401, { body: {} }],
  ['F26.auth', 'GET! /api/plugins/installed', 401],
  ['F26.auth', 'GET! /api/plugins/marketplace', 401],
  [
    'F26.catalog-project',
    'POST /api/plugins',
    200,
    { body: { project_dir: '{HOME}/a' }, has: { plugins: [] }, differs: AGENTS_OWN },
  ],
  [
    'F26.marketplace-local',
    'GET /api/plugins/marketplace',
    200,
    { has: { plugins: [] }, differs: AGENTS_OWN },
  ],
  ['F26.name-errors', 'GET /api/plugins/installed/unknown', 404],
  ['F27.auth', 'POST! /api/hooks', 401, { body: {} }],
  ['F27.auth', 'POST? /api/sub-agents', 401, { body: {} }],
  ['F27.auth', 'GET! /api/tools/', 401],
  [
    'F27.hooks-absent',
    'POST /api/hooks',
    200,
    { body: { project_dir: '{HOME}/a' }, has: { hook_config: null } },
  ],
  [
    'F27.subagents-builtin',
    'POST /api/sub-agents',
    200,
    { body: { load_builtin: false }, has: { agents: [] } },
  ],
  ['F27.tools-list', 'GET /api/tools/', 200, { has: [], differs: AGENTS_OWN }],
]

const K = '/api/canvas-extensions'
const app = (suffix = '') => `${K}/installed/board${suffix}`
const source = (more: object = {}) => ({ source: '{APPS}/board', ...more })
const EXTENSIONS: readonly Row[] = [
  ['F28.install-errors', `POST! ${K}/install`, 401, { body: source() }],
  ['F28.install-errors', `POST ${K}/install`, 422, { body: {} }],
  ['F28.install-errors', `POST ${K}/install`, 422, { body: source({ source: '' }) }],
  ['F28.install-errors', `POST ${K}/install`, 422, { body: source({ source: 'broken' }) }],
  [
    'F28.install-errors',
    `POST ${K}/install`,
    400,
    { body: source({ source: '{APPS}/none' }), views: { [`GET ${K}/installed`]: { canvas_extensions: [] } } },
  ],
  [
    'F28.install-git',
    `POST ${K}/install`,
    400,
    {
      body: source({ source: 'file://{HOME}/repo' }),
      differs: 'sources are folders that the operator configures',
    },
  ],
  [
    'F28.install-ref',
    `POST ${K}/install`,
    400,
    { body: source({ ref: 'v1' }), differs: 'folders have no versions' },
  ],
  ['F28.install-repo-path', `POST ${K}/install`, 400, { body: source({ repo_path: 'none' }) }],
  ['F28.install-repo-path', `POST ${K}/install`, 400, { body: source({ repo_path: '../broken' }) }],
  ['F28.install-repo-path', `POST ${K}/install`, 422, { body: source({ repo_path: 'dist' }) }],
  [
    'F28.install-local',
    `POST ${K}/install`,
    200,
    {
      body: source(),
      has: {
        name: 'board',
        enabled: false,
        resolved_ref: null,
        repo_path: null,
        manifest: { display_name: 'Board', contributes: { pages: [] } },
      },
      views: {
        [`GET ${app()}`]: { name: 'board', version: '1.0.0' },
        [`GET ${K}/installed`]: { canvas_extensions: [{ name: 'board', enabled: false }] },
      },
    },
  ],
  ['F28.bundle', `GET ${app('/bundle')}`, 200, { has: 'export const board = 1' }],
  ['F28.icon', `GET ${app('/icon')}`, 200, { has: '<svg/>' }],
  ['F28.enable-disable', `PATCH ${app()}`, 422, { body: { enabled: 'yes' } }],
  [
    'F28.enable-disable',
    `PATCH ${app()}`,
    200,
    { body: { enabled: true }, views: { [`GET ${app()}`]: { enabled: true } } },
  ],
  ['F28.backend-status', `GET ${app('/backend')}`, 200, { has: { name: 'board', state: 'unsupported' } }],
  ['F28.backend-status', `GET ${K}/installed/none/backend`, 200, { has: { state: 'missing' } }],
  [
    'F28.force-reinstall',
    `POST ${K}/install`,
    409,
    { body: source(), views: { [`GET ${app()}`]: { enabled: true } } },
  ],
  [
    'F28.force-reinstall',
    `POST ${K}/install`,
    200,
    { body: source({ force: true }), has: { enabled: true } },
  ],
  ...(['', '/bundle', '/icon'] as const).map((suffix): Row => [
    'F28.unknown-name',
    `GET ${K}/installed/none${suffix}`,
    404,
  ]),
  ['F28.unknown-name', `PATCH ${K}/installed/none`, 404, { body: { enabled: true } }],
  ['F28.unknown-name', `DELETE ${K}/installed/none`, 404],
  ['F28.unknown-name', `GET ${K}/installed/Not_Kebab`, 422],
  ['F28.unknown-name', `GET! ${app()}`, 401],
  ['F28.unknown-name', `GET? ${app('/bundle')}`, 401],
  [
    'F28.uninstall',
    `DELETE ${app()}`,
    200,
    {
      views: {
        [`GET ${app()}`]: 404,
        [`GET ${K}/installed`]: { canvas_extensions: [] },
        [`DELETE ${app()}`]: 404,
        [`GET ${app('/backend')}`]: { state: 'missing' },
      },
    },
  ],
]

const LATER: readonly Row[] = [
  [
    'F13.scoped-bad-id',
    `POST ${C}/none/bash/execute_bash_command`,
    404,
    { body: { command: 'pwd' }, differs: 'an id is any text here' },
  ],
  [
    'F18.secret-empty-value',
    `PUT ${S}/secrets`,
    422,
    { body: { name: 'EMPTY', value: '' }, views: { [`GET ${S}/secrets/EMPTY`]: 404 } },
  ],
  [
    'F18.dangling-pointers',
    `PATCH ${S}`,
    404,
    {
      body: { active_agent_profile_id: UNKNOWN },
      views: { [`GET ${S}`]: { active_agent_profile_id: null } },
    },
  ],
  [
    'F18.secret-name-contract',
    'GET /openapi.json',
    200,
    { has: { paths: { '/api/settings/secrets/{name}': { get: { responses: { 422: {} } } } } } },
  ],
  [
    'F20.delete-guarded',
    `DELETE ${P}/bare`,
    409,
    {
      views: {
        [`GET ${P}/bare`]: { api_key_set: false },
        [`GET ${AP}/${'n'.repeat(64)}`]: { profile: { llm_profile_ref: 'bare' } },
      },
    },
  ],
  ['F20.json-alias-guard', `GET ${P}/bare.json`, 404, { differs: 'a name with this suffix is another name' }],
  [
    'F20.validate-unreachable-bounded',
    `POST ${P}/draft/validate`,
    200,
    { body: { llm }, has: { valid: false }, lacks: 'sk-hidden-13', views: { [`GET ${P}/draft`]: 404 } },
  ],
  [
    'F21.materialize-valid',
    `POST ${AP}/${'n'.repeat(64)}/materialize`,
    200,
    {
      has: { valid: true, errors: [], llm_profile_resolved: true, llm_api_key_set: false },
      views: { [`GET ${AP}/${'n'.repeat(64)}`]: { profile: { revision: 0 } } },
    },
  ],
  [
    'F21.materialize-dangling',
    `POST ${AP}/draft/materialize`,
    200,
    {
      body: { profile: { llm_profile_ref: 'gone', mcp_server_refs: ['none'] } },
      has: {
        valid: false,
        dangling_mcp_server_refs: ['none'],
        resolved_settings: null,
        llm_profile_resolved: false,
      },
    },
  ],
  [
    'F21.dangling-llm-report',
    `POST ${AP}/draft/materialize`,
    200,
    {
      body: { profile: { llm_profile_ref: 'gone' } },
      has: { errors: [expect.stringContaining('gone')] },
    },
  ],
  [
    'F21.materialize-draft',
    `POST ${AP}/draft/materialize`,
    200,
    {
      body: { profile: { llm_profile_ref: 'bare', mcp_server_refs: [] } },
      has: { valid: true, resolved_mcp_servers: [] },
      views: { [`GET ${AP}/draft`]: 404 },
    },
  ],
  ['F21.materialize-draft', `POST ${AP}/draft/materialize`, 422, { body: { profile: {}, extra: 1 } }],
  [
    'F20.rename',
    `POST ${P}/bare/rename`,
    200,
    {
      body: { new_name: 'kept' },
      views: { [`GET ${AP}/${'n'.repeat(64)}`]: { profile: { llm_profile_ref: 'kept', revision: 0 } } },
    },
  ],
  ['F21.json-suffix-identity', `POST ${AP}/x.json`, 201, { body: { llm_profile_ref: 'bare' } }],
  ['F21.json-suffix-identity', `GET ${AP}/x.json`, 200, { save: ['AJ', 'profile'] }],
  [
    'F21.json-suffix-identity',
    `POST ${AP}/x.json`,
    201,
    {
      body: { llm_profile_ref: 'bare' },
      views: { [`GET ${AP}/x.json`]: { profile: { id: '{AJ.id}', revision: 1 } }, [`GET ${AP}/x`]: 404 },
    },
  ],
]

/** Features without a row, by reason. */
const UNTESTED: Readonly<Record<string, string>> = {
  'in session-socket.test.ts':
    'F07.sync-first F07.snapshot-transient F07.full-replay F07.resume-cursor F07.live-durable F07.live-order F07.replay-then-live F07.send-message F07.error-frame F07.error-non-json F07.reject-non-user F07.auth-frame-ignored F07.auth F07.unknown-conversation F07.progress-not-replayed F07.frame-too-large F07.deleted-close',
  'differs: the id of an event is not known before it is appended, so `item_aborted` retires a reply':
    'F07.progress-frames F07.item-aborted',
  'differs: a wrong cursor closes the socket with 4400, not with HTTP 403': 'F07.bad-handshake',
  'in sockets.test.ts, socket-keys.test.ts and socket-ends.test.ts':
    'F02.ws-first-frame F02.ws-first-frame-reject F02.ws-auth-timeout F06.ws-live F06.ws-snapshot F06.ws-handshake F06.ws-delete-close F06.ws-replay-all F06.ws-replay-since F06.ws-bad-frame F06.ws-send F07.subscriber-limit',
  'differs: keys are never in a URL': 'F02.ws-legacy-key F02.ws-legacy-reject',
  'needs a restart, and this table has one server; other tests cover restarts and crashes':
    'F01.uptime-restart F02.rotate-key F04.restart-persist F04.read-no-hydrate F05.restart-running-graceful F05.restart-keeps-status F05.restart-hard-running F05.pause-running-crash F06.restart-persist F07.restart-resume F08.secrets-restart F08.secrets-unsaved-restart F10.restart-persist F10.restart-cold-calls F14.restart F15.scoped-restart F17.persist-restart F18.persist-restart F18.secret-key-rotation F19.restart F20.persist-restart F20.secret-key-rotation F21.restart',
  'needs a service with few runs: in run-requests.test.ts': 'F05.run-capacity F08.confirm-capacity',
  'differs: a message beyond the limit of runs is rejected and not appended': 'F06.send-run-limit',
  'in test/clients, which drives the TypeScript client':
    'F15.ts-client F17.ts-client F18.ts-client F20.ts-client F21.ts-client',
  'needs the Python SDK':
    'F14.sdk-workspace F15.sdk-workspace F18.sdk-remote-workspace F18.sdk-clone-repos F20.sdk-get-llm F20.sdk-get-llm-linked',
  'in stored-secrets.test.ts and llm-validation.test.ts':
    'F18.encrypted-at-rest F18.no-cipher F20.key-encrypted-at-rest F20.no-cipher F20.validate-rejects F20.validate-provider-errors',
  'in profiles.test.ts': 'F20.profile-limit',
  'differs: no header shows a secret': 'F18.roundtrip F20.save-encrypted-roundtrip',
  'differs: the store is not a file that can be corrupt or locked':
    'F07.seq-on-disk F17.corrupted-file F17.future-schema F17.io-error F17.noop-write-untouched F17.noop-write-readonly F17.persistence-location F17.shared-dir F18.corrupted-files F20.corrupt-files F20.store-busy F20.store-busy-responsive F21.activate-corrupt-settings F21.corrupt-file F21.store-busy F21.launch-store-busy F21.busy-blocks-server',
  'differs: the agent is a function of the operator, with its own tools, terminal, condenser and titles':
    'F01.preload-tools F04.create-agent-profile F04.title-llm-profile F05.pause-tool-step F05.interrupt-tool-call F08.secrets-terminal F08.secrets-override F08.secrets-lookup F08.secrets-lookup-self F08.secrets-profile-scope F08.confirm-real F10.condense-llm F10.condense-llm-failure F10.condense-status F15.agent-changes F20.activate-conversation F20.activate-acp F21.conversation-start F21.secret-scope F21.launch-additions F21.acp-kind F21.acp-skill-sourcing F21.seed-acp F21.delete-active-acp-reset',
  'not supported: static files, and a workspace cookie':
    'F01.static-files F01.debug-tracebacks F02.workspace-session-mint F02.workspace-cookie-access F02.workspace-session-delete F02.workspace-cookie-root-path F02.workspace-session-ipv6-loopback F02.cors-workspace-routes',
  'in bash-events-socket.test.ts': 'F13.ws-live F13.ws-command F13.ws-resend-all F13.ws-subscriber-cap',
  'in canvas-extensions.test.ts': 'F28.broken-install F28.restart-persistence',
  'differs: only installed extensions exist, and their programs are not started':
    'F28.list-discovery F28.install-ref-cached F28.backend-approval-gate F28.backend-prepare F28.backend-start F28.backend-stop F28.backend-logs F28.backend-start-fails F28.backend-inherit-environment F28.disable-stops-backend F28.prepare-corrupt-archive F28.status-probe-latch F28.status-exit-hang F28.hard-restart-orphan F28.ts-client',
  'not supported: provider connections and curated models':
    'F20.activate-dangling-provider F20.activate-linked-provider F23.conn-create F23.conn-key-encrypted F23.conn-create-validation F23.conn-update F23.conn-rotate-key F23.delete-guard F23.conn-delete F23.conn-limit F23.linked-run',
  'not supported: archives of folders':
    'F14.archive-tar F14.archive-excludes F14.archive-git-delta F14.archive-auto-base F14.archive-nested-repo F14.archive-format-doc F14.archive-errors F14.scoped-trajectory-archive',
  'not supported: a persistent command history, and unlimited output':
    'F13.persist-restart F13.retention F13.retention-rolling F13.output-chunks F13.execute-large-output',
  'not supported: worktrees, observability headers, and the search of repositories':
    'F04.create-worktree F04.create-observability F04.create-observability-precedence F15.repo-search-token F15.repo-search-errors F15.repo-search-unreachable F15.repo-search-timeout F15.repo-search-github',
  'not supported: tests of MCP connections, and their OAuth':
    'F19.test-stdio F19.test-tool-errors F19.test-connect-failures F19.test-timeout F19.test-validation F19.oauth-start-errors F19.oauth-unknown-job F19.oauth-flow',
}

const ROWS = [
  STATUS,
  AUTH,
  LIFECYCLE,
  RUNS,
  EVENTS,
  CONFIRMATION,
  BRANCHES,
  COMMANDS,
  FILES,
  GIT,
  SETTINGS,
  MCP,
  PROFILES,
  WORKSPACES,
  AGENTS,
  SWITCHES,
  EDITOR,
  CATALOG,
  LISTS,
  EXTENSIONS,
  LATER,
].flat()

let client: Client
let homeFolder: ReturnType<typeof folder>
let apps: ReturnType<typeof folder>
const vars: Record<string, unknown> = {}

beforeAll(async () => {
  homeFolder = folder()
  const home = realpathSync(homeFolder.path)
  vars['HOME'] = home
  apps = folder()
  vars['APPS'] = realpathSync(apps.path)
  const manifest = { schema_version: 1, name: 'board', display_name: 'Board', version: '1.0.0' }
  for (const [name, entrypoint] of [
    ['board', 'dist/index.js'],
    ['broken', '../index.js'],
  ] as const) {
    mkdirSync(join(apps.path, name, 'dist'), { recursive: true })
    writeFileSync(join(apps.path, name, 'dist/index.js'), 'export const board = 1')
    writeFileSync(join(apps.path, name, 'icon.svg'), '<svg/>')
    const text = JSON.stringify({ ...manifest, entrypoint, icon: 'icon.svg' })
    writeFileSync(join(apps.path, name, 'canvas-extension.json'), text)
  }
  mkdirSync(join(home, 'a'))
  const repo = join(home, 'repo')
  mkdirSync(repo)
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@x', ...args], {
      cwd: repo,
      encoding: 'utf8',
    })
  git('init', '-q', '-b', 'main')
  writeFileSync(join(repo, 'README.md'), 'first\n')
  git('add', '.')
  git('commit', '-qm', 'Begin')
  vars['SHA'] = git('rev-parse', 'HEAD').trim()
  writeFileSync(join(repo, 'README.md'), 'changed\n')
  writeFileSync(join(repo, 'notes.txt'), 'new\n')
  const provider = processSandboxes({ directory: home, givesFiles: true })
  client = await clientOver(memoryStore(), {
    keys: ['k', 'second'],
    secret: 'what settings are sealed with',
    workspace: directoryWorkspace(home),
    canvasExtensions: directoryExtensions(apps.path),
    run: { stuck: stuckDetector().reason },
    controlPlane: { provider },
    agent: (conversation, start, context) => {
      const { script } = Object(start['agent'] ?? {}) as { script?: string }
      if (script === 'hang') return hang
      if (script === 'fail') return fail
      return scriptedAgent(SCRIPTS[script ?? ''] ?? [])(conversation, start, context)
    },
  })
})
afterAll(async () => {
  await client.service.controlPlane.close()
  await client.engine.close()
  homeFolder.remove()
  apps.remove()
})

const offset = (path: string): unknown =>
  path.split('.').reduce<unknown>((value, name) => (Object(value) as Record<string, unknown>)[name], vars)

/** Replaces `{NAME}`; a string that is only a placeholder becomes the value itself. */
function filled<T>(value: T): T {
  if (typeof value === 'string') {
    const whole = /^\{([\w.]+)\}$/.exec(value)?.[1]
    if (whole !== undefined) return offset(whole) as T
    return value.replace(/\{([A-Z]\w*(?:\.\w+)*)\}/g, (_, name: string) => String(offset(name))) as T
  }
  if (Array.isArray(value)) return value.map(filled) as T
  if (typeof value !== 'object' || value === null) return value
  if ('asymmetricMatch' in value) {
    const { sample } = value as { sample?: unknown }
    if (typeof sample === 'object' && sample !== null) Object.assign(value, { sample: filled(sample) })
    return value
  }
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, filled(one)])) as T
}

async function ask(request: string, { body, headers = {} }: More = {}) {
  const [method = '', path = ''] = filled(request).split(' ')
  const key = method.endsWith('!') ? {} : { 'x-session-api-key': method.endsWith('?') ? 'wrong' : 'k' }
  const form = new FormData()
  if (typeof body === 'string') form.set('file', new File([body], 'x'))
  const json = body !== undefined && typeof body !== 'string'
  return client.send(path, {
    method: method.replace(/\W/, ''),
    headers: { ...key, ...(json && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: json ? JSON.stringify(filled(body)) : form }),
  })
}

function has(body: unknown, expected: unknown): void {
  const wanted = filled(expected)
  if (typeof wanted === 'object' && wanted !== null && !('asymmetricMatch' in wanted))
    expect(body).toMatchObject(wanted)
  else expect(body).toEqual(wanted)
}

it.each(ROWS.map(([feature, request, status, more = {}]) => ({ feature, request, status, more })))(
  '$feature: $request gets $status',
  async ({ request, status, more }) => {
    const answer = await ask(request, more)
    expect([answer.status, answer.status === status ? '' : answer.body]).toEqual([status, ''])
    if (more.has !== undefined) has(answer.body, more.has)
    if (more.lacks !== undefined) expect(JSON.stringify(answer.body)).not.toContain(more.lacks)
    if (more.save !== undefined) {
      const [name, field] = more.save
      vars[name] = answer.body
      if (field !== '') vars[name] = offset(`${name}.${field}`)
    }
    for (const [view, expected] of Object.entries(more.views ?? {})) {
      const isStatus = typeof expected === 'number' && expected >= 400
      for (const deadline = performance.now() + 300_000; ;) {
        const { status: result, body } = await ask(view)
        try {
          if (isStatus) expect([view, result]).toEqual([view, expected])
          else has(body, expected)
          break
        } catch (error) {
          if (performance.now() > deadline) throw error
          await sleep(5)
        }
      }
    }
  },
)

it('an upload without a key writes no file', () => {
  expect(existsSync(join(String(vars['HOME']), 'a/stolen'))).toBe(false)
})

it('the rows cover at least 260 features, and every other feature has one reason', () => {
  const requests = new Set(ROWS.map(([feature]) => feature))
  const listed = Object.values(UNTESTED).flatMap((names) => names.split(' '))
  expect(listed.filter((name, index) => requests.has(name) || listed.indexOf(name) !== index)).toEqual([])
  expect([...requests, ...listed].filter((name) => !/^F\d\d\.[a-z0-9-]+$/.test(name))).toEqual([])
  expect(requests.size).toBeGreaterThanOrEqual(260)
  expect(requests.size + listed.length).toBeGreaterThanOrEqual(380)
})
