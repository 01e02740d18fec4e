/** Records a span for each request if `@opentelemetry/api` is installed. */

import type { Around } from '../http/app.ts'

/** The part of `@opentelemetry/api` that this file uses. Declared here, so that its types are not required. */
interface TracingApi {
  readonly trace: {
    getTracer(name: string): { startSpan(name: string, options: object, context: unknown): Span }
    setSpan(context: unknown, span: Span): unknown
  }
  readonly context: { active(): unknown; with<T>(context: unknown, work: () => T): T }
  readonly propagation: { extract(context: unknown, carrier: unknown, getter: Getter): unknown }
}

interface Span {
  setAttribute(name: string, value: string | number): unknown
  setStatus(status: { readonly code: number; readonly message?: string }): unknown
  recordException(error: Error): unknown
  end(): void
}

interface Getter {
  keys(carrier: Headers): string[]
  get(carrier: Headers, key: string): string | undefined
}

const HEADERS: Getter = {
  keys: (headers) => [...headers.keys()],
  get: (headers, key) => headers.get(key) ?? undefined,
}

const SERVER = 1
const FAILED = 2

export function tracing(load: () => Promise<TracingApi | null> = installed): Around {
  const loaded = load()
  let api: TracingApi | null | undefined
  return async (request, operation, work) => {
    api ??= await loaded
    if (api === null) return work()
    const { trace, context, propagation } = api
    const { method, path } = operation
    const parent = propagation.extract(context.active(), request.headers, HEADERS)
    const span = trace.getTracer('colloquy').startSpan(
      `${method.toUpperCase()} ${path}`,
      {
        kind: SERVER,
        attributes: {
          'http.request.method': method.toUpperCase(),
          'http.route': path,
          'url.path': new URL(request.url).pathname,
          'colloquy.operation': operation.operationId,
        },
      },
      parent,
    )
    try {
      const response = await context.with(trace.setSpan(parent, span), work)
      span.setAttribute('http.response.status_code', response.status)
      if (response.status >= 500) span.setStatus({ code: FAILED })
      return response
    } catch (error) {
      span.setStatus({ code: FAILED })
      if (error instanceof Error) span.recordException(error)
      throw error
    } finally {
      span.end()
    }
  }
}

const installed = (): Promise<TracingApi | null> =>
  import('@opentelemetry/api').then((api) => api as unknown as TracingApi).catch(() => null)
