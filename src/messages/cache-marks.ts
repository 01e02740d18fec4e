/** Hands out Anthropic's cache breakpoints, of which a request may hold only a few. */

/** A block at which a prefix to be cached may end. */
export interface CacheControl {
  readonly cache_control?: { readonly type: 'ephemeral' }
}

export type Mark = (asked: boolean) => CacheControl

/** The provider takes no more in a request. */
const MAX_MARKS = 4

/**
 * A giver of breakpoints for one request: the first that ask get one, so that a longer history changes no block before.
 */
export function cacheMarks(): Mark {
  let left = MAX_MARKS
  return (asked) => {
    if (!asked || left === 0) return {}
    left -= 1
    return { cache_control: { type: 'ephemeral' } }
  }
}
