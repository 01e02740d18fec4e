import { endsWithin } from '../../conversation/async.ts'
import { hasCode } from '../../event/errors.ts'
import type { Store } from '../../store/contract/store.ts'
import { operationsIn, type Operation } from '../http/operation.ts'
import { HttpProblem } from '../http/problem.ts'
import type { Live } from '../live/live.ts'
import { VERSION } from '../version.ts'
import type { Metrics } from './metrics.ts'

const operation = operationsIn('Server')

const INTERFACE = '1.44.0'

export const serverOperations = (
  version: string,
  store: Store,
  live: Live,
  hasFiles: boolean,
  canWrite = writeProbe(store),
): Operation[] => [
  operation('get /', {
    operationId: 'root',
    summary: 'Name and documentation of this service',
    open: true,
    returns: 'object',
    handle: () => ({ title: 'Colloquy', docs: '/openapi.json', server_info: '/server_info' }),
  }),
  ...(['/alive', '/health'] as const).map((path) =>
    operation(`get ${path}`, {
      operationId: path.slice(1),
      summary: 'Whether the service is up',
      open: true,
      returns: 'object',
      handle: () => ({ status: 'ok' }),
    }),
  ),
  operation('get /ready', {
    operationId: 'ready',
    summary: 'Whether the service can serve requests, for load balancers',
    open: true,
    returns: 'object',
    otherwise: { 503: 'The store does not respond, or the service is shutting down' },
    async handle() {
      if (live.isClosing) throw new HttpProblem(503, 'The service is shutting down.')
      // The response omits the store's error, because this operation needs no key.
      const isWritable = store.listConversations({ limit: 1 }).then(canWrite)
      if (!(await endsWithin(READY_TIMEOUT, isWritable).catch(() => false)))
        throw new HttpProblem(503, 'The store cannot be read. Check its database.')
      if (!(await isWritable))
        throw new HttpProblem(
          503,
          'The store is full or read-only. Free disk space, or connect to a primary.',
        )
      return { status: 'ready' }
    },
  }),
  operation('get /server_info', {
    operationId: 'server_info',
    summary: 'Versions and uptime',
    open: true,
    returns: 'object',
    handle: () => ({
      title: 'Colloquy',
      version: INTERFACE,
      sdk_version: INTERFACE,
      colloquy_version: VERSION,
      application_version: version,
      uptime: performance.now() / 1_000,
      docs: '/openapi.json',
      conversation_runtime: 'local',
      capabilities: [
        'idempotent_conversation_create_v1',
        ...(hasFiles ? ['conversation_runtime_routes_v1'] : []),
      ],
    }),
  }),
]

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "frame-ancestors 'none'",
}

/** Returns the operation `/inspect`. The page contains no conversation, so it needs no key. */
export const inspectorOperations = (page: string | null): Operation[] =>
  page === null
    ? []
    : [
        operation('get /inspect', {
          operationId: 'inspect',
          summary: 'A page that shows conversations event by event',
          open: true,
          returns: 'string',
          mediaType: 'text/html',
          handle: () => new Response(page, { headers: HEADERS }),
        }),
      ]

/** Returns the operation `/metrics`, which needs a key if keys are configured. */
export const showMetrics = (metrics: Metrics): Operation[] => [
  operation('get /metrics', {
    operationId: 'metrics',
    summary: 'Metrics in the text format of Prometheus',
    returns: 'string',
    mediaType: 'text/plain',
    handle: () =>
      new Response(metrics.text(), {
        headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
      }),
  }),
]

/** Milliseconds after which a store that does not respond makes the service unready. */
const READY_TIMEOUT = 1_500

/** Bytes that a write probe stores: more than a database page, so that the probe needs new space. */
const PROBE_BYTES = 16_384

const PROBE_INTERVAL = 5_000

/**
 * Returns a function that checks whether the store accepts writes. The function overwrites an item of 16 KiB,
 * at most once in five seconds. It returns false only if the store is full or read-only, because reads detect
 * all other failures. Never rejects.
 */
export function writeProbe(store: Store, now = () => performance.now()): () => Promise<boolean> {
  let until = -Infinity
  let outcome: Promise<boolean> = Promise.resolve(true)

  const write = async (): Promise<boolean> => {
    const bytes = crypto.getRandomValues(new Uint8Array(PROBE_BYTES / 2))
    const noise = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
    try {
      await store.changeItems([{ collection: 'ready', id: 'probe', put: { body: { noise } } }])
      return true
    } catch (error) {
      return !hasCode(error, 'store_full') && !hasCode(error, 'store_read_only')
    }
  }
  return () => {
    if (now() >= until) {
      until = now() + PROBE_INTERVAL
      outcome = write()
    }
    return outcome
  }
}
