/** Folds events and extracts the values that the cases compare. */

import { isImagePart, isTextPart } from '../../src/event/shapes.ts'
import { decodeEvent } from '../../src/event/decode.ts'
import { encodeEvent } from '../../src/event/encode.ts'
import { loadLine } from '../../src/event/load.ts'
import type { Event } from '../../src/event/types.ts'
import { type Entry, pathToEntry } from '../../src/log/entry.ts'
import { findEventIn, listWarningsIn } from '../../src/log/log.ts'
import { listPendingCallsIn } from '../../src/log/open-calls.ts'
import type { MessageOptions, NeutralMessage } from '../../src/messages/message.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { listDroppedResultsIn } from '../../src/state/dropped.ts'
import { reduce, replay } from '../../src/state/reduce.ts'
import type { State } from '../../src/state/state.ts'
import { cutPointsIn, viewEventsIn } from '../../src/view/view.ts'
import { condensation } from '../build.ts'

/** Decodes an event, so that no test passes on an invalid one. @throws Error */
export function decode(event: unknown): Event {
  const decoded = decodeEvent(event)
  if (decoded.ok) return decoded.event
  throw new Error(`no event: ${JSON.stringify(decoded.issues)}`)
}

/** The state of a log of decoded events. */
export const fold = (...events: readonly Event[]): State => replay(events.map(decode))

/** Continues a state with decoded events. */
export const extend = (state: State, ...events: readonly Event[]): State =>
  events.map(decode).reduce(reduce, state)

export const statusAfter = (...events: readonly Event[]): string => fold(...events).header.status

/** Writes the log as lines, reads them and folds again. */
export function reopen(state: State): State {
  const lines = [...state.log.entries].map((entry) =>
    entry.event === null ? (entry.quarantined?.raw ?? '') : encodeEvent(entry.event),
  )
  return replay(
    lines.map((line) => loadLine(line).fact),
    { conversationId: state.conversationId },
  )
}

export const ids = (state: State): string[] => [...viewEventsIn(state.branch.view)].map((item) => item.id)

/** The view after a condensation forgets some ids. */
export const remaining = (log: readonly Event[], ...forgotten: string[]): string[] =>
  ids(fold(...log, condensation('C', forgotten)))

/** Cut points of the view. */
export const cutPoints = (state: State): number[] => cutPointsIn(state.branch.view)

/** Whether a condensation request is unhandled. */
export const isCondensationRequested = (state: State): boolean =>
  state.branch.view.unhandledCondensationRequest

/** Ids of the pending calls on the branch. */
export const pendingIds = (state: State): string[] =>
  listPendingCallsIn(state.branch.pendingCalls).map((call) => call.entry.id)

/** Results on the branch without a call, as `id reason`. */
export const droppedResults = (state: State): string[] =>
  listDroppedResultsIn(state.branch).map(({ id, reason }) => `${id} ${reason}`)

/** Warnings of the replay, as `id code`. */
export const warnings = (state: State): string[] =>
  listWarningsIn(state.log).map(({ id, code }) => `${id} ${code}`)

export const head = (state: State): string | null => state.log.head?.id ?? null

/** @throws Error if the id is not in the tree. */
export function entry(state: State, id: string): Entry {
  const result = findEventIn(state.log, id)
  if (result === undefined) throw new Error(`no entry ${id}`)
  return result
}

/** Id of the effective parent. */
export const parent = (state: State, id: string): string | null => entry(state, id).parent?.id ?? null

/** Ids from the root to an event, by default HEAD. */
export const path = (state: State, id: string | null = head(state)): (string | null)[] =>
  pathToEntry(id === null ? null : entry(state, id)).map((each) => each.id)

/** The events from the root to an id. */
export const pathEvents = (state: State, id: string): Event[] =>
  pathToEntry(entry(state, id)).flatMap((each) => (each.event === null ? [] : [each.event]))

/** Every event of the log in order. */
export const logEvents = (state: State): Event[] =>
  [...state.log.entries].flatMap((each) => (each.event === null ? [] : [each.event]))

export const stateMessages = (state: State, options?: MessageOptions): NeutralMessage[] =>
  toMessages(state, options)

export const logMessages = (...events: readonly Event[]): NeutralMessage[] => toMessages(fold(...events))

export const roles = (messages: readonly { readonly role: string }[]): string[] =>
  messages.map(({ role }) => role)

/** A message's content: texts, and addresses of images. */
export const contentOf = (message: NeutralMessage | undefined): string[] =>
  (message?.content ?? []).flatMap((part) =>
    isTextPart(part) ? [part.text] : isImagePart(part) ? part.image_urls : [`[${part.type}]`],
  )
