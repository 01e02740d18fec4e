/**
 * A small agent server that implements the interface without the engine. It stores its own log in a folder
 * and calls a model through OpenAI Chat Completions. It passes the cases of `colloquy/testing/server`.
 *
 *   FOLDER=data MODEL_URL=https://api.example.com node examples/agent-server/server.ts
 *
 * PORT is the port (default: a free one), API_KEY the required key (default: none).
 */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { type WebSocket, WebSocketServer } from 'ws'
import { Conversations } from './conversations.ts'
import type { Log, LogEvent } from './log.ts'
import { countEvents, invalid, readSearch, Refusal, searchEvents, withoutSecrets } from './search.ts'

const { FOLDER = '.', MODEL_URL = '', PORT = '0', API_KEY } = process.env

const conversations = new Conversations(FOLDER, MODEL_URL)

type Body = Readonly<Record<string, unknown>>

interface Request {
  readonly log: Log
  readonly body: Body
  readonly query: URLSearchParams
  readonly eventId: string
  readonly lastEventId: string | null
}

const infoOf = (log: Log) => ({
  id: log.id,
  execution_status: log.status,
  leaf_event_id: log.head,
  head_is_empty: log.head === null,
  event_count: log.events.length,
  pending_action_ids: log.pending().flatMap(({ id, action }) => (action === null ? [] : [id])),
  created_at: log.events[0]?.timestamp ?? null,
  updated_at: log.events.at(-1)?.timestamp ?? null,
})

const SUCCESS = { success: true }

const toClient = (event: LogEvent): unknown => withoutSecrets(event)

/** Handlers of one conversation, by method and the rest of the path. */
const ROUTES: Readonly<Record<string, (request: Request) => unknown>> = {
  'GET ': ({ log }) => infoOf(log),
  'DELETE ': ({ log }) => {
    conversations.delete(log)
    return SUCCESS
  },
  'POST /run': ({ log }) => {
    conversations.run(log)
    return SUCCESS
  },
  'POST /pause': ({ log }) => {
    conversations.pause(log)
    return SUCCESS
  },
  'POST /interrupt': async ({ log }) => {
    await conversations.interrupt(log)
    return SUCCESS
  },
  'POST /navigate': ({ log, body }) => {
    conversations.navigate(log, stringOrNull(body, 'event_id'))
    return infoOf(log)
  },
  'POST /fork': ({ log, body }) =>
    infoOf(
      conversations.fork(log, stringOrNull(body, 'from_event_id'), stringOrNull(body, 'id') ?? undefined),
    ),
  'POST /confirmation_policy': ({ log, body }) => {
    log.update('confirmation_policy', body['policy'] ?? null)
    return SUCCESS
  },
  'POST /events': ({ log, body }) => {
    const event_id = conversations.sendMessage(log, body['content'], stringOrNull(body, 'key'))
    if (body['run'] === true) conversations.join(log)
    return { ...SUCCESS, event_id }
  },
  'POST /events/respond_to_confirmation': ({ log, body }) => {
    if (typeof body['accept'] !== 'boolean') throw invalid('body', 'accept', 'bool_type', 'Must be a boolean')
    conversations.respond(log, body['accept'], stringOrNull(body, 'reason') ?? undefined)
    return SUCCESS
  },
  'GET /events/search': ({ log, query }) => searchEvents(log.events, readSearch(query), log.id),
  'GET /events/count': ({ log, query }) => countEvents(log.events, readSearch(query)),
  'GET /events/stream': ({ log, query, lastEventId }) =>
    new EventStream(log, lastEventId ?? query.get('after')),
  'GET /events/*': ({ log, eventId }) => {
    const event = log.get(eventId)
    if (event === null) throw new Refusal(404, 'Unknown event.')
    return toClient(event)
  },
}

/** Returns a string of the body, or null when absent. @throws Refusal 422 for any other value. */
function stringOrNull(body: Body, name: string): string | null {
  const value = body[name] ?? null
  if (value === null || typeof value === 'string') return value
  throw invalid('body', name, 'string_type', 'Must be a string')
}

/** A page of a public conversation; an empty page for any other. */
function searchShared(query: URLSearchParams): unknown {
  const id = query.get('conversation_id')
  if (id === null) throw invalid('query', 'conversation_id', 'missing', 'Field required')
  const log = conversations.find(id)
  const events = log?.isPublic === true ? log.events : []
  return searchEvents(events, readSearch(query), id, 'ConversationStateUpdateEvent')
}

async function respond(request: IncomingMessage): Promise<unknown> {
  const { pathname, searchParams: query } = new URL(request.url ?? '/', 'http://localhost')
  const method = request.method ?? 'GET'
  if (`${method} ${pathname}` === 'GET /api/shared-events/search') return searchShared(query)
  if (API_KEY !== undefined && request.headers['x-session-api-key'] !== API_KEY)
    throw new Refusal(401, 'API key required.')
  const body = await bodyOf(request)
  if (`${method} ${pathname}` === 'POST /api/conversations') {
    const id = stringOrNull(body, 'conversation_id')
    return infoOf((id === null ? null : conversations.find(id)) ?? conversations.create(id ?? undefined))
  }
  const shared = /^\/api\/v1\/app-conversations\/([^/]+)$/.exec(pathname)?.[1]
  if (method === 'PATCH' && shared !== undefined) {
    conversations.get(decodeURIComponent(shared)).update('public', body['public'] === true)
    return SUCCESS
  }
  const [, id, rest = ''] = /^\/api\/conversations\/([^/]+)(\/.*)?$/.exec(pathname) ?? []
  const eventId = /^\/events\/([^/]+)$/.exec(rest)?.[1] ?? ''
  const route = ROUTES[`${method} ${rest}`] ?? (eventId === '' ? undefined : ROUTES[`${method} /events/*`])
  if (id === undefined || route === undefined) throw new Refusal(404, 'Not Found')
  return route({
    log: conversations.get(decodeURIComponent(id)),
    body,
    query,
    eventId: decodeURIComponent(eventId),
    lastEventId: request.headers['last-event-id']?.toString() ?? null,
  })
}

async function bodyOf(request: IncomingMessage): Promise<Body> {
  const input = await text(request)
  if (input === '') return {}
  let value: unknown
  try {
    value = JSON.parse(input)
  } catch {
    throw invalid('body', '', 'json_invalid', 'Invalid JSON')
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Body
  throw invalid('body', '', 'dict_type', 'Must be an object')
}

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const send = (status: number, value: unknown): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
  }
  try {
    const answer = await respond(request)
    if (answer instanceof EventStream) answer.begin(response)
    else send(200, answer)
  } catch (error) {
    if (error instanceof Refusal) return send(error.status, { detail: error.detail })
    console.error(error)
    send(500, { detail: 'Internal Server Error' })
  }
}

/** Receives frames with their positions, then the end. */
interface Channel {
  readonly write: (text: string, position: number) => void
  readonly end: () => void
}

/** Sends the log after a position, then new events, until the returned function is called. */
function listen({ write, end }: Channel, log: Log, after: number): () => void {
  let last = after
  const send = (type: string, event: unknown): void =>
    write(JSON.stringify({ type, position: last, event }), last)
  const state = (type: string, key: string, value: unknown): void =>
    send(type, { kind: 'ConversationStateUpdateEvent', source: 'environment', key, value })
  if (last >= log.events.length) {
    last = -1
    state('reset', 'reset', null)
  }
  const from = last
  state('state', 'full_state', infoOf(log))
  const sendEvent = (event: LogEvent, position: number): void => {
    last = position
    send('event', toClient(event))
  }
  for (let index = from + 1; index < log.events.length; index += 1)
    sendEvent(log.events[index] as LogEvent, index)
  state('caught_up', 'caught_up', { position: last, replayed: last - from })
  const reader = {
    event: sendEvent,
    delta: (content: string) => send('delta', { kind: 'StreamingDeltaEvent', source: 'agent', content }),
    end,
  }
  log.readers.add(reader)
  return () => log.readers.delete(reader)
}

/** Server-sent events, whose ids are positions. */
class EventStream {
  readonly log: Log
  readonly after: number

  constructor(log: Log, after: string | null) {
    this.log = log
    this.after = Number(after ?? log.events.length - 1)
  }

  begin(response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
    const write = (text: string, position: number): void =>
      void response.write(`id: ${position}\ndata: ${text}\n\n`)
    response.on('close', listen({ write, end: () => response.end() }, this.log, this.after))
  }
}

/** Accepts a socket. If a key is required, the first frame must contain it. */
function accept(socket: WebSocket, url: URL): void {
  const id = /^\/sockets\/events\/([^/]+)$/.exec(url.pathname)?.[1] ?? ''
  const log = conversations.find(decodeURIComponent(id))
  const begin = (): void => {
    if (log === null) return socket.close(4004, 'Unknown conversation.')
    const write = (text: string): void => socket.send(text)
    const end = (): void => socket.close(4004, 'The conversation was deleted.')
    const after = Number(url.searchParams.get('after') ?? log.events.length - 1)
    socket.on('close', listen({ write, end }, log, after))
  }
  if (API_KEY === undefined) return begin()
  socket.once('message', (data) => {
    const isValidKey = String(data) === JSON.stringify({ type: 'auth', session_api_key: API_KEY })
    if (isValidKey) begin()
    else socket.close(4001, 'API key required.')
  })
}

const server = createServer((request, response) => void handle(request, response))
const sockets = new WebSocketServer({ server })
sockets.on('connection', (socket, request) => accept(socket, new URL(request.url ?? '/', 'http://localhost')))
server.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`serves at http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
