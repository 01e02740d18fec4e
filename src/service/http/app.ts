import { Hono } from 'hono'
import { TrieRouter } from 'hono/router/trie-router'
import { freezeJson } from '../../event/freeze.ts'
import { type AllowOrigin, EXPOSED, preflight } from './cors.ts'
import type { BodySpec, Operation, Reply } from './operation.ts'
import { readParameters, type ValidationError } from './parameters.ts'
import { HttpProblem, toProblem, valueError } from './problem.ts'

export interface Handled {
  readonly requestId: string
  readonly method: string
  /** Path without the query, which may contain private data. */
  readonly path: string
  readonly operation: Operation | null
  readonly status: number
  readonly milliseconds: number
}

export type Around = (
  request: Request,
  operation: Operation,
  work: () => Promise<Response>,
) => Promise<Response>

interface AppOptions {
  readonly requireUser: (request: Request) => Promise<unknown>
  readonly onFailure: (error: unknown, request: Request, requestId: string) => void
  readonly onRequest: (request: Request) => (handled: Handled) => void
  readonly around: Around
  readonly maxBodyBytes: number | undefined
  readonly allowOrigin: AllowOrigin
}

export function createApp(operations: readonly Operation[], options: AppOptions): Hono {
  const app = new Hono<{ Variables: { operation: Operation; requestId: string } }>({
    router: new TrieRouter(),
  })
  let methods: ReturnType<typeof methodsAt> | null = null
  const { maxBodyBytes = 16 * 2 ** 20 } = options
  app.use(async (context, next) => {
    const start = performance.now()
    const request = context.req.raw
    const requestId = requestIdOf(request.headers.get('x-request-id'))
    context.set('requestId', requestId)
    const done = options.onRequest(request)
    await next()
    context.header('X-Request-ID', requestId)
    // A response that quotes a client's text must not be rendered as a page or a script.
    context.header('X-Content-Type-Options', 'nosniff')
    const origin = request.headers.get('origin')
    if (origin !== null && options.allowOrigin(origin)) {
      context.header('Access-Control-Allow-Origin', origin)
      context.header('Access-Control-Expose-Headers', EXPOSED)
    }
    // Caches must store the response per origin.
    context.header('Vary', 'Origin', { append: true })
    done({
      requestId,
      method: request.method,
      path: context.req.path,
      operation: context.get('operation') ?? null,
      status: context.res.status,
      milliseconds: performance.now() - start,
    })
  })
  for (const operation of byPrecedence(operations)) {
    app.on(
      operation.method.toUpperCase(),
      operation.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      async (context) => {
        const request = context.req.raw
        const params = context.req.param() as Record<string, string>
        context.set('operation', operation)
        return options.around(request, operation, async () => {
          try {
            if (operation.authorize !== undefined) await operation.authorize(request)
            else if (operation.open !== true) await options.requireUser(request)
            return await callOperation(operation, request, params, maxBodyBytes)
          } catch (error) {
            return respondToError(error, request, operation, context.get('requestId'), options)
          }
        })
      },
    )
  }
  app.notFound((context) => {
    const allowed = (methods ??= methodsAt(operations))(context.req.path)
    const preflightResponse = preflight(context.req.raw, allowed, options.allowOrigin)
    if (preflightResponse !== null) return preflightResponse
    if (allowed.length === 0) return problem(new HttpProblem(404, 'Not Found'))
    const response = problem(new HttpProblem(405, 'Method Not Allowed'))
    response.headers.set('Allow', allowed.join(', '))
    return response
  })
  app.onError((error, context) =>
    respondToError(error, context.req.raw, {}, context.get('requestId') ?? '', options),
  )
  return app as unknown as Hono
}

async function callOperation(
  operation: Operation,
  request: Request,
  params: Readonly<Record<string, string>>,
  maxBodyBytes: number,
): Promise<Response> {
  const { searchParams } = new URL(request.url)
  const path = readParameters(operation.params, 'path', (name) => [params[name] ?? []].flat())
  const query = readParameters(operation.query ?? {}, 'query', (name) => searchParams.getAll(name))
  const body =
    operation.body === undefined
      ? { value: undefined }
      : await readBody(operation.body, request, maxBodyBytes)
  const errors = [path, query, body].flatMap((part) => ('errors' in part ? part.errors : []))
  if ('errors' in path || 'errors' in query || 'errors' in body) throw new HttpProblem(422, errors)
  const reply = await operation.handle({ path: path.values, query: query.values, body: body.value, request })
  if (reply instanceof Response) return reply
  if (operation.status === 204) return new Response(null, { status: 204 })
  if (operation.returns === undefined) return jsonResponse({ success: true }, operation.status)
  if (reply === undefined) throw new Error(`${operation.operationId} returned no response.`)
  return jsonResponse(reply, operation.status)
}

const JSON_HEADERS = { 'content-type': 'application/json', 'x-content-type-options': 'nosniff' }

export const jsonResponse = (body: Reply, status = 200): Response =>
  new Response(JSON.stringify(body), { status, headers: JSON_HEADERS })

const problem = ({ status, detail }: HttpProblem): Response => jsonResponse({ detail }, status)

function respondToError(
  error: unknown,
  request: Request,
  operation: Partial<Pick<Operation, 'params' | 'query' | 'body'>>,
  requestId: string,
  { onFailure }: AppOptions,
): Response {
  const known = error instanceof HttpProblem ? error : toProblem(error, operation)
  if (known !== null) return problem(known)
  onFailure(error, request, requestId)
  return jsonResponse({ detail: 'Internal Server Error' }, 500)
}

type BodyRead = { readonly value: unknown } | { readonly errors: readonly ValidationError[] }

async function readBody(body: BodySpec<unknown>, request: Request, maxBytes: number): Promise<BodyRead> {
  const bytes = await readBytes(request, maxBytes)
  let text
  try {
    text = UTF8.decode(bytes)
  } catch {
    return { errors: [notJson('The body is not UTF-8')] }
  }
  if (text === '') {
    if (body.optional === true) return { value: undefined }
    return { errors: [{ type: 'missing', loc: ['body'], msg: 'Field required', input: null }] }
  }
  let value
  try {
    value = JSON.parse(text)
  } catch (error) {
    // The parser's message quotes the text, which may contain a secret; the position is enough.
    const position = /position (\d+)/.exec(error instanceof Error ? error.message : '')?.[1] ?? ''
    const why =
      position === '' ? 'The body is not JSON' : `The body is not JSON from character ${position} on`
    return { errors: [notJson(why)] }
  }
  // Reject nesting that no schema could traverse, and numbers that JSON cannot represent.
  const issues = freezeJson(value)
  if (issues.length === 0) return body.read(value)
  return { errors: issues.map(({ loc, msg }) => valueError(['body', ...loc], msg)) }
}

const notJson = (error: string): ValidationError => ({
  type: 'json_invalid',
  loc: ['body'],
  msg: 'JSON decode error',
  ctx: { error },
})

const UTF8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Reads a request's body. @throws HttpProblem 400 if it is truncated, 413 if it has more than `maxBytes`, 415 if it
 * is compressed.
 */
export async function readBytes(request: Request, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const encoding = request.headers.get('content-encoding')?.trim().toLowerCase() ?? ''
  if (encoding !== '' && encoding !== 'identity')
    throw new HttpProblem(415, `Content-Encoding ${encoding} is not supported. Send the body uncompressed.`)
  const length = request.headers.get('content-length')
  if (Number(length) > maxBytes) throw tooLarge(maxBytes)
  // The server ends a body at its declared length. Reading the whole body at once is faster than a stream.
  const read =
    length === null ? readStream(request, maxBytes) : request.arrayBuffer().then((all) => new Uint8Array(all))
  const bytes = await read.catch((error: unknown) => {
    if (error instanceof HttpProblem) throw error
    throw new HttpProblem(400, 'The request body is incomplete. Send it again.')
  })
  if (bytes.byteLength > maxBytes) throw tooLarge(maxBytes)
  return bytes
}

async function readStream({ body }: Request, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const reader = body?.getReader()
  const chunks: Uint8Array[] = []
  let size = 0
  for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
    size += next.value.byteLength
    if (size > maxBytes) {
      // Do not await the cancellation. Its failure changes nothing.
      void reader?.cancel().catch(() => undefined)
      throw tooLarge(maxBytes)
    }
    chunks.push(next.value)
  }
  const bytes = new Uint8Array(size)
  let end = 0
  for (const chunk of chunks) {
    bytes.set(chunk, end)
    end += chunk.byteLength
  }
  return bytes
}

/** A body that is generated while it is sent. If the client disconnects, the generator ends. */
export function streamOf(pieces: AsyncIterator<Uint8Array>): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await pieces.next()
      if (done === true) controller.close()
      else controller.enqueue(value as Uint8Array<ArrayBuffer>)
    },
    cancel() {
      // Do not await `return`, because it resolves only at the next piece.
      void Promise.resolve(pieces.return?.()).catch(() => undefined)
    },
  })
}

const tooLarge = (maxBytes: number): HttpProblem =>
  new HttpProblem(413, `The body is larger than ${maxBytes} bytes.`)

const PARAMETER = /\{\w+\}/g

/** Sorts operations: fixed segments before parameters, so that `/search` is never read as an id. */
const byPrecedence = (operations: readonly Operation[]): Operation[] =>
  operations
    .map((operation) => ({ operation, key: routeKey(operation) }))
    .toSorted((a, b) => Number(a.key > b.key) - Number(a.key < b.key))
    .map(({ operation }) => operation)

const routeKey = ({ path }: Operation): string => path.replaceAll(/[^/{]+/g, '0').replaceAll('{0', '1')

export function methodsAt(operations: readonly Operation[]): (path: string) => string[] {
  const table = operations.map(({ method, path }) => ({
    method: method.toUpperCase(),
    pattern: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(PARAMETER, '[^/]+')}$`),
  }))
  return (path) => {
    const methods = table.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method)
    return [...new Set(methods.includes('GET') ? [...methods, 'HEAD'] : methods)]
  }
}

export const requestIdOf = (header: string | null): string =>
  header !== null && /^[\w.:-]{1,128}$/.test(header) ? header : crypto.randomUUID()
