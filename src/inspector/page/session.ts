/** What every part of the page needs: the log, where the reader is in it, and how to go elsewhere. */

import type { Ask } from '../model/asks.ts'
import type { Lanes } from '../model/lanes.ts'
import type { Replayed } from '../model/replayed.ts'
import { stateOf } from '../model/replayed.ts'
import { findEvent } from '../../state/read.ts'
import type { State } from '../../state/state.ts'

/** A log that is open. */
export interface Session {
  readonly replayed: Replayed
  readonly lanes: Lanes
  readonly asks: readonly Ask[]
}

/** Where the reader is, with what may be done there. */
export interface Reader {
  readonly session: Session
  /** How many facts have happened: 0 before all of them. */
  readonly place: number
  /** To a place, or from the one where the reader is by then. */
  readonly go: (to: number | ((from: number) => number)) => void
  /** To an event, by its id or its position. */
  readonly goTo: (event: string | number) => void
}

/** The state at the reader's place. */
export const stateHere = ({ session, place }: Reader): State => stateOf(session.replayed, place)

/** How many facts there are. */
export const lengthOf = ({ replayed }: Session): number => replayed.states.length - 1

/** The place right after an event; null for one that is not there. */
export function placeOf(session: Session, event: string | number): number | null {
  const { replayed } = session
  if (typeof event === 'number') return event >= 0 && event < lengthOf(session) ? event + 1 : null
  const entry = findEvent(stateOf(replayed, lengthOf(session)), event)
  if (entry !== undefined) return entry.seq + 1
  // A summary is no event of the log: what put it into the view is.
  return event.endsWith('-summary') ? placeOf(session, event.slice(0, -'-summary'.length)) : null
}
