/** CORS headers (fetch standard). Pages of other origins must send their API key in a header, not in a cookie. */

/** Whether pages of an origin may use the service. */
export type AllowOrigin = (origin: string) => boolean

const LOCAL =
  /^https?:\/\/(?:localhost|(?:[\w-]+\.){1,126}localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i

/** Returns a check that allows `origins`, such as `https://a.example`, and this machine. `*` allows all origins. */
export function allowOrigins(origins: readonly string[]): AllowOrigin {
  const allowed = new Set(origins.map((origin) => origin.toLowerCase().replace(/\/$/, '')))
  return (origin) => LOCAL.test(origin) || allowed.has('*') || allowed.has(origin.toLowerCase())
}

/** Headers that pages of other origins may read, in addition to those that CORS always allows. */
export const EXPOSED = 'X-Request-ID, X-Count, Content-Disposition, Accept-Ranges, Content-Range, ETag, Allow'

const MAX_HEADER_CHARS = 2_000

export function preflight(
  { method, headers }: Pick<Request, 'method' | 'headers'>,
  methods: readonly string[],
  allows: AllowOrigin,
): Response | null {
  const origin = headers.get('origin')
  if (method !== 'OPTIONS' || origin === null || !headers.has('access-control-request-method')) return null
  if (methods.length === 0 || !allows(origin)) return null
  const requested = headers.get('access-control-request-headers') ?? ''
  return new Response(null, {
    status: 204,
    headers: {
      'Access-Control-Allow-Methods': methods.join(', '),
      ...(/^[\w\s,!#$%&'*+.^`|~-]+$/.test(requested) &&
        requested.length <= MAX_HEADER_CHARS && { 'Access-Control-Allow-Headers': requested }),
      'Access-Control-Max-Age': '600',
    },
  })
}
