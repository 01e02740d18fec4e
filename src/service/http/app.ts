/** The fetch-standard app over the table of operations: every request passes the same checks in the same order. */

import { Hono } from 'hono'
import { freezeJson } from '../../event/freeze.ts'
import { type AllowOrigin, corsHeaders, preflight } from './cors.ts'
import type { Operation, Reply } from './operation.ts'
import { readParameters, type ValidationError } from './parameters.ts'
import { HttpProblem, toProblem } from './problem.ts'

/** One request and its response. */
export interface Handled {
  /** The request's own `X-Request-ID`, when it may be one; else a fresh one. */
  readonly requestId: string
  readonly method: string
  /** Without the query, which may hold what is private. */
  readonly path: string
  /** What was called; null where nothing is. */
  readonly operation: Operation | null
  readonly status: number
  /** From the request to the response's head. */
  readonly milliseconds: number
}

/** What the app calls. */
export interface AppOptions {
  /** Refuses a request that may not call the operation, by throwing a problem. */
  readonly authorize: (request: Request, operation: Operation) => Promise<void> | void
  /** Called with every failure that is the service's own. */
  readonly onFailure: (error: unknown, request: Request, requestId: string) => void
  /** Called when a request arrives; what it gives back is called with the response. */
  readonly onRequest: (request: Request) => (handled: Handled) => void
  /** Stands around the call of an operation. */
  readonly around: (
    request: Request,
    operation: Operation,
    work: () => Promise<Response>,
  ) => Promise<Response>
  /** Most bytes of a body. */
  readonly maxBodyBytes: number
  /** Pages of which other origins may use it. */
  readonly allowOrigin: AllowOrigin
}

const EMPTY = {}

/** Puts operations into an app. The order of the table does not matter. */
export function createApp(operations: readonly Operation[], options: AppOptions): Hono {
  const app = new Hono<{ Variables: { operation: Operation; requestId: string } }>()
  const methods = methodsAt(operations)
  app.use(async (context, next) => {
    const start = performance.now()
    const request = context.req.raw
    const requestId = requestIdOf(request.headers.get('x-request-id'))
    context.set('requestId', requestId)
    const done = options.onRequest(request)
    await next()
    context.header('X-Request-ID', requestId)
    // What is said of a client's own text is never a page or a script, whatever it looks like.
    context.header('X-Content-Type-Options', 'nosniff')
    const cors = corsHeaders(request, options.allowOrigin)
    for (const [name, value] of Object.entries(cors)) context.header(name, value)
    // Whatever keeps the response must keep it for this origin alone.
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
            await options.authorize(request, operation)
            return respond(await call(operation, request, params, options.maxBodyBytes))
          } catch (error) {
            return fail(error, request, operation, context.get('requestId'), options)
          }
        })
      },
    )
  }
  app.notFound((context) => {
    const allowed = methods(context.req.path)
    const asked = preflight(context.req.raw, allowed, options.allowOrigin)
    if (asked !== null) return asked
    if (allowed.length === 0) return problem(new HttpProblem(404, 'Not Found'))
    const response = problem(new HttpProblem(405, 'Method Not Allowed'))
    response.headers.set('Allow', allowed.join(', '))
    return response
  })
  app.onError((error, context) => fail(error, context.req.raw, {}, context.get('requestId') ?? '', options))
  return app as unknown as Hono
}

async function call(
  operation: Operation,
  request: Request,
  params: Readonly<Record<string, string>>,
  maxBodyBytes: number,
): Promise<Reply> {
  const { searchParams } = new URL(request.url)
  const path = readParameters(operation.params ?? EMPTY, 'path', (name) => {
    const value = params[name]
    return value === undefined ? [] : [value]
  })
  const query = readParameters(operation.query ?? EMPTY, 'query', (name) => searchParams.getAll(name))
  const body = await readBody(operation, request, maxBodyBytes)
  const errors = [path, query, body].flatMap((part) => ('errors' in part ? part.errors : []))
  if ('errors' in path || 'errors' in query || 'errors' in body) throw new HttpProblem(422, errors)
  return operation.handle({ path: path.values, query: query.values, body: body.value, request })
}

function respond(reply: Reply): Response {
  if (reply instanceof Response) return reply
  const { status = 200, body } = reply
  if (status === 204) return new Response(null, { status })
  return new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json' } })
}

function problem({ status, detail }: HttpProblem): Response {
  return respond({ status, body: { detail } })
}

function fail(
  error: unknown,
  request: Request,
  operation: Pick<Operation, 'params' | 'query' | 'body'>,
  requestId: string,
  { onFailure }: AppOptions,
): Response {
  const known = error instanceof HttpProblem ? error : toProblem(error, operation)
  if (known !== null) return problem(known)
  onFailure(error, request, requestId)
  return respond({ status: 500, body: { detail: 'Internal Server Error' } })
}

/** What reading a body gives. */
type BodyRead = { readonly value: unknown } | { readonly errors: readonly ValidationError[] }

/** Reads the body of an operation that takes one. O(bytes). @throws HttpProblem 413. */
async function readBody({ body }: Operation, request: Request, most: number): Promise<BodyRead> {
  if (body === undefined) return { value: undefined }
  const text = await readText(request, most)
  if (text === null) return { errors: [notJson('The body is not UTF-8')] }
  if (text === '') {
    if (body.optional === true) return { value: undefined }
    return { errors: [{ type: 'missing', loc: ['body'], msg: 'Field required', input: null }] }
  }
  let value
  try {
    value = JSON.parse(text)
  } catch (error) {
    // What a parser says quotes the text, which may hold a secret: its place is enough.
    const place = /position (\d+)/.exec(error instanceof Error ? error.message : '')?.[1] ?? ''
    const why = place === '' ? 'The body is not JSON' : `The body is not JSON from character ${place} on`
    return { errors: [notJson(why)] }
  }
  // Nesting that no schema could walk, and numbers that JSON cannot write back.
  const issues = freezeJson(value)
  if (issues.length === 0) return body.read(value)
  return {
    errors: issues.map(({ loc, msg }) => ({
      type: 'value_error',
      loc: ['body', ...loc],
      msg: `Value error, ${msg}`,
    })),
  }
}

const notJson = (error: string): ValidationError => ({
  type: 'json_invalid',
  loc: ['body'],
  msg: 'JSON decode error',
  ctx: { error },
})

/** Null for what is no UTF-8: its sender would not find again what it sent. */
async function readText(request: Request, most: number): Promise<string | null> {
  if (Number(request.headers.get('content-length') ?? 0) > most) throw tooLarge(most)
  if (request.body === null) return ''
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const reader = request.body.getReader()
  let text: string | null = ''
  let size = 0
  const decode = (bytes?: Uint8Array): void => {
    try {
      if (text !== null) text += decoder.decode(bytes, { stream: bytes !== undefined })
    } catch {
      text = null
    }
  }
  for (;;) {
    const { done, value } = await reader.read().catch(() => {
      throw new HttpProblem(400, 'The request body was cut off.')
    })
    if (done) {
      decode()
      return text
    }
    size += value.byteLength
    if (size > most) {
      // The rest is not waited for; a failure to cancel it changes nothing.
      void reader.cancel().catch(() => undefined)
      throw tooLarge(most)
    }
    decode(value)
  }
}

const tooLarge = (most: number): HttpProblem => new HttpProblem(413, `The body is larger than ${most} bytes.`)

const PARAMETER = /\{\w+\}/g

/** Words before parameters at the first place where two paths differ, so that `/search` is never taken for an id. */
const byPrecedence = (operations: readonly Operation[]): Operation[] =>
  operations
    .map((operation) => ({ operation, key: keyOf(operation) }))
    .toSorted((a, b) => Number(a.key > b.key) - Number(a.key < b.key))
    .map(({ operation }) => operation)

const keyOf = ({ path }: Operation): string =>
  path
    .split('/')
    .map((part) => (part.startsWith('{') ? '1' : '0'))
    .join('')

/** Which methods are served at a path; none for a path that nothing is at. */
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

const LEGAL = /^[\w.:-]{1,128}$/

/** What was given where that can stand in a header and a log, else a new one. */
export const requestIdOf = (given: string | null): string =>
  given !== null && LEGAL.test(given) ? given : crypto.randomUUID()
