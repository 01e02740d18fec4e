import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'

/**
 * Serves an upgrade request as a plain request. Node has already detached the connection from its HTTP parser,
 * so this function passes the connection to the server again. A newer Node can avoid this with `shouldUpgradeCallback`.
 * @param head the bytes after the request head
 */
export function serveWithoutUpgrade(
  server: Server,
  request: IncomingMessage,
  raw: Duplex,
  head: Buffer,
): void {
  raw.unshift(Buffer.concat([Buffer.from(headOf(request), 'latin1'), head]))
  server.emit('connection', raw)
}

const OFFER: ReadonlySet<string> = new Set(['upgrade', 'http2-settings'])

function headOf({ method, url, httpVersion, rawHeaders }: IncomingMessage): string {
  let text = `${method} ${url} HTTP/${httpVersion}\r\n`
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = rawHeaders.slice(index, index + 2)
    const key = name.toLowerCase()
    if (OFFER.has(key)) continue
    const header = key === 'connection' ? withoutOffer(value) : value
    if (key !== 'connection' || header !== '') text += `${name}: ${header}\r\n`
  }
  return `${text}\r\n`
}

const withoutOffer = (value: string): string =>
  value
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && !OFFER.has(name.toLowerCase()))
    .join(', ')

export function rawResponse(status: number, detail: string = STATUS_CODES[status] ?? ''): string {
  const body = JSON.stringify({ detail })
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json\r\nX-Content-Type-Options: nosniff\r\n`
  return `${head}Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`
}

/** Responds to an upgrade and closes the connection, because the peer might never close it. */
export function refuseUpgrade(raw: Duplex, status: number, detail?: string): void {
  // A peer that disconnects is not a server failure.
  raw.on('error', () => raw.destroy())
  raw.end(rawResponse(status, detail), () => raw.destroy())
}

export function headersOf({ headers }: Pick<IncomingMessage, 'headers'>): Headers {
  const pairs = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  )
  return new Headers(pairs)
}
