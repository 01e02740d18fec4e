/** Work that waits until the reader rests: what costs more than a step of the scrubber may. */

import { useEffect, useState } from 'preact/hooks'

/** How long a place is stayed at before what is dear is worked out, in milliseconds. */
export const REST = 150

/** A value once it has not changed for a moment; the first one at once. */
export function useSettled<T>(value: T): T {
  const [settled, settle] = useState(value)
  useEffect(() => {
    if (Object.is(settled, value)) return undefined
    const timer = setTimeout(() => settle(() => value), REST)
    return () => clearTimeout(timer)
  }, [value, settled])
  return settled
}
