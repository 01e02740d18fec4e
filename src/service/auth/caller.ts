/** Finds out who a request comes from, by session key or API key, and refuses those without either. */

import { decoded } from '../http/parameters.ts'
import { type ApiKeyInfo, type ApiKeys, isSameHash, sha256 } from './api-keys.ts'
import { HttpProblem } from '../http/problem.ts'
import type { AllowOrigin } from '../http/cors.ts'

/** Whether a credential is one of the keys. */
type KeyCheck = (credential: string) => Promise<boolean>

/**
 * Holds keys by their SHA-256 only, and compares all of them in a time that shows nothing of any. Several may be given,
 * so that they can be changed one after the other. Null for no keys: then none is asked for.
 */
function keyCheck(keys: readonly string[]): KeyCheck | null {
  if (keys.length === 0) return null
  const hashes = Promise.all(keys.map(sha256))
  return async (credential) => {
    const asked = await sha256(credential)
    let found = false
    // All of them are looked at, the right one or not.
    for (const hash of await hashes) if (isSameHash(hash, asked)) found = true
    return found
  }
}

/** Methods that change nothing; their responses, a page of another site cannot read. */
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD'])

/** Where a credential was found. */
export interface Credential {
  readonly text: string
  /** A browser sends a cookie along with whatever any page asks for. */
  readonly from: 'header' | 'cookie'
}

/** The credential that a request carries: a header, else the cookie `api_key`. Never anything of its URL. */
export function credentialOf({ headers }: Pick<Request, 'headers'>): Credential | null {
  const bearer = /^Bearer +(\S+)\s*$/i.exec(headers.get('authorization') ?? '')?.[1]
  const header = headers.get('x-session-api-key') ?? headers.get('x-access-token') ?? bearer
  if (header !== undefined) return { text: header, from: 'header' }
  const cookie = /(?:^|;\s*)api_key=([^;]*)/.exec(headers.get('cookie') ?? '')?.[1]
  return cookie === undefined ? null : { text: decoded(cookie), from: 'cookie' }
}

/** The caller: with a session key, with an API key, or with none where no session key is configured. */
export type Caller =
  | { readonly type: 'open' | 'session' }
  | { readonly type: 'api_key'; readonly key: ApiKeyInfo }

/** The caller with this credential; null for none. `org` is the organization that the request is for. */
export type Identify = (credential: Credential | null, org?: string | null) => Promise<Caller | null>

/** Session keys, and the API keys that hold beside them. Without session keys everybody is let in. */
export function identifier(sessionKeys: readonly string[], keys: Pick<ApiKeys, 'find'> | null): Identify {
  const check = keyCheck(sessionKeys)
  return async (credential, org = null) => {
    if (check === null) return { type: 'open' }
    if (credential === null) return null
    if (await check(credential.text)) return { type: 'session' }
    const key = (await keys?.find(credential.text)) ?? null
    if (key === null) return null
    if (key.org_id === null || org === null || key.org_id === org) return { type: 'api_key', key }
    throw new HttpProblem(403, 'The key is bound to another organization.')
  }
}

/**
 * Refuses a request without a right key, and one that a page of another site has a browser make: where a cookie, or
 * being on this machine, is all that it takes, any page that a user opens could otherwise act in the user's name. Where
 * no key is asked for, pages of origins that are allowed may.
 * @throws HttpProblem 401, 403.
 */
export async function requireCaller(
  identify: Identify,
  request: Request,
  allows: AllowOrigin = () => false,
): Promise<Caller> {
  const credential = credentialOf(request)
  const caller = await identify(credential, request.headers.get('x-org-id'))
  if (caller === null) throw new HttpProblem(401, 'Unauthorized')
  const sent = caller.type !== 'open' && credential?.from === 'header'
  const foreign = isForeign(request) && !(caller.type === 'open' && isAllowed(request, allows))
  if (!sent && !SAFE.has(request.method) && foreign) {
    throw new HttpProblem(403, 'A page of another site may not ask this: send the key in a header.')
  }
  return caller
}

/** Whether a browser says that a page asks which may, where no key is asked for. */
export const isAllowed = ({ headers }: Pick<Request, 'headers'>, allows: AllowOrigin): boolean => {
  const origin = headers.get('origin')
  return origin !== null && allows(origin)
}

/** Whether a browser says that a page of another site asks. */
export function isForeign({ headers, url }: Pick<Request, 'headers' | 'url'>): boolean {
  const site = headers.get('sec-fetch-site')
  if (site === 'cross-site' || site === 'same-site') return true
  const origin = headers.get('origin')
  if (origin === null || site === 'same-origin' || site === 'none') return false
  try {
    return new URL(origin).host !== (headers.get('host') ?? new URL(url).host)
  } catch {
    return true
  }
}
