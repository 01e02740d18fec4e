/** Sends requests to a server that implements docs/interface.md, for conformance cases and `driveServer`. */

import { isObject } from '../../event/json.ts'
import type { EventKind } from '../../event/kinds.ts'
import type { JsonObject, JsonValue, Source } from '../../event/shapes.ts'
import type { Event } from '../../event/types.ts'
import type { Status } from '../../state/status.ts'
import { allPages } from '../../store/kit/query/page.ts'
import { LawBroken } from '../failure.ts'

/** Address and credentials of a server, and the WebSocket implementation. */
export interface ServerClientOptions {
  readonly url: string
  /** Sends requests. For a server in this process, pass the server's own `fetch`. Default: global `fetch`. */
  readonly fetch?: (request: Request) => Response | Promise<Response>
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as `X-Session-API-Key`, and as the first frame of a socket; never in a URL. */
  readonly apiKey?: string
  /** Default: the global `WebSocket`. */
  readonly WebSocket?: typeof WebSocket
}

/** Information about a conversation. Servers may add fields, and omit optional fields. */
export interface ServerConversation extends Readonly<Record<string, unknown>> {
  readonly id: string
  readonly execution_status: Status
  readonly event_count?: number
  readonly leaf_event_id?: string | null
  readonly pending_action_ids?: readonly string[]
}

/** A page of events (interface section 2.1). */
export interface ServerPage {
  readonly items: readonly Event[]
  readonly next_page_id: string | null
}

export interface EventFilterQuery {
  readonly kind?: EventKind
  readonly source?: Source
  readonly timestamp__gte?: string
  readonly timestamp__lt?: string
}

interface EventQuery extends EventFilterQuery {
  readonly sort_order?: 'TIMESTAMP' | 'TIMESTAMP_DESC'
  readonly page_id?: string | null
  readonly limit?: number
}

/** Query parameters. A list is sent as several parameters of the same name; null and undefined are left out. */
export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | null | undefined>>

interface SentRequest {
  readonly query?: Query
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

export interface Received<T = unknown> {
  readonly status: number
  /** JSON, or text if the content type is not JSON. */
  readonly body: T
  readonly headers: Headers
}

export function bodyOf<T>({ status, body }: Received<T>): T {
  if (status >= 200 && status < 300) return body
  throw new LawBroken('W1', `the server returned ${status}: ${JSON.stringify(body).slice(0, 500)}`)
}

/** Reads a page by its id; without an id, the first page. */
type ReadServerPage = (page_id?: string | null) => Promise<Received<ServerPage>>

export const serverPages = (read: ReadServerPage): AsyncGenerator<readonly Event[], void, undefined> =>
  allPages(async ({ cursor }) => {
    const { items, next_page_id } = bodyOf(await read(cursor))
    return { items, cursor: next_page_id ?? null }
  })

export type ServerClient = ReturnType<typeof serverClient>

/**
 * Returns a client of a server. Methods that return `Received` resolve with a response of any status, and
 * reject only if there is no response; `bodyOf` checks the status.
 */
export function serverClient(options: ServerClientOptions) {
  const send = async <T = unknown>(
    method: string,
    path: string,
    request?: SentRequest,
  ): Promise<Received<T>> => {
    const response = await responseTo(options, method, path, request)
    const { status, headers } = response
    const text = await response.text()
    const isJson = headers.get('content-type')?.startsWith('application/json') === true && text !== ''
    return { status, body: (isJson ? JSON.parse(text) : text) as T, headers }
  }
  const get = <T>(path: string, query: Query = {}) => send<T>('GET', path, { query })
  const post = <T>(path: string, body?: unknown) => send<T>('POST', path, { body })
  const command = (verb: string) => (id: string) => post(`${pathTo(id)}/${verb}`)
  const search = (id: string, query: EventQuery = {}) =>
    get<ServerPage>(`${pathTo(id)}/events/search`, { ...query })
  return {
    address: options,
    send,
    create: (body: JsonObject = {}) => post<ServerConversation>('/api/conversations', body),
    get: (id: string) => get<ServerConversation>(pathTo(id)),
    delete: (id: string) => send('DELETE', pathTo(id)),
    fork: (id: string, body: JsonObject = {}) => post<ServerConversation>(`${pathTo(id)}/fork`, body),
    say: (id: string, content: string | readonly object[], more: { run: boolean; key?: string }) =>
      post<{ readonly event_id?: string }>(`${pathTo(id)}/events`, {
        role: 'user',
        content: typeof content === 'string' ? [{ type: 'text', text: content }] : content,
        ...more,
      }),
    run: command('run'),
    pause: command('pause'),
    interrupt: command('interrupt'),
    resume: command('resume'),
    condense: command('condense'),
    navigate: (id: string, event_id: string | null) =>
      post<ServerConversation>(`${pathTo(id)}/navigate`, { event_id }),
    setPolicy: (id: string, policy: JsonObject | null) =>
      post(`${pathTo(id)}/confirmation_policy`, { policy }),
    respond: (id: string, accept: boolean, reason?: string) =>
      post(`${pathTo(id)}/events/respond_to_confirmation`, { accept, reason }),
    search,
    count: (id: string, query: EventFilterQuery) => get<number>(`${pathTo(id)}/events/count`, { ...query }),
    event: (id: string, eventId: string) => get<Event>(`${pathTo(id)}/events/${encodeURIComponent(eventId)}`),
    /** Searches a shared conversation's events; needs no API key (interface section 4.1). */
    searchShared: (query: Query) => get<ServerPage>('/api/shared-events/search', query),
    share: (id: string, isPublic: boolean) =>
      send('PATCH', `/api/v1/app-conversations/${encodeURIComponent(id)}`, { body: { public: isPublic } }),
    async events(id: string, query: EventQuery = {}): Promise<Event[]> {
      const all: Event[] = []
      for await (const items of serverPages((page_id = null) => search(id, { ...query, page_id })))
        all.push(...items)
      return all
    },
    connect: (id: string, query?: LiveQuery) => connectSocket(options, id, query),
    stream: (id: string, query?: StreamQuery) => eventStream(options, id, query),
  }
}

const pathTo = (id: string): string => `/api/conversations/${encodeURIComponent(id)}`

export function queryText(query: Query): string {
  const pairs = Object.entries(query).flatMap(([name, value]) => {
    if (value === undefined || value === null) return []
    return (typeof value === 'object' ? value : [value]).map((one): [string, string] => [name, String(one)])
  })
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`
}

async function responseTo(
  { url, fetch = globalThis.fetch, headers: extraHeaders, apiKey }: ServerClientOptions,
  method: string,
  path: string,
  { query = {}, body, headers, signal }: SentRequest = {},
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

export interface LiveFrame {
  /**
   * `event`: an event of the log. `delta`, `state`, `caught_up`, `reset`, `error`: a frame that is not an event
   * of the log.
   */
  readonly type: string
  /** Position from which to resume; null if the server does not send it. */
  readonly position: number | null
  readonly event: Event & { readonly key?: string; readonly value?: unknown }
}

function readLiveFrame(text: string): LiveFrame {
  const value: JsonValue = JSON.parse(text)
  const { type, position, event } = isObject(value) ? value : {}
  if (typeof type !== 'string' || !isObject(event)) throw new SyntaxError('The frame is not an envelope.')
  return { type, position: typeof position === 'number' ? position : null, event: event as never }
}

/** Where a live stream begins. Default: at the end of the log. */
interface LiveQuery {
  /** Position of the last event to skip; -1 for the whole log. */
  readonly after?: number
}

export interface ServerSocket {
  readonly frames: readonly LiveFrame[]
  /** Returns the first frame that fits, even if it arrived earlier. Rejects if the socket closes first. */
  readonly find: (fits: (frame: LiveFrame) => boolean) => Promise<LiveFrame>
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>
  readonly close: () => void
}

/** Opens a socket. If there is a key, sends it as the first frame. */
export function connectSocket(
  { url, apiKey, WebSocket: Socket = globalThis.WebSocket }: ServerClientOptions,
  id: string,
  query: LiveQuery = {},
): ServerSocket {
  const base = `${url.replace(/\/$/, '').replace(/^http/, 'ws')}/sockets/events/${encodeURIComponent(id)}`
  const socket = new Socket(`${base}${queryText({ format: 'envelope', ...query })}`)
  const frames: LiveFrame[] = []
  const closed = Promise.withResolvers<{ code: number; reason: string }>()
  let end: { readonly code: number; readonly reason: string } | null = null
  let changed = Promise.withResolvers<void>()
  const wake = (): void => {
    changed.resolve()
    changed = Promise.withResolvers()
  }
  const finish = (code: number, reason: string): void => {
    end ??= { code, reason }
    closed.resolve(end)
    wake()
  }
  socket.addEventListener('open', () => {
    if (apiKey !== undefined) socket.send(JSON.stringify({ type: 'auth', session_api_key: apiKey }))
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
  // For a failed connection, some implementations emit only this event.
  socket.addEventListener('error', () => finish(1006, 'The connection could not be made, or was lost.'))
  return {
    frames,
    async find(fits) {
      for (let index = 0; ;) {
        const frame = frames[index]
        if (frame === undefined && end === null) await changed.promise
        else if (frame === undefined)
          throw new Error(`The socket ended with ${end?.code} ${end?.reason} after ${frames.length} frames.`)
        else if (fits(frame)) return frame
        else index += 1
      }
    },
    closed: closed.promise,
    close: () => socket.close(),
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
  options: ServerClientOptions,
  id: string,
  { lastEventId, ...query }: StreamQuery = {},
): AsyncGenerator<LiveFrame, void, undefined> {
  const remaining = new AbortController()
  const response = await responseTo(options, 'GET', `${pathTo(id)}/events/stream`, {
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
