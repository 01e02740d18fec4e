/** The differences between grammars, and the turns, pieces and parts that all writers share. */

import type { GrammarKinds, Kind } from './blocks.ts'
import type { Digest } from './digest.ts'
import type { Image, FileRef } from './files.ts'
import type { AssistantMessage, NeutralToolCall } from './message.ts'
import type { JsonObject, Content, OpenPart } from '../event/shapes.ts'
import type { Shape } from './shape.ts'

export interface IdForm {
  /** Pattern with the flag `g`. It matches the characters that the provider refuses. */
  readonly illegal: RegExp
  readonly maxLength: number
}

export interface Limits extends GrammarKinds {
  /** Value of `origin` in the calls of a reply. Default: `completion`. */
  readonly origin?: 'completion' | 'responses'
  readonly callId: IdForm
  /**
   * Returns a function that maps call ids of the log to call ids of a request. Default:
   * `callIds` of `turns.ts`, called with `callId`.
   */
  readonly callIds?: () => (logId: string) => string
  /** Maximum length of a tool's name. Default: 64. */
  readonly toolNameLength?: number
  readonly acceptsImage: (image: Image) => boolean
  readonly parts: PartTable
  /** The kinds of parts that a reply can have, each with a function that returns a part's digest. */
  readonly kinds: Readonly<Partial<Record<PartKind, (part: never) => Digest>>>
  /** Returns the order of a reply's parts. Used if its record is missing or of another grammar. */
  readonly order: (message: AssistantMessage) => readonly FieldRef[]
  /** Reorders a record's parts, for a provider that rejects other content after a call. */
  readonly arrange?: (
    message: AssistantMessage,
    refs: readonly PartRef[],
    limits: Limits,
  ) => readonly PartRef[]
  readonly isSigned: (message: AssistantMessage, ref: FieldRef) => boolean
  readonly more: Readonly<Partial<Record<PartKind, Kind['more']>>>
  readonly pairOf: (value: JsonObject) => PairHalf | null
  readonly pairs: (turns: readonly Turn[], limits: Limits, state: PairState) => readonly Turn[]
  /** Whether a reply without calls is written at all. Signed parts count as output, even if they are left out. */
  readonly hasOutput: (turn: AssistantTurn) => boolean
  /**
   * Whether `last` is a paused reply that `next` continues. `next` is undefined for the reply to this request.
   * If the result is true, no user turn is added after `last`. Absent for a grammar without pauses.
   */
  readonly resumes?: (last: AssistantTurn, next: AssistantTurn | undefined, limits: Limits) => boolean
  /** Whether the provider accepts system messages after the first message. Default: false. */
  readonly appends?: true
}

export interface PairState {
  /** Ids of pairs (a provider tool's call and its result) that cannot be sent. */
  readonly refused: ReadonlySet<string>
  /** Pair ids of the provider tool calls so far. A later call with one of these ids is not sent. */
  readonly used: Map<unknown, true>
}

/** A call of the provider's own tool, or its result. Neither half of a pair is sent without the other. */
export interface PairHalf {
  readonly half: 'call' | 'result'
  readonly id: string
  /** Whether the result may be in a later reply than the call. */
  readonly waits: boolean
}

/** A turn of the user; never empty. */
export interface UserTurn {
  readonly role: 'user'
  readonly pieces: readonly Piece[]
  readonly name: string | null
  readonly completes?: { readonly callId: string; readonly pieces: readonly Piece[] }
}

/** A system prompt after the first message. It is placed before a reply or at the end. */
export interface SystemTurn {
  readonly role: 'system'
  readonly texts: readonly TextPiece[]
}

export interface AssistantTurn extends PartsInOrder {
  readonly role: 'assistant'
  readonly index: number
  readonly message: AssistantMessage
  readonly texts: readonly TextPiece[]
  readonly calls: readonly Call[]
  /** One result for each call, in the order of arrival. */
  readonly results: readonly Result[]
  /** Whether calls of provider tools wait for results. If so, only a continuation of the reply may follow. */
  readonly waits: boolean
}

export interface Call {
  readonly id: string
  readonly name: string
  readonly source: NeutralToolCall
}

/** The result of a call. An error result is never empty. */
export interface Result {
  readonly call: Call
  readonly pieces: readonly Piece[]
  readonly isError: boolean
  readonly isWorking: boolean
}

export type Turn = UserTurn | SystemTurn | AssistantTurn

export interface PartsInOrder {
  readonly refs: readonly PartRef[]
  /** Number of parts up to and including the last signed part; 0 if no part is signed. */
  readonly bound: number
  readonly signed: number
}

/** A kind of part that is stored in a standard field of the reply's events. */
export type PartKind = 'thinking' | 'text' | 'call' | 'reasoning'

/**
 * Reference to a part by kind and by its index in a field of the message: `thinking_blocks`, `content` or
 * `tool_calls`. For `reasoning`, `index` counts the message's reasoning item first, then the reasoning items
 * of its calls. A reference is stored in the form `{ "text": 0 }`. `more` has the part's fields that the
 * standard field cannot store.
 */
export interface FieldRef {
  readonly kind: PartKind
  readonly index: number
  readonly more: JsonObject | null
}

/** A part that no standard field can store, with its index in `reply.parts`. Stored as `{ "other": … }`. */
export interface OtherRef {
  readonly kind: 'other'
  readonly index: number
  readonly value: JsonObject
  /** Text that replaces the part; null when the part itself is written. */
  readonly placeholder: string | null
}

export type PartRef = FieldRef | OtherRef

export interface Positions {
  readonly user: boolean
  readonly result: boolean
  readonly item?: boolean
}

export interface AcceptedKind extends Positions {
  /** Shape of a part that can be sent. `cache_prompt` and `cache_control` are removed before the check. */
  readonly fits: Shape<object>
}

export interface PartTable extends Positions {
  readonly kinds: Readonly<Record<string, AcceptedKind>>
  /** Whether a text file is sent as a file, not as text. Default: false. */
  readonly textFiles?: boolean
  readonly write: (file: FileRef) => JsonObject | null
}

/** A text that is not blank. */
export interface TextPiece {
  readonly type: 'text'
  readonly text: string
  readonly cache: boolean
  /** The logged part from which the text was read; null if the text is not in the log. */
  readonly source: Content | null
}

export interface ImagePiece {
  readonly type: 'image'
  readonly image: Image
  readonly cache: boolean
  readonly source: Content
  readonly slot: number
}

/** A part that is neither text nor an image, in the grammar's own form. */
export interface BlockPiece extends Positions {
  readonly type: 'block'
  readonly block: JsonObject
  readonly cache: boolean
  readonly source: OpenPart
}

export type Piece = TextPiece | ImagePiece | BlockPiece

export type AcceptedContent = Pick<Limits, 'acceptsImage' | 'parts'>
