/** Admits sockets, and limits the bytes of all sockets together. */

import type { IncomingMessage } from 'node:http'
import { credentialOf, FOREIGN_ORIGIN, type Identify, isAllowed, isForeign } from '../auth/caller.ts'
import type { Access } from '../auth/key-watch.ts'
import type { AllowOrigin } from '../http/cors.ts'
import { HttpProblem } from '../http/problem.ts'
import { headersOf } from './plain-answer.ts'

export class Budget {
  readonly #limit: number
  #used = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  get isSpent(): boolean {
    return this.#used > this.#limit
  }

  add(bytes: number): void {
    this.#used += bytes
  }
}

/** Query parameters with which clients might send keys. Sockets with these parameters are refused: proxies log URLs. */
const KEYS_IN_URL = ['session_api_key', 'api_key', 'access_token', 'token']

/** Result of `admit`. A refused socket is opened, then closed with the reason: pages can see no other reason. */
export type Admission =
  | { readonly type: 'admitted'; readonly access: Access }
  | { readonly type: 'needs_key'; readonly org: string | null }
  | { readonly type: 'refused'; readonly reason: string }

/**
 * Checks the key in a header, or in the cookie of a same-origin page.
 * @throws HttpProblem 401 for a wrong key in a header, 403 for a key of another organization; what the store
 *   throws.
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
  const isCrossSite = isForeign({ headers, url: 'http://localhost' })
  const open = await identify(null)
  if (open !== null) {
    // Without keys, pages of other sites must not use the service through the user's browser.
    if (isCrossSite && !isAllowed({ headers }, allows)) return { type: 'refused', reason: FOREIGN_ORIGIN }
    return { type: 'admitted', access: { caller: open, credential: null, org } }
  }
  const credential = credentialOf({ headers })
  // Browsers send cookies with the sockets of any page.
  if (credential === null || (credential.from === 'cookie' && isCrossSite)) return { type: 'needs_key', org }
  const caller = await identify(credential, org)
  if (caller !== null) return { type: 'admitted', access: { caller, credential, org } }
  if (credential.from === 'header') throw new HttpProblem(401, 'Unauthorized')
  return { type: 'needs_key', org }
}
