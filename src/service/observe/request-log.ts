import type { Handled } from '../http/app.ts'
import { redactForClient } from '../http/problem.ts'
import type { Metrics } from './metrics.ts'

/** An entry of the request log. The `RequestLog` function writes it. */
export interface RequestLogLine {
  readonly time: string
  readonly level: 'info' | 'warn' | 'error'
  readonly message: string
  readonly request_id?: string
  readonly [field: string]: string | number | boolean | null | undefined
}

/** Receives each entry of the request log. */
export type RequestLog = (line: RequestLogLine) => void

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

export function observeRequests(metrics: Metrics, log: RequestLog | null): () => (handled: Handled) => void {
  const requests = metrics.counter('colloquy_http_requests_total', 'Requests served.')
  const times = metrics.histogram(
    'colloquy_http_request_duration_seconds',
    'Time from the request to the head of its response.',
    SECONDS,
  )
  let waiting = 0
  metrics.measured('colloquy_http_requests_in_flight', 'Requests under way.', () => waiting)
  return () => {
    waiting += 1
    return ({ requestId, method, path, operation, status, milliseconds }) => {
      waiting -= 1
      const name = operation?.operationId ?? 'none'
      requests.record(1, { operation: name, status: String(status) })
      times.record(milliseconds / 1_000, { operation: name })
      log?.({
        time: new Date().toISOString(),
        level: status >= 500 ? 'error' : 'info',
        message: 'request',
        request_id: requestId,
        method,
        path: redactForClient(path),
        operation: name,
        status,
        milliseconds: Math.round(milliseconds * 1_000) / 1_000,
      })
    }
  }
}
