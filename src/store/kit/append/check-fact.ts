/** Refuses what is no fact, before anything is read or derived of it. */

import { isTextPart, type Content, type JsonValue, SOURCES } from '../../../event/shapes.ts'
import { ColloquyError } from '../../../event/errors.ts'
import { isLegalId } from '../../../event/ids.ts'
import { isObject } from '../../../event/json.ts'
import { isEventKind, KINDS } from '../../../event/kinds.ts'
import { isQuarantined, type Fact } from '../../../event/quarantine.ts'
import { ownFact } from './body.ts'

type Fields = Readonly<Record<string, unknown>>

/**
 * Whether it is an event of a kind that there is, or a quarantined line, as a caller without types may not know; and
 * whether all that a store places and finds it by can be read: id, parent, time, source and the words of a message.
 * Never throws. O(parts of a message).
 *
 * @example
 * isFact({ kind: 'PauseEvent', id: 'p' }) // true
 * isFact({ kind: 'MessageEvent', id: 'm', source: 'user' }) // false
 */
export function isFact(given: unknown): given is Fact {
  try {
    if (!isObject(given) || !hasPlace(given)) return false
    if (isQuarantined(given as object as Fact)) return typeof given['raw'] === 'string'
    const { kind, timestamp, source } = given
    if (!isEventKind(kind) || !isTextOrNone(timestamp)) return false
    const from = source ?? KINDS[kind].defaultSource
    return SOURCES.some((one) => one === from) && (kind !== 'MessageEvent' || hasWords(given))
  } catch {
    // A getter threw, or a proxy.
    return false
  }
}

/** @throws `invalid_event` for what is none. */
export function checkIsFact(given: unknown): void {
  if (!isFact(given)) refuse(given)
}

/**
 * The fact as the store keeps it. O(size).
 * @throws `invalid_event`; `transient_event`; `invalid_id`, also for a live event without an id.
 */
export function checkedFact(given: Fact, live: boolean): Fact {
  checkIsFact(given)
  const fact = ownFact(given)
  // What JSON made of it may be something else.
  if (fact !== given && !isFact(fact)) refuse(given)
  if (!isQuarantined(fact) && !KINDS[fact.kind].stored) {
    throw new ColloquyError(
      'transient_event',
      `${fact.kind} is for live readers only and is never stored; publish it instead.`,
      { kind: fact.kind },
    )
  }
  if (fact.id === undefined ? live : !isLegalId(fact.id)) {
    const rule = '1 to 200 characters of well-formed Unicode, without control characters, and not "__root__"'
    throw new ColloquyError('invalid_id', `An event to append needs an id of ${rule}.`, { id: fact.id })
  }
  return fact
}

function refuse(given: unknown): never {
  const message = 'What is appended must be an event of one of the 19 kinds, as decodeEvent gives it.'
  throw new ColloquyError('invalid_event', message, kindOf(given))
}

/** Nothing else of what was given: it may hold secrets (law X3). */
function kindOf(given: unknown): { readonly kind?: string } {
  try {
    const { kind } = Object(given) as Fields
    return typeof kind === 'string' ? { kind } : {}
  } catch {
    return {}
  }
}

const isTextOrNone = (value: unknown): boolean =>
  value === undefined || value === null || typeof value === 'string'

/** An event that lacks an id gets one, but null is none. */
const hasPlace = ({ id, parent_id: parent }: Fields): boolean =>
  (id === undefined || typeof id === 'string') && isTextOrNone(parent)

function hasWords({ llm_message: message, extended_content: more }: Fields): boolean {
  return isObject(message) && areParts(message['content']) && areParts(more)
}

const areParts = (parts: unknown): boolean =>
  parts === undefined || parts === null || (Array.isArray(parts) && parts.every(isPart))

const isPart = (part: JsonValue): boolean =>
  isObject(part) && (!isTextPart(part as Content) || typeof part['text'] === 'string')
