import { checkOptionNames } from '../../event/check-value.ts'
import type { EventKind } from '../../event/kinds.ts'
import type { JsonObject, JsonValue, Source } from '../../event/shapes.ts'
import type { Event } from '../../event/types.ts'
import type { Status } from '../../state/status.ts'
import { allPages } from '../../store/kit/query/page.ts'
import { LawBroken } from '../failure.ts'
import { isObject } from '../../event/json.ts'

/** Address of a server, and the WebSocket implementation. */
export interface ServerClientOptions extends ServerAddress {
  /** Default: the global one. */
  readonly WebSocket?: typeof WebSocket
}

/** A conversation. Servers may add fields, or leave optional ones out. */
export interface ServerConversation extends Readonly<Record<string, unknown>> {
  readonly id: string
  readonly execution_status: Status
  readonly event_count?: number
  readonly leaf_event_id?: string | null
  readonly pending_action_ids?: readonly string[]
}

/** A page of events (interface 2.1). */
export interface ServerPage {
  readonly items: readonly Event[]
  readonly next_page_id: string | null
}

/** Query parameters of a count of events. */
export interface EventFilterQuery {
  readonly kind?: EventKind | undefined
  readonly source?: Source | undefined
  readonly body?: string | undefined
  readonly timestamp__gte?: string | undefined
  readonly timestamp__lt?: string | undefined
}

/** Query parameters of a search of events. */
export interface EventQuery extends EventFilterQuery {
  readonly sort_order?: 'TIMESTAMP' | 'TIMESTAMP_DESC' | undefined
  readonly page_id?: string | null | undefined
  readonly limit?: number | undefined
}

/** Options of `say`. */
export interface SayOptions {
  /** Whether to start a run. Default: true. */
  readonly run?: boolean
  readonly key?: string
}

/**
 * Sends requests. Methods that return `Received` resolve with a response of any status, and reject only if
 * there is no response; `bodyOf` checks the status.
 */
export interface ServerClient {
  readonly address: ServerAddress
  readonly send: <T = unknown>(method: string, path: string, requested?: Asked) => Promise<Received<T>>
  readonly create: (body?: JsonObject) => Promise<Received<ServerConversation>>
  readonly get: (id: string) => Promise<Received<ServerConversation>>
  readonly delete: (id: string) => Promise<Received>
  readonly fork: (id: string, body?: JsonObject) => Promise<Received<ServerConversation>>
  readonly say: (
    id: string,
    content: string | readonly object[],
    options?: SayOptions,
  ) => Promise<Received<{ readonly event_id?: string }>>
  readonly run: (id: string) => Promise<Received>
  readonly pause: (id: string) => Promise<Received>
  readonly interrupt: (id: string) => Promise<Received>
  readonly resume: (id: string) => Promise<Received>
  readonly condense: (id: string) => Promise<Received>
  readonly navigate: (id: string, eventId: string | null) => Promise<Received<ServerConversation>>
  readonly setPolicy: (id: string, policy: JsonObject | null) => Promise<Received>
  readonly respond: (id: string, accept: boolean, reason?: string) => Promise<Received>
  readonly search: (id: string, query?: EventQuery) => Promise<Received<ServerPage>>
  readonly count: (id: string, query?: EventFilterQuery) => Promise<Received<number>>
  readonly event: (id: string, eventId: string) => Promise<Received<Event>>
  /** Searches the events of a shared conversation; the server requires no key (interface 4.1). */
  readonly searchShared: (query: Query) => Promise<Received<ServerPage>>
  readonly share: (id: string, isPublic: boolean) => Promise<Received>
  /** Returns the events of all pages of a search. @throws LawBroken if the server rejects a request. */
  readonly events: (id: string, query?: EventQuery) => Promise<Event[]>
  readonly connect: (id: string, query?: LiveQuery) => ServerSocket
  readonly stream: (id: string, query?: StreamQuery) => AsyncGenerator<LiveFrame, void, undefined>
  /**
   * Yields every frame after the position `after` (default: -1, the whole log), reconnecting as necessary,
   * until the signal is aborted. Throws an Error with the close code if the server ends the stream for good.
   */
  readonly follow: (
    id: string,
    options?: { readonly after?: number; readonly signal?: AbortSignal },
  ) => AsyncGenerator<LiveFrame, void, undefined>
}

/** Returns the body of a response of status 200 to 299. @throws LawBroken for any other status. */
export function bodyOf<T>({ status, body }: Received<T>): T {
  if (status >= 200 && status < 300) return body
  throw new LawBroken('W1', `the server returned ${status}: ${JSON.stringify(body).slice(0, 500)}`)
}

/** Reads a page by its id; without an id, the first page. */
type ReadServerPage = (page_id?: string | null) => Promise<Received<ServerPage>>

/** Yields the events of each page, in order. @throws LawBroken if the server rejects a request. */
export const serverPages = (read: ReadServerPage): AsyncGenerator<readonly Event[], void, undefined> =>
  allPages(async ({ cursor }) => {
    const { items, next_page_id } = bodyOf(await read(cursor))
    return { items, cursor: next_page_id ?? null }
  })

/**
 * Returns a client for the interface in docs/interface.md.
 * @example
 * const server = (request: Request) => Response.json({ asked: new URL(request.url).pathname })
 * const client = serverClient({ url: 'http://localhost', fetch: server })
 * bodyOf(await client.get('c')) // { asked: '/api/conversations/c' }
 */
export function serverClient(options: ServerClientOptions): ServerClient {
  const ask = <T>(method: string, path: string, requested?: Asked): Promise<Received<T>> =>
    send(options, method, path, requested)
  const deed =
    (verb: string) =>
    (id: string): Promise<Received> =>
      ask('POST', `${index(id)}/${verb}`)
  const search = (id: string, query: EventQuery = {}): Promise<Received<ServerPage>> =>
    ask('GET', `${index(id)}/events/search`, { query: { ...query } })
  return {
    address: options,
    send: ask,
    create: (body = {}) => ask('POST', '/api/conversations', { body }),
    get: (id) => ask('GET', index(id)),
    delete: (id) => ask('DELETE', index(id)),
    fork: (id, body = {}) => ask('POST', `${index(id)}/fork`, { body }),
    async say(id, content, options = {}) {
      checkOptionNames(options, 'run key')
      const { run = true, key } = options
      return ask('POST', `${index(id)}/events`, {
        body: {
          role: 'user',
          content: typeof content === 'string' ? [{ type: 'text', text: content }] : content,
          run,
          ...(key !== undefined && { key }),
        },
      })
    },
    run: deed('run'),
    pause: deed('pause'),
    interrupt: deed('interrupt'),
    resume: deed('resume'),
    condense: deed('condense'),
    navigate: (id, event_id) => ask('POST', `${index(id)}/navigate`, { body: { event_id } }),
    setPolicy: (id, policy) => ask('POST', `${index(id)}/confirmation_policy`, { body: { policy } }),
    respond: (id, accept, reason) =>
      ask('POST', `${index(id)}/events/respond_to_confirmation`, {
        body: { accept, ...(reason !== undefined && { reason }) },
      }),
    search,
    count: (id, query = {}) => ask('GET', `${index(id)}/events/count`, { query: { ...query } }),
    event: (id, eventId) => ask('GET', `${index(id)}/events/${encodeURIComponent(eventId)}`),
    searchShared: (query) => ask('GET', '/api/shared-events/search', { query }),
    share: (id, isPublic) =>
      ask('PATCH', `/api/v1/app-conversations/${encodeURIComponent(id)}`, { body: { public: isPublic } }),
    async events(id, query = {}) {
      const all: Event[] = []
      const read: ReadServerPage = (page_id = query.page_id) => search(id, { ...query, page_id })
      for await (const items of serverPages(read)) all.push(...items)
      return all
    },
    connect: (id, query) => connectSocket(options, id, query),
    stream: (id, query) => eventStream(options, id, query),
    follow: (id, input) => follow((query) => connectSocket(options, id, query), input),
  }
}

const index = (id: string): string => `/api/conversations/${encodeURIComponent(id)}`
/** A response. */
export interface Received<T = unknown> {
  readonly status: number
  /** JSON, or text if the content type is not JSON. */
  readonly body: T
  readonly headers: Headers
}

/** Query parameters. A list repeats the name; null and undefined are left out. */
export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | null | undefined>>

/** Address and credentials of a server. */
export interface ServerAddress {
  readonly url: string
  /** Sends requests. For a server in this process, pass the server's own `fetch`. Default: the global one. */
  readonly fetch?: (request: Request) => Response | Promise<Response>
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as `X-Session-API-Key`, and as the first frame of a socket; never in a URL. */
  readonly apiKey?: string
}

/** Query, body, headers and signal of a request. */
export interface Asked {
  readonly query?: Query
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

export function queryText(query: Query): string {
  const pairs = Object.entries(query).flatMap(([name, value]) => {
    if (value === undefined || value === null) return []
    return (typeof value === 'object' ? value : [value]).map((one): [string, string] => [name, String(one)])
  })
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`
}

async function requestOf(
  { url, fetch = globalThis.fetch, headers: extraHeaders, apiKey }: ServerAddress,
  method: string,
  path: string,
  { query = {}, body, headers, signal }: Asked = {},
): Promise<Response> {
  const request = new Request(`${url.replace(/\/$/, '')}${path}${queryText(query)}`, {
    method,
    headers: {
      ...(apiKey !== undefined && { 'x-session-api-key': apiKey }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...extraHeaders,
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal !== undefined && { signal }),
  })
  return fetch(request)
}

async function send<T>(
  address: ServerAddress,
  method: string,
  path: string,
  requested?: Asked,
): Promise<Received<T>> {
  const response = await requestOf(address, method, path, requested)
  const { status, headers } = response
  const text = await response.text()
  const isJson = headers.get('content-type')?.startsWith('application/json') === true && text !== ''
  return { status, body: (isJson ? JSON.parse(text) : text) as T, headers }
}

/** A frame of a live stream. */
export interface LiveFrame {
  /**
   * `event`: an event of the log. `delta`, `state`, `caught_up`, `reset`, `error`: a frame that only the
   * stream has.
   */
  readonly type: string
  /** Position from which to resume; null if the server does not send it. */
  readonly position: number | null
  readonly event: Event & { readonly key?: string; readonly value?: unknown }
}

/** Parses a frame. Puts a bare event into an envelope. */
function readLiveFrame(text: string): LiveFrame {
  const value: JsonValue = JSON.parse(text)
  if (!isObject(value)) throw new SyntaxError('The frame is not an object.')
  const { type, position, event } = value
  if (typeof type === 'string' && isObject(event))
    return { type, position: typeof position === 'number' ? position : null, event: event as never }
  const { kind, key } = value
  const isOwn = kind === 'ConversationStateUpdateEvent' && (key === 'full_state' || key === 'caught_up')
  return {
    type: kind === 'StreamingDeltaEvent' ? 'delta' : isOwn ? 'state' : 'event',
    position: null,
    event: value as never,
  }
}

/** Where a live stream begins. Default: at the end of the log. */
export interface LiveQuery {
  /** Position of the last event to skip; -1 for the whole log. */
  readonly after?: number
  readonly after_event_id?: string
  readonly resend_mode?: 'all' | 'since'
  readonly after_timestamp?: string
  /** Default: `envelope`. */
  readonly format?: 'event' | 'envelope'
}

/** A socket. Iterate over it to read its frames from the first. */
export interface ServerSocket extends AsyncIterable<LiveFrame> {
  readonly frames: readonly LiveFrame[]
  /** Returns the first frame that fits, past or future. Rejects when the socket closes first. */
  readonly find: (fits: (frame: LiveFrame) => boolean) => Promise<LiveFrame>
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>
  readonly send: (value: unknown) => void
  readonly close: () => void
}

/** Opens `/sockets/events/{id}`. The key, if any, is the first frame sent. */
export function connectSocket(
  {
    url,
    apiKey,
    WebSocket: Socket = globalThis.WebSocket,
  }: Pick<ServerAddress, 'url' | 'apiKey'> & { readonly WebSocket?: typeof WebSocket },
  id: string,
  query: LiveQuery = {},
): ServerSocket {
  const base = `${url.replace(/\/$/, '').replace(/^http/, 'ws')}/sockets/events/${encodeURIComponent(id)}`
  const socket = new Socket(`${base}${queryText({ format: 'envelope', ...query })}`)
  const frames: LiveFrame[] = []
  const closed = Promise.withResolvers<{ code: number; reason: string }>()
  const opened = Promise.withResolvers<void>()
  let end: { readonly code: number; readonly reason: string } | null = null
  const isOpen = (): boolean => end === null
  let changed = Promise.withResolvers<void>()
  const wake = (): void => {
    changed.resolve()
    changed = Promise.withResolvers()
  }
  const finish = (code: number, reason: string): void => {
    if (!isOpen()) return
    end = { code, reason }
    closed.resolve(end)
    opened.resolve()
    wake()
  }
  socket.addEventListener('open', () => {
    if (apiKey !== undefined) socket.send(JSON.stringify({ type: 'auth', session_api_key: apiKey }))
    opened.resolve()
  })
  socket.addEventListener('message', ({ data }) => {
    try {
      frames.push(readLiveFrame(String(data)))
    } catch {
      finish(1007, `It sent an invalid frame: ${String(data).slice(0, 200)}`)
      socket.close()
    }
    wake()
  })
  socket.addEventListener('close', ({ code, reason }) => finish(code, reason))
  // Some implementations emit only this for a failed connection.
  socket.addEventListener('error', () => finish(1006, 'The connection could not be made, or was lost.'))
  async function* fromFirst(): AsyncGenerator<LiveFrame, void, undefined> {
    for (let index = 0; ; index += 1) {
      while (index >= frames.length && isOpen()) await changed.promise
      const frame = frames[index]
      if (frame === undefined) return
      yield frame
    }
  }
  return {
    frames,
    async find(fits) {
      for await (const frame of fromFirst()) if (fits(frame)) return frame
      throw new Error(`The socket ended with ${end?.code} ${end?.reason} after ${frames.length} frames.`)
    },
    closed: closed.promise,
    send: (value) =>
      void opened.promise.then(() => {
        if (isOpen()) socket.send(JSON.stringify(value))
      }),
    close: () => socket.close(),
    async *[Symbol.asyncIterator]() {
      try {
        yield* fromFirst()
      } finally {
        socket.close()
      }
    },
  }
}

/** Where a server-sent event stream begins: as for a socket, or after the frame with the id `lastEventId`. */
export interface StreamQuery extends LiveQuery {
  readonly lastEventId?: string
}

/**
 * Yields the frames of `/api/conversations/{id}/events/stream` until the stream ends. A frame's position is the
 * `id` of its server-sent event.
 */
async function* eventStream(
  address: ServerAddress,
  id: string,
  { lastEventId, ...query }: StreamQuery = {},
): AsyncGenerator<LiveFrame, void, undefined> {
  const remaining = new AbortController()
  const path = `/api/conversations/${encodeURIComponent(id)}/events/stream`
  const response = await requestOf(address, 'GET', path, {
    query: { format: 'envelope', ...query },
    signal: remaining.signal,
    ...(lastEventId !== undefined && { headers: { 'last-event-id': lastEventId } }),
  })
  if (!response.ok || response.body === null)
    throw new Error(`The server refused the stream with ${response.status}: ${await response.text()}`, {
      cause: response.status,
    })
  try {
    let rest = ''
    for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
      const parts = (rest + piece).split('\n\n')
      rest = parts.pop() ?? ''
      for (const part of parts) {
        const frame = frameOf(part)
        if (frame !== null) yield frame
      }
    }
  } finally {
    remaining.abort()
  }
}

function frameOf(part: string): LiveFrame | null {
  const field = (name: string): string | null => {
    const lines = part.split('\n').filter((line) => line.startsWith(`${name}:`))
    return lines.length === 0 ? null : lines.map((line) => line.slice(name.length + 1).trimStart()).join('\n')
  }
  const data = field('data')
  if (data === null) return null
  const position = Number(field('id') ?? NaN)
  return { ...readLiveFrame(data), ...(Number.isInteger(position) && { position }) }
}

const FINAL: readonly number[] = [1000, 1002, 1003, 1007, 1008]
const isFinal = (code: number): boolean =>
  FINAL.includes(code) || (code >= 4000 && code < 4008) || code === 4400

/** Milliseconds before the next connection, if the last one had no frames. */
const PAUSE = 50

export async function* follow(
  connect: (query: LiveQuery) => ServerSocket,
  options: { readonly after?: number; readonly signal?: AbortSignal } = {},
): AsyncGenerator<LiveFrame, void, undefined> {
  checkOptionNames(options, 'after signal')
  const { after = -1, signal } = options
  let last = after
  const isOver = (): boolean => signal?.aborted === true
  while (!isOver()) {
    const socket = connect({ after: last })
    const stop = (): void => socket.close()
    signal?.addEventListener('abort', stop, { once: true })
    let count = 0
    try {
      for await (const frame of socket) {
        count += 1
        last = frame.position ?? last
        yield frame
      }
    } finally {
      signal?.removeEventListener('abort', stop)
    }
    if (isOver()) return
    const { code, reason } = await socket.closed
    if (isFinal(code)) throw new Error(`The server ended the stream with ${code} ${reason}`)
    if (count === 0) await new Promise((resolve) => setTimeout(resolve, PAUSE))
  }
}
