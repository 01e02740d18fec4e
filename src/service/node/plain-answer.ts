/** Raw HTTP responses, for requests that never reach a route. */

import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'

/** Whether a WebSocket is asked for, and nothing else. */
export const asksForWebSocket = ({ headers }: Pick<IncomingMessage, 'headers'>): boolean =>
  headers.upgrade?.trim().toLowerCase() === 'websocket'

/**
 * Gives the server a connection anew, from the head of its request on, without what offers another protocol. Node has
 * taken its parser from the connection by then; the option that asks before (`shouldUpgradeCallback`) is younger than
 * the oldest Node that this library runs on.
 * @param head what came behind the head of the request
 */
export function answerPlainly(server: Server, request: IncomingMessage, raw: Duplex, head: Buffer): void {
  raw.unshift(Buffer.concat([Buffer.from(headOf(request), 'latin1'), head]))
  server.emit('connection', raw)
}

/** Names in `Connection` that speak of the offer, and the fields of it. */
const OFFER: ReadonlySet<string> = new Set(['upgrade', 'http2-settings'])

function headOf({ method, url, httpVersion, rawHeaders }: IncomingMessage): string {
  let text = `${method} ${url} HTTP/${httpVersion}\r\n`
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = rawHeaders.slice(at, at + 2)
    const key = name.toLowerCase()
    if (OFFER.has(key)) continue
    const kept = key === 'connection' ? withoutOffer(value) : value
    if (key !== 'connection' || kept !== '') text += `${name}: ${kept}\r\n`
  }
  return `${text}\r\n`
}

const withoutOffer = (value: string): string =>
  value
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && !OFFER.has(name.toLowerCase()))
    .join(', ')

/** With its head; the connection ends after it. */
export function plainAnswer(status: number, detail: string = STATUS_CODES[status] ?? ''): string {
  const body = JSON.stringify({ detail })
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json\r\nX-Content-Type-Options: nosniff\r\n`
  return `${head}Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`
}

/** A header that was given several times is one, as Node joins them. */
export function headersOf({ headers }: Pick<IncomingMessage, 'headers'>): Headers {
  const pairs = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  )
  return new Headers(pairs)
}
