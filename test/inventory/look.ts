/** Folds events and looks at the outcome: events go in, the ids and numbers that a case speaks of come out. */

import { isImagePart, isTextPart } from '../../src/event/shapes.ts'
import { decodeEvent } from '../../src/event/decode.ts'
import { encodeEvent } from '../../src/event/encode.ts'
import { loadLine } from '../../src/event/load.ts'
import type { Event } from '../../src/event/types.ts'
import { pathToEntry } from '../../src/log/ancestry.ts'
import type { Entry } from '../../src/log/entry.ts'
import { findEventIn, listWarningsIn } from '../../src/log/log.ts'
import { listPendingCallsIn } from '../../src/log/open-calls.ts'
import type { MessageOptions, NeutralMessage } from '../../src/messages/message.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { listDroppedResultsIn } from '../../src/state/dropped.ts'
import { reduce, replay } from '../../src/state/reduce.ts'
import type { State } from '../../src/state/state.ts'
import { cutPointsIn, viewEventsIn } from '../../src/view/view.ts'
import { condensation } from '../build.ts'

/** The event as the engine reads it. @throws Error when it is no event, so that a test cannot pass on one. */
export function read(event: unknown): Event {
  const decoded = decodeEvent(event)
  if (decoded.ok) return decoded.event
  throw new Error(`no event: ${JSON.stringify(decoded.issues)}`)
}

/** The state of a log, every event of it decoded first. */
export const fold = (...events: readonly Event[]): State => replay(events.map(read))

/** A state with events after it, each decoded first. */
export const further = (state: State, ...events: readonly Event[]): State =>
  events.map(read).reduce(reduce, state)

/** The status that a log ends in. */
export const statusAfter = (...events: readonly Event[]): string => fold(...events).header.status

/** The log written line by line, read again, and folded anew. */
export function reopen(state: State): State {
  const lines = [...state.log.entries].map((entry) =>
    entry.event === null ? (entry.quarantined?.raw ?? '') : encodeEvent(entry.event),
  )
  return replay(
    lines.map((line) => loadLine(line).fact),
    { conversationId: state.conversationId },
  )
}

/** Ids of the view's events, in order. */
export const ids = (state: State): string[] => [...viewEventsIn(state.branch.view)].map((item) => item.id)

/** Ids that a log shows once a condensation forgets some. */
export const remaining = (log: readonly Event[], ...forgotten: string[]): string[] =>
  ids(fold(...log, condensation('C', forgotten)))

/** Where the view may be cut. */
export const cuts = (state: State): number[] => cutPointsIn(state.branch.view)

/** Whether a condensation is asked for and did not come yet. */
export const wanted = (state: State): boolean => state.branch.view.unhandledCondensationRequest

/** Ids of the calls on the branch that wait for an answer. */
export const open = (state: State): string[] =>
  listPendingCallsIn(state.branch.pendingCalls).map((call) => call.entry.id)

/** Answers on the branch that answer nothing, as `id reason`. */
export const dropped = (state: State): string[] =>
  listDroppedResultsIn(state.branch).map(({ id, reason }) => `${id} ${reason}`)

/** What the replay put right, as `id code`. */
export const reports = (state: State): string[] =>
  listWarningsIn(state.log).map(({ id, code }) => `${id} ${code}`)

/** The id of HEAD. */
export const head = (state: State): string | null => state.log.head?.id ?? null

/** The entry with an id. @throws Error when none stands in the tree. */
export function entry(state: State, id: string): Entry {
  const result = findEventIn(state.log, id)
  if (result === undefined) throw new Error(`no entry ${id}`)
  return result
}

/** The id of an event's effective parent. */
export const parent = (state: State, id: string): string | null => entry(state, id).parent?.id ?? null

/** Ids from the root down to an event, by default HEAD. */
export const path = (state: State, id: string | null = head(state)): (string | null)[] =>
  pathToEntry(id === null ? null : entry(state, id)).map((index) => index.id)

/** The events of the path to an id, for a log of their own. */
export const pathEvents = (state: State, id: string): Event[] =>
  pathToEntry(entry(state, id)).flatMap((index) => (index.event === null ? [] : [index.event]))

/** Every fact of the log that is an event, in log order. */
export const logEvents = (state: State): Event[] =>
  [...state.log.entries].flatMap((index) => (index.event === null ? [] : [index.event]))

/** What the model is told at HEAD. */
export const notices = (state: State, options?: MessageOptions): NeutralMessage[] =>
  toMessages(state, options)

/** What a log tells the model. */
export const say = (...events: readonly Event[]): NeutralMessage[] => toMessages(fold(...events))

/** Roles, in order. */
export const roles = (messages: readonly { readonly role: string }[]): string[] =>
  messages.map(({ role }) => role)

/** The parts of a message's content: texts as they are, images as their addresses. */
export const words = (message: NeutralMessage | undefined): string[] =>
  (message?.content ?? []).flatMap((part) =>
    isTextPart(part) ? [part.text] : isImagePart(part) ? part.image_urls : [`[${part.type}]`],
  )
