/** What takes longer than a step: it is worked out a piece at a time, behind what the reader sees. */

import { useEffect, useState } from 'preact/hooks'
import { type Filter, isOpen, matching } from '../model/search.ts'
import { type Finding, findingsOf } from '../model/why.ts'
import type { Session } from './session.ts'

/** So many events are looked through before the page is first drawn. */
const AT_ONCE = 2000

/** What is wrong with the log; null until it is known. */
export function useFindings({ replayed }: Session): readonly Finding[] | null {
  const [found, set] = useState<readonly Finding[] | null>(() =>
    replayed.loaded.length <= AT_ONCE ? findingsOf(replayed) : null,
  )
  const [of, setOf] = useState(replayed)
  useEffect(() => {
    if (found !== null && of === replayed) return undefined
    const timer = setTimeout(() => {
      set(findingsOf(replayed))
      setOf(replayed)
    }, 50)
    return () => clearTimeout(timer)
  }, [replayed])
  return found
}

/** The positions that a filter lets through; null for all. */
export function useFound({ replayed }: Session, filter: Filter): readonly number[] | null {
  const [found, set] = useState<readonly number[] | null>(null)
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
  return found
}
