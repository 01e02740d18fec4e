export interface CacheControl {
  readonly cache_control?: { readonly type: 'ephemeral'; readonly ttl?: CacheTime }
}

export type CacheTime = '5m' | '1h'

export interface MarkState {
  remaining: number
  mayBeLong: boolean
}

export type Mark = (wanted: boolean, time?: CacheTime | null) => CacheControl

const MAX_MARKS = 4

/**
 * Returns a function that assigns cache breakpoints to blocks in order, so that the breakpoints of earlier
 * blocks do not change when the history grows. A request has at most 4 breakpoints, including the breakpoints
 * of the tools and of the request itself. The provider rejects a one-hour breakpoint after a five-minute one,
 * so the later breakpoint gets five minutes, too. The request's own breakpoint is the last one, so if it
 * lasts one hour, every assigned breakpoint lasts one hour, too.
 */
export function cacheMarks(
  state: MarkState,
  tools: readonly object[] = [],
  requestTime: CacheTime | null = null,
): Mark {
  const toolMarks = tools.flatMap((tool) => (tool as CacheControl).cache_control ?? [])
  state.remaining = MAX_MARKS - toolMarks.length - (requestTime === null ? 0 : 1)
  state.mayBeLong = toolMarks.every(({ ttl }) => ttl === '1h')
  return (wanted, time = null) => {
    if (!wanted || state.remaining < 1) return {}
    state.remaining -= 1
    const ttl = requestTime === '1h' ? requestTime : time === '1h' && !state.mayBeLong ? null : time
    if (ttl !== '1h') state.mayBeLong = false
    return { cache_control: { type: 'ephemeral', ...(ttl === null ? {} : { ttl }) } }
  }
}
