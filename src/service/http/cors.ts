/**
 * Which pages of other origins may use the service from a browser (the CORS protocol of the fetch standard). Cookies
 * are never asked for: such pages send their key in a header.
 */

/** Whether pages of an origin may. */
export type AllowOrigin = (origin: string) => boolean

/** Origins of this machine: what runs on it may be asked by what is shown on it. */
const LOCAL =
  /^https?:\/\/(?:localhost|(?:[\w-]+\.){1,126}localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i

/**
 * Those of this machine, and those that are named.
 * @param origins as in `https://app.example.com`; `*` for all
 * @example
 * const allows = allowOrigins(['https://app.example.com'])
 * allows('http://localhost:5173') // true
 * allows('https://app.example.com') // true
 * allows('https://example.com') // false
 */
export function allowOrigins(origins: readonly string[]): AllowOrigin {
  const named = new Set(origins.map((origin) => origin.toLowerCase().replace(/\/$/, '')))
  return (origin) => LOCAL.test(origin) || named.has('*') || named.has(origin.toLowerCase())
}

/** Most characters of the names of headers that a preflight asks for. */
const MOST = 2_000

/** What is said with every response to a page of another origin; nothing to any other. */
export function corsHeaders(
  { headers }: Pick<Request, 'headers'>,
  allows: AllowOrigin,
): Readonly<Record<string, string>> {
  const origin = headers.get('origin')
  if (origin === null || !allows(origin)) return {}
  return {
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Expose-Headers': 'X-Request-ID, Content-Disposition',
  }
}

/**
 * The response to a browser that asks whether it may send a request, before it does. Null for any other request.
 * @param methods those that are served at the path
 */
export function preflight(
  { method, headers }: Pick<Request, 'method' | 'headers'>,
  methods: readonly string[],
  allows: AllowOrigin,
): Response | null {
  const origin = headers.get('origin')
  if (method !== 'OPTIONS' || origin === null || !headers.has('access-control-request-method')) return null
  if (methods.length === 0 || !allows(origin)) return null
  const asked = headers.get('access-control-request-headers') ?? ''
  return new Response(null, {
    status: 204,
    headers: {
      'Access-Control-Allow-Methods': methods.join(', '),
      ...(/^[\w\s,!#$%&'*+.^`|~-]+$/.test(asked) &&
        asked.length <= MOST && { 'Access-Control-Allow-Headers': asked }),
      'Access-Control-Max-Age': '600',
    },
  })
}
