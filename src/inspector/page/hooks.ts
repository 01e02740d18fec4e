/** Work that is slower than a step: it runs in pieces, after the page is drawn. */

import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { State } from '../../state/state.ts'
import { readAtOnce, type Reading, reading } from '../model/view-reading.ts'
import { type Filter, isOpen, matching } from '../model/search.ts'
import type { Finding } from '../../explain/index.ts'
import { findingsOf } from '../model/replayed.ts'
import type { Session } from './session.ts'

const AT_ONCE = 2000

export function useFindings({ replayed }: Session): readonly Finding[] | null {
  const [matches, set] = useState<readonly Finding[] | null>(() =>
    replayed.document.findings !== null || replayed.loaded.length <= AT_ONCE ? findingsOf(replayed) : null,
  )
  const [of, setOf] = useState(replayed)
  useEffect(() => {
    if (matches !== null && of === replayed) return undefined
    const look = (): void => {
      set(findingsOf(replayed))
      setOf(replayed)
    }
    // Waits until the page is drawn and idle: the search cannot be interrupted.
    const timer = setTimeout(
      () => (typeof requestIdleCallback === 'function' ? requestIdleCallback(look) : look()),
      200,
    )
    return () => clearTimeout(timer)
  }, [replayed])
  return matches
}

export function useFound({ replayed }: Session, filter: Filter): readonly number[] | null {
  const [matches, set] = useState<readonly number[] | null>(null)
  useEffect(() => {
    if (isOpen(filter)) {
      set(null)
      return undefined
    }
    const steps = matching(replayed, filter)
    let timer: ReturnType<typeof setTimeout> | undefined
    const step = (): void => {
      const { value, done } = steps.next()
      set(value.slice())
      if (done !== true) timer = setTimeout(step, 0)
    }
    timer = setTimeout(step, filter.text === '' ? 0 : 120)
    return () => clearTimeout(timer)
  }, [replayed, filter])
  return matches
}

const QUICK = 400

/** Maximum time for which the page is blocked, in milliseconds. */
const TURN = 4

export function useReading(state: State): Reading | null {
  const isShort = state.branch.view.units.length <= QUICK
  const last = useRef<Reading | null>(null)
  const now = useMemo(() => (isShort ? readAtOnce(state) : null), [state, isShort])
  const [later, set] = useState<Reading | null>(null)
  useEffect(() => {
    if (isShort) return undefined
    const steps = reading(state, last.current)
    const turn = (): void => {
      const until = performance.now() + TURN
      let step = steps.next()
      while (step.done !== true && performance.now() < until) step = steps.next()
      if (step.done === true) set((last.current = step.value))
      else timer = setTimeout(turn, 0)
    }
    let timer = setTimeout(turn, REST)
    return () => clearTimeout(timer)
  }, [state, isShort])
  return isShort ? now : later?.state === state ? later : null
}

/** Milliseconds for which a place must not change before expensive work starts. */
const REST = 150

/** The value once it has not changed for a moment; the first value at once. */
export function useSettled<T>(value: T): T {
  const [settled, settle] = useState(value)
  useEffect(() => {
    if (Object.is(settled, value)) return undefined
    const timer = setTimeout(() => settle(() => value), REST)
    return () => clearTimeout(timer)
  }, [value, settled])
  return settled
}
