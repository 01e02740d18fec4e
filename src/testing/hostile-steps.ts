/**
 * The steps that a hostile log is written from: plain records, each one fact, that name other facts by how far back
 * they stand.
 */

import type { JsonObject } from '../event/shapes.ts'
import type { EventOf, Event } from '../event/types.ts'

/** Points at a fact: so many back, the `n`th latest call, the `n`th latest pending call, or by a text of its own. */
export type Ref =
  | { readonly to: 'back' | 'call' | 'open'; readonly n: number; readonly summary?: boolean }
  | { readonly to: 'text'; readonly text: string }

/**
 * What a reply says of the event it was asked at: one that it points at, what it hangs on, a later one, none, or what
 * cannot be read.
 */
export type Asked = Ref | 'later' | true | null | 7

/**
 * Which id, parent and time a fact comes with. Nearly always the first of each: one oddity at a time shows where it
 * hurts.
 */
export interface Placing {
  readonly id: { readonly as: 'fresh' | 'absent' } | { readonly as: 'ref'; readonly ref: Ref }
  readonly parent:
    | { readonly as: 'absent' | 'null' | 'root' | 'self' | 'later' }
    | { readonly as: 'ref'; readonly ref: Ref }
  readonly time: 'next' | 'absent' | 'same' | 'earlier' | 'unreadable'
}

/** What one fact says. */
export type Saying =
  | { readonly say: 'event'; readonly body: Event }
  | {
      readonly say: 'call'
      readonly body: EventOf<'ActionEvent'>
      /** The response of the latest call, a new one, or a text that others use too. */
      readonly response: { readonly as: 'same' | 'fresh' } | { readonly as: 'text'; readonly text: string }
      readonly callId: { readonly as: 'fresh' } | { readonly as: 'text'; readonly text: string }
      readonly after?: Asked
      /** What its record says beside, which may be anything. */
      readonly end?: JsonObject
    }
  | {
      readonly say: 'reply'
      readonly body: EventOf<'MessageEvent'>
      readonly after: Asked
      /** What its record says of its end, which may be anything. */
      readonly end: JsonObject
    }
  | {
      readonly say: 'result'
      readonly body:
        | EventOf<'ObservationEvent'>
        | EventOf<'UserRejectObservation'>
        | EventOf<'AgentErrorEvent'>
      readonly call: Ref
      /** Whether the action id is that of the call, of no event, or of whatever fact `other` points at. */
      readonly names: 'call' | 'nothing' | 'other'
      readonly other: Ref
      /** The tool call id of the call, or a text of its own. */
      readonly callId: string | null
    }
  | { readonly say: 'condensation'; readonly body: EventOf<'Condensation'>; readonly list: readonly Ref[] }
  | { readonly say: 'head'; readonly value: Ref | null | 7 | 'absent' }
  | {
      readonly say: 'broken'
      readonly readable: boolean
      readonly kind: string | null
      readonly raw: string
    }

/** One fact to be written. */
export interface Step {
  readonly placing: Placing
  readonly saying: Saying
}
