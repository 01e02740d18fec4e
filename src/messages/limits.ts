/** The differences between grammars, and the turns, pieces and parts that all writers share. */

import type { GrammarKinds, Kind } from './blocks.ts'
import type { Digest } from './digest.ts'
import type { Image, FileRef } from './files.ts'
import type { AssistantMessage, NeutralToolCall } from './message.ts'
import type { JsonObject, Content, OpenPart } from '../event/shapes.ts'
import type { Shape } from './shape.ts'

/** Form of the call ids that a provider accepts. */
export interface IdForm {
  /** Global pattern of the characters that the provider refuses. */
  readonly illegal: RegExp
  readonly maxLength: number
}

/** The differences between grammars that matter before anything is written. */
export interface Limits extends GrammarKinds {
  /** API of the calls. Default: `completion`. */
  readonly origin?: 'completion' | 'responses'
  readonly callId: IdForm
  /** Makes the call ids of a request. Default: `callIds` of `turns.ts` with `callId`. */
  readonly callIds?: () => (logId: string) => string
  /** Default: 64. */
  readonly toolNameLength?: number
  readonly acceptsImage: (image: Image) => boolean
  readonly parts: PartTable
  /** Kinds of parts in a reply, and the digest of such a part as logged. */
  readonly kinds: Readonly<Partial<Record<PartKind, (part: never) => Digest>>>
  /** Returns the order of a reply's parts when the reply's record has no parts. */
  readonly order: (message: AssistantMessage, counts: PartCounts) => readonly FieldRef[]
  /** Rearranges a record's parts, for a provider that accepts only calls after a call. */
  readonly arrange?: (
    message: AssistantMessage,
    refs: readonly PartRef[],
    limits: Limits,
  ) => readonly PartRef[]
  readonly isSigned: (message: AssistantMessage, ref: FieldRef) => boolean
  readonly more: Readonly<Partial<Record<PartKind, Kind['more']>>>
  /** Half of a pair, for a call of the provider's own tool or its result; null for other parts. */
  readonly pairOf: (value: JsonObject) => PairHalf | null
  readonly pairs: (turns: readonly Turn[], limits: Limits, state: PairState) => readonly Turn[]
  /** Whether a reply without calls is written at all; signed parts count, even when they are left out. */
  readonly hasOutput: (turn: AssistantTurn) => boolean
  /**
   * Whether a paused reply is continued: no user turn is written between it and the next reply, or after it
   * if it is last. Absent for a grammar without pauses.
   */
  readonly resumes?: (last: AssistantTurn, next: AssistantTurn | undefined, limits: Limits) => boolean
  /** Whether the provider accepts system messages after the first message. Default: false. */
  readonly appends?: true
}

/** The pairs that cannot be sent, and the calls that earlier turns used. */
export interface PairState {
  /** Ids of pairs that cannot be sent. */
  readonly refused: ReadonlySet<string>
  /** Ids of calls so far. */
  readonly used: Map<unknown, true>
}

/** A call of the provider's own tool, or its result. Neither half of a pair is sent without the other. */
export interface PairHalf {
  readonly half: 'call' | 'result'
  readonly id: string
  /** Whether the result may be in a later reply. */
  readonly waits: boolean
}

/** A turn of the user; never empty. */
export interface UserTurn {
  readonly role: 'user'
  readonly pieces: readonly Piece[]
  readonly name: string | null
  readonly completes?: { readonly callId: string; readonly pieces: readonly Piece[] }
}

/** A later system prompt; it follows a user's turn, and precedes a reply or is last. */
export interface SystemTurn {
  readonly role: 'system'
  readonly texts: readonly TextPiece[]
}

export interface AssistantTurn {
  readonly role: 'assistant'
  readonly index: number
  readonly message: AssistantMessage
  readonly refs: readonly PartRef[]
  /** Number of parts up to the last signed one; 0 when no part is signed. */
  readonly bound: number
  readonly signed: number
  readonly texts: readonly TextPiece[]
  readonly calls: readonly Call[]
  /** One for each call, in the order of arrival. */
  readonly results: readonly Result[]
  /** Whether calls of provider tools wait for results. Then only the reply's continuation may follow. */
  readonly waits: boolean
}

export interface Call {
  readonly id: string
  readonly name: string
  readonly source: NeutralToolCall
}

/** The result of a call; an error result is never empty. */
export interface Result {
  readonly call: Call
  readonly pieces: readonly Piece[]
  readonly isError: boolean
  readonly isWorking: boolean
}

export type Turn = UserTurn | SystemTurn | AssistantTurn

export interface PartsInOrder {
  readonly refs: readonly PartRef[]
  readonly bound: number
  readonly signed: number
}

/** A kind of part that is stored in a standard field of the reply's events. */
export type PartKind = 'thinking' | 'text' | 'call' | 'reasoning'

/**
 * Reference to a part by kind and index: `thinking` (blocks), `text` (content), `call` (calls), `reasoning`
 * (items: the message's, then the calls'). Stored as `{ "text": 0 }`; `more` has what the standard field
 * lacks.
 */
export interface FieldRef {
  readonly kind: PartKind
  readonly index: number
  readonly more: JsonObject | null
}

/** A part that no standard field can store, by its index in the record. Stored as `{ "other": … }`. */
export interface OtherRef {
  readonly kind: 'other'
  readonly index: number
  readonly value: JsonObject
  /** Text that replaces the part; null when the part itself is written. */
  readonly placeholder: string | null
}

export type PartRef = FieldRef | OtherRef

export type PartCounts = Readonly<Partial<Record<PartKind, number>>>

export interface Positions {
  readonly user: boolean
  readonly result: boolean
  readonly item?: boolean
}

export interface AcceptedKind extends Positions {
  /** Form of a part that can be sent, without Colloquy's `cache_prompt` and the grammar's own cache mark. */
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
  /** The text part of the log that contains the text; null for any other text. */
  readonly source: Content | null
}

export interface ImagePiece {
  readonly type: 'image'
  readonly image: Image
  readonly cache: boolean
  readonly source: Content
  readonly slot: number
}

/** A part of another kind, in the grammar's own form. */
export interface BlockPiece extends Positions {
  readonly type: 'block'
  readonly block: JsonObject
  readonly cache: boolean
  readonly source: OpenPart
}

export type Piece = TextPiece | ImagePiece | BlockPiece

export type AcceptedContent = Pick<Limits, 'acceptsImage' | 'parts'>
