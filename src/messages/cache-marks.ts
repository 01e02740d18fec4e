/** Hands out Anthropic's cache breakpoints, of which a request may hold only a few. */

/** A block at which a prefix to be cached may end. */
export interface CacheControl {
  readonly cache_control?: { readonly type: 'ephemeral'; readonly ttl?: CacheTime }
}

/** How long the provider is to keep it. */
export type CacheTime = '5m' | '1h'

export type Mark = (asked: boolean, time?: CacheTime | null) => CacheControl

/** The provider takes no more in a request. */
const MAX_MARKS = 4

/**
 * A giver of breakpoints for one request: the first that ask get one, so that a longer history changes no block before.
 * Those of tools count too, and so does one that the request has for all of it. One for an hour is refused behind one
 * for the usual five minutes, also of a tool, and is one of these there; where the request's own is for an hour, which
 * counts as the last, all are.
 */
export function cacheMarks(tools: readonly object[] = [], own: CacheTime | null = null): Mark {
  const given = tools.flatMap((tool) => (tool as CacheControl).cache_control ?? [])
  let left = MAX_MARKS - given.length - (own === null ? 0 : 1)
  let mayBeLong = given.every(({ ttl }) => ttl === '1h')
  return (asked, time = null) => {
    if (!asked || left < 1) return {}
    left -= 1
    const ttl = own === '1h' ? own : time === '1h' && !mayBeLong ? null : time
    if (ttl !== '1h') mayBeLong = false
    return { cache_control: { type: 'ephemeral', ...(ttl === null ? {} : { ttl }) } }
  }
}
