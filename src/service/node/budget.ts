/** Bytes that all sockets of a service may hold together: a bound for each alone is none for thousands of them. */

import type { IncomingMessage } from 'node:http'
import { credentialOf, type Identify, isAllowed, isForeign } from '../auth/caller.ts'
import type { Access } from '../auth/key-watch.ts'
import type { AllowOrigin } from '../http/cors.ts'
import { HttpProblem } from '../http/problem.ts'
import { headersOf } from './plain-answer.ts'

/** A count of bytes with a bound. */
export class Budget {
  readonly #most: number
  #used = 0

  constructor(most: number) {
    this.#most = most
  }

  /** Whether more is held than may be. */
  get isSpent(): boolean {
    return this.#used > this.#most
  }

  add(bytes: number): void {
    this.#used += bytes
  }

  remove(bytes: number): void {
    this.#used -= bytes
  }
}

/** Bounds of one socket. */
export interface ConnectionOptions {
  /** Bytes that may wait for the client. Default: 1 MiB. */
  readonly maxBufferedBytes: number
  /** Milliseconds in which the key must come. Default: 10,000. */
  readonly authTimeout: number
  /** Milliseconds that a client has to close its side. Default: 5,000. */
  readonly closeTimeout: number
}

/** Names under which clients have put keys into URLs, where every log and proxy reads them. */
const KEYS_IN_URL = ['session_api_key', 'api_key', 'access_token', 'token']

/**
 * What a request for a socket comes to; `refused` goes into the socket's close, since a browser reads no status of an
 * upgrade.
 */
export type Admission =
  | { readonly type: 'admitted'; readonly access: Access }
  | { readonly type: 'needs_key'; readonly org: string | null }
  | { readonly type: 'refused'; readonly reason: string }

/**
 * Looks at the key in a header, or in the cookie where no page of another site asks.
 * @throws HttpProblem 401 for a wrong key in a header, 403 for one of another organization; what the store throws.
 */
export async function admit(
  identify: Identify,
  request: Pick<IncomingMessage, 'headers'>,
  query: URLSearchParams,
  allows: AllowOrigin,
): Promise<Admission> {
  if (KEYS_IN_URL.some((name) => query.has(name)))
    return { type: 'refused', reason: 'Do not send keys in URLs; send the key in the first frame' }
  const headers = headersOf(request)
  const org = headers.get('x-org-id')
  const foreign = isForeign({ headers, url: 'http://localhost' })
  const open = await identify(null)
  if (open !== null) {
    // Where being on this machine is all that it takes, no page of another site may come along.
    if (foreign && !isAllowed({ headers }, allows)) return { type: 'refused', reason: 'Unauthorized' }
    return { type: 'admitted', access: { caller: open, credential: null, org } }
  }
  const credential = credentialOf({ headers })
  // A browser sends cookies along with sockets of any page.
  if (credential === null || (credential.from === 'cookie' && foreign)) return { type: 'needs_key', org }
  const caller = await identify(credential, org)
  if (caller !== null) return { type: 'admitted', access: { caller, credential, org } }
  if (credential.from === 'header') throw new HttpProblem(401, 'Unauthorized')
  return { type: 'needs_key', org }
}
