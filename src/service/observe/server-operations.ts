/** The operations that say whether a service is up, whether it can serve, and what it is. */

import type { Store } from '../../store/contract/store.ts'
import { type Operation, operation } from '../http/operation.ts'
import { HttpProblem } from '../http/problem.ts'
import type { Live } from '../live/live.ts'
import { VERSION } from '../version.ts'
import { writeProbe } from './readiness.ts'

/** The version of the interface that clients of agent servers go by. */
const INTERFACE = '1.44.0'

/** Whether the service is up, whether it can serve, and what it is. */
export const serverOperations = (
  version: string,
  store: Store,
  live: Live,
  canWrite = writeProbe(store),
): Operation[] => [
  operation(
    {
      method: 'get',
      path: '/',
      operationId: 'root',
      tag: 'Server',
      summary: 'What this is, and where it is described',
      open: true,
      replies: { 200: { description: 'Successful Response', schema: { type: 'object' } } },
    },
    () => ({ body: { title: 'Colloquy', docs: '/openapi.json', server_info: '/server_info' } }),
  ),
  ...['/alive', '/health'].map((path) =>
    operation(
      {
        method: 'get',
        path,
        operationId: path.slice(1),
        tag: 'Server',
        summary: 'Whether the service is up',
        open: true,
        replies: { 200: { description: 'Successful Response', schema: { type: 'object' } } },
      },
      () => ({ body: { status: 'ok' } }),
    ),
  ),
  operation(
    {
      method: 'get',
      path: '/ready',
      operationId: 'ready',
      tag: 'Server',
      summary: 'Whether the service can serve: for load balancers',
      open: true,
      replies: {
        200: { description: 'Successful Response', schema: { type: 'object' } },
        503: { description: 'The store is not there, or the service is going away' },
      },
    },
    async () => {
      if (live.closed) throw new HttpProblem(503, 'The service is going away.')
      // What is wrong with the store is shown to callers with a key, by any other operation.
      await store.listConversations({ limit: 1 }).catch(() => {
        throw new HttpProblem(503, 'The store does not respond.')
      })
      if (!(await canWrite())) throw new HttpProblem(503, 'The store is full: nothing can be written.')
      return { body: { status: 'ready' } }
    },
  ),
  operation(
    {
      method: 'get',
      path: '/server_info',
      operationId: 'server_info',
      tag: 'Server',
      summary: 'Versions and uptime',
      open: true,
      replies: { 200: { description: 'Successful Response', schema: { type: 'object' } } },
    },
    () => ({
      body: {
        title: 'Colloquy',
        version: INTERFACE,
        sdk_version: INTERFACE,
        colloquy_version: VERSION,
        application_version: version,
        uptime: performance.now() / 1_000,
        docs: '/openapi.json',
      },
    }),
  ),
]
