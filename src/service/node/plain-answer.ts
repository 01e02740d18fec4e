/** Raw HTTP responses, for requests that never reach a route. */

import { STATUS_CODES } from 'node:http'

/** With its head; the connection ends after it. */
export function plainAnswer(status: number, detail: string = STATUS_CODES[status] ?? ''): string {
  const body = JSON.stringify({ detail })
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json\r\nX-Content-Type-Options: nosniff\r\n`
  return `${head}Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`
}
