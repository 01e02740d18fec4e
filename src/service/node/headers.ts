/** The headers of a Node request as standard ones. */

import type { IncomingMessage } from 'node:http'

/** A header that was given several times is one, as Node joins them. */
export function headersOf({ headers }: Pick<IncomingMessage, 'headers'>): Headers {
  const pairs = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  )
  return new Headers(pairs)
}
