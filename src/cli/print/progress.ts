/** Shows an impatient user how far the work is: on standard error, on a terminal only, and after the first second. */

import type { Io } from './io.ts'
import { fit, safe } from './text.ts'

/** Called with the work as it goes on. */
export interface Progress {
  /** So many events are read. */
  tick(events: number): void
  /** A step begins that cannot say how far it is. */
  step(name: string): void
  /** Takes the line off the screen. */
  done(): void
}

const FIRST_MS = 1000
const EVERY_MS = 200
const CLEAR = '\r\u001b[2K'

/** Progress of the work on one file. */
export function progressOn(file: string, { stderr }: Pick<Io, 'stderr'>): Progress {
  const start = Date.now()
  let last = start + FIRST_MS - EVERY_MS
  let shown = false
  const show = (text: string): void => {
    if (!stderr.isTTY || Date.now() - last < EVERY_MS) return
    last = Date.now()
    shown = true
    // Progress is worth nothing to a reader who is gone.
    stderr.write(CLEAR + fit(`${safe(file)}: ${text}`, (stderr.columns || 80) - 1)).catch(() => {})
  }
  return {
    tick: (events) => show(`${events.toLocaleString('en')} events read …`),
    step: (name) => show(`${name} …`),
    done: () => {
      if (shown) stderr.write(CLEAR).catch(() => {})
    },
  }
}
