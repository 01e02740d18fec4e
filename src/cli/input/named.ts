/** Finds the event that a user means: by its id, by the beginning of that, or by its line. */

import { ColloquyError, findEvent } from '../../index.ts'
import { quoted } from '../print/text.ts'
import type { Recording } from './recording.ts'

type Log = Pick<Recording, 'state' | 'lines'>

/** How many ids are named where the beginning of one is not enough. */
const NAMED = 3

/**
 * The id that was meant, by its beginning, or the position of a line; what is typed where it is neither. O(n).
 * @throws ColloquyError `unknown_event` for the beginning of several ids.
 */
export function named({ state, lines }: Log, typed: string): string | number {
  if (findEvent(state, typed) !== undefined || typed.endsWith('-summary')) return typed
  const found = new Set(
    Array.from(state.log.entries, ({ id }) => id).filter((id) => id !== null && id.startsWith(typed)),
  )
  const [first] = found
  if (found.size === 1 && typeof first === 'string') return first
  if (found.size > 1) {
    const some = [...found].slice(0, NAMED).map((id) => quoted(id ?? ''))
    const more = found.size > NAMED ? ` and ${found.size - NAMED} more` : ''
    throw unknown(typed, `${quoted(typed)} begins ${some.join(', ')}${more}: give more of the id`)
  }
  const seq = /^\d{1,9}$/.test(typed) ? lines.indexOf(Number(typed)) : -1
  return seq < 0 ? typed : seq
}

/**
 * The same for an event that the log is looked at from, which only one in the tree can be. O(n).
 * @throws ColloquyError `unknown_event` also for a line that is not in the tree.
 */
export function namedId(log: Log, typed: string): string {
  const event = named(log, typed)
  if (typeof event === 'string') return event
  const entry = log.state.log.entries.get(event)
  if (entry !== undefined && entry.inTree && entry.id !== null) return entry.id
  throw unknown(typed, `line ${typed} holds no event of the tree`)
}

const unknown = (typed: string, message: string): ColloquyError =>
  new ColloquyError('unknown_event', message, { event_id: typed })
