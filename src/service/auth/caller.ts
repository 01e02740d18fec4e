import { attempt } from '../../event/json.ts'
import { decoded } from '../http/parameters.ts'
import { type ApiKeyInfo, type ApiKeys, isSameHash, sha256 } from './api-keys.ts'
import { HttpProblem } from '../http/problem.ts'
import type { AllowOrigin } from '../http/cors.ts'

/** HTTP methods that change nothing. Pages of other sites cannot read the responses. */
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD'])

/** A credential, and where it was found. */
export interface Credential {
  readonly text: string
  /** `cookie` needs care: browsers send a cookie with requests from any page. */
  readonly from: 'header' | 'cookie'
}

/**
 * Returns the credential in a request's header, or else in the cookie `api_key`; null if both are missing.
 * Ignores the URL.
 * @example
 * credentialOf({ headers: new Headers({ 'X-Session-API-Key': 'k' }) })?.text // 'k'
 */
export function credentialOf({ headers }: Pick<Request, 'headers'>): Credential | null {
  const bearer = /^Bearer +(\S+)\s*$/i.exec(headers.get('authorization') ?? '')?.[1]
  // An empty header may accompany another header, or a cookie, that has the key.
  const header = headers.get('x-session-api-key') || headers.get('x-access-token') || bearer
  if (header !== undefined) return { text: header, from: 'header' }
  const cookie = /(?:^|;\s*)api_key=([^;]*)/.exec(headers.get('cookie') ?? '')?.[1]
  return cookie === undefined ? null : { text: decoded(cookie), from: 'cookie' }
}

/**
 * The caller of a request: `session` with a service key, `api_key` with an API key, `open` if the service has
 * no service keys.
 */
export type Caller =
  | { readonly type: 'open' | 'session' }
  | { readonly type: 'api_key'; readonly key: ApiKeyInfo }

/**
 * Returns the caller for a credential; null if the credential is missing or invalid. `org` is the organization
 * of the request. @throws HttpProblem 403 for a key of another organization.
 */
export type Identify = (credential: Credential | null, org?: string | null) => Promise<Caller | null>

export function identifier(sessionKeys: readonly string[], keys: Pick<ApiKeys, 'find'> | null): Identify {
  const hashes = Promise.all(sessionKeys.map(sha256))
  return async (credential, org = null) => {
    if ((await hashes).length === 0) return { type: 'open' }
    if (credential === null) return null
    const hash = await sha256(credential.text)
    // Compare with every key, so that the duration reveals nothing.
    const isSame = (await hashes).map((known) => isSameHash(known, hash))
    if (isSame.includes(true)) return { type: 'session' }
    const key = (await keys?.find(credential.text)) ?? null
    if (key === null) return null
    if (key.org_id === null || org === null || key.org_id === org) return { type: 'api_key', key }
    throw new HttpProblem(
      403,
      'X-Org-Id does not name the organization of the key. Correct the header, or omit it.',
    )
  }
}

/**
 * Returns a check that rejects requests without a valid key. Except for GET and HEAD, the check also rejects
 * cross-origin requests without a key in a header. Otherwise, any web page could send requests in the name of
 * its visitor. If the service has no keys, pages of allowed origins may send cross-origin requests.
 * The check throws HttpProblem 401, 403.
 */
export function callerCheck(identify: Identify, allows: AllowOrigin): (request: Request) => Promise<Caller> {
  return async (request) => {
    const credential = credentialOf(request)
    const caller = await identify(credential, request.headers.get('x-org-id'))
    if (caller === null) throw new HttpProblem(401, 'Unauthorized')
    const hasHeader = caller.type !== 'open' && credential?.from === 'header'
    if (hasHeader || SAFE.has(request.method) || !isForeign(request)) return caller
    if (caller.type !== 'open')
      throw new HttpProblem(403, 'Cross-site requests must not use a cookie. Send the key in a header.')
    if (isAllowed(request, allows)) return caller
    throw new HttpProblem(403, FOREIGN_ORIGIN)
  }
}

export const FOREIGN_ORIGIN =
  'The origin of this page is not allowed. Add it to `allowOrigins`, or pass `--allow-origin`.'

export const isAllowed = ({ headers }: Pick<Request, 'headers'>, allows: AllowOrigin): boolean => {
  const origin = headers.get('origin')
  return origin !== null && allows(origin)
}

export function isForeign({ headers, url }: Pick<Request, 'headers' | 'url'>): boolean {
  const site = headers.get('sec-fetch-site')
  if (site === 'cross-site' || site === 'same-site') return true
  const origin = headers.get('origin')
  if (origin === null || site === 'same-origin' || site === 'none') return false
  return attempt(() => new URL(origin).host !== (headers.get('host') ?? new URL(url).host), true)
}
