/** What differs between the grammars, and the turns, pieces and parts that all writers share. */

import type { OwnKinds, Kind } from './blocks.ts'
import type { Image, FileRef } from './files.ts'
import type { AssistantMessage, NeutralToolCall } from './message.ts'
import type { JsonObject, Content, OpenPart } from '../event/shapes.ts'
import type { Shape } from './shape.ts'

/** Which call ids a provider takes. */
export interface IdForm {
  /** A global pattern that matches each character it refuses. */
  readonly illegal: RegExp
  readonly maxLength: number
}

/** What differs between the grammars before a word of them is written. */
export interface Limits extends OwnKinds {
  /** What the log calls the origin of its calls. */
  readonly origin: 'completion' | 'responses'
  readonly callId: IdForm
  /** Makes the giver of call ids for a request, where their form does not say which are legal. */
  readonly callIds?: () => (given: string) => string
  readonly toolNameLength: number
  /** Which images the provider takes. */
  readonly takesImage: (image: Image) => boolean
  /** The parts of other kinds than text and image that it takes. */
  readonly parts: PartTable
  /** The kinds of parts that its replies have. */
  readonly kinds: readonly PartKind[]
  /** The parts of a reply in the order in which they are written where its record names none. */
  readonly order: (message: AssistantMessage, counts: PartCounts) => readonly FieldRef[]
  /** Whether nothing may stand behind a call but calls, and what thinking before another one is bound to. */
  readonly callsLast: boolean
  /** Whether a part is one that the provider has signed, and takes back. */
  readonly isSigned: (message: AssistantMessage, ref: FieldRef) => boolean
  /** The fields that parts of a kind may have beside the standard ones. */
  readonly more: Readonly<Partial<Record<PartKind, Kind['more']>>>
  /** Which half of a pair a part is that was kept whole: the call of a server's tool or its result; null for others. */
  readonly pairOf: (value: JsonObject) => PairHalf | null
  /** Holds the halves together, where there are any. */
  readonly pairs: (turns: readonly Turn[], limits: Limits) => readonly Turn[]
  /** Whether anything is written of a reply without calls; signed parts count, whether they are kept or not. */
  readonly says: (turn: AssistantTurn) => boolean
  /** Whether a reply that was paused is gone on with by sending it back as the last message. */
  readonly pauses: boolean
  /** Whether a system message may stand behind others. */
  readonly appends: boolean
}

/** Half of a pair, of which neither is sent without the other. */
export interface PairHalf {
  readonly half: 'call' | 'result'
  /** What the two have in common. */
  readonly id: string
  /** Whether the result may come in a later reply. */
  readonly waits: boolean
}

/** What the user says; never empty. */
export interface UserTurn {
  readonly role: 'user'
  readonly pieces: readonly Piece[]
  readonly name: string | null
  /** The call that it completes, by the id in the log, and the result without the frame. */
  readonly completes?: { readonly callId: string; readonly pieces: readonly Piece[] }
}

/** A system prompt that has come later; it stands behind what the user says, and before a reply or at the end. */
export interface SystemTurn {
  readonly role: 'system'
  readonly texts: readonly TextPiece[]
}

/** What the assistant says and calls, and the results of its calls. */
export interface AssistantTurn {
  readonly role: 'assistant'
  /** Index of the message in the list. */
  readonly at: number
  readonly message: AssistantMessage
  /** The parts of the reply, in the order in which they are written. */
  readonly refs: readonly PartRef[]
  /** How many of them end with the last signed one; 0 when none is signed. */
  readonly bound: number
  /** How many of them are signed. */
  readonly signed: number
  readonly texts: readonly TextPiece[]
  readonly calls: readonly Call[]
  /** One for each call, in the order they came. */
  readonly results: readonly Result[]
  /** Whether calls of the provider's own tools wait behind its results: nothing else may stand there. */
  readonly waits: boolean
}

export interface Call {
  readonly id: string
  readonly name: string
  readonly source: NeutralToolCall
}

/** The result of a call; of an error, it says something. */
export interface Result {
  readonly call: Call
  readonly pieces: readonly Piece[]
  readonly isError: boolean
  /** Whether the call works on. */
  readonly isWorking: boolean
}

export type Turn = UserTurn | SystemTurn | AssistantTurn

/** A conversation that begins with the user, and ends with what a model can reply to. */
export interface Turns {
  readonly system: readonly TextPiece[]
  readonly turns: readonly Turn[]
}

/** The parts of a reply, and which of them are signed. */
export interface PartsInOrder {
  /** In the order in which they are written. */
  readonly refs: readonly PartRef[]
  /** How many of them end with the last signed one; 0 when none is signed. */
  readonly bound: number
  /** How many of them are signed. */
  readonly signed: number
}

/** A part that stands in a standard field of the reply's events, all of them taken together. */
export type PartKind = 'thinking' | 'text' | 'call' | 'reasoning'

/**
 * A reference to the part of a kind at an index: `thinking` into the thinking blocks, `text` into the content, `call`
 * into the calls, `reasoning` into the reasoning items (that of the message first, then those of the calls). Stored as
 * an object of one such field, `{ "text": 0 }`, and beside it as `more` what the standard field lacks.
 */
export interface FieldRef {
  readonly kind: PartKind
  readonly at: number
  readonly more: JsonObject | null
}

/** A part that no standard field holds, by its index among the record's parts. Stored as `{ "other": … }`. */
export interface OtherRef {
  readonly kind: 'other'
  readonly at: number
  readonly value: JsonObject
  /** What is written in its place; null where it is written itself. */
  readonly placeholder: string | null
}

export type PartRef = FieldRef | OtherRef

/** How many parts of each kind the standard fields hold; a kind that is not named has no place in the grammar. */
export type PartCounts = Readonly<Partial<Record<PartKind, number>>>

/** Where a part may stand. */
export interface Places {
  readonly user: boolean
  readonly result: boolean
  /** Whether it stands beside messages or results, and not in them: what a model has asked for. */
  readonly item?: boolean
}

/** A kind of part that a grammar has. */
export interface OwnKind extends Places {
  /** What a part must be to be sent; without `cache_prompt`, which is ours, and the grammar's own mark. */
  readonly fits: Shape<object>
}

/** The kinds of parts that a grammar has, and how it says a file. */
export interface PartTable extends Places {
  readonly kinds: Readonly<Record<string, OwnKind>>
  /** Whether its form of a file takes text too, so that such a file goes back as it came. Default: no. */
  readonly textFiles?: boolean
  /** A file in the grammar's words, for the places that the table names; null where it has none. */
  readonly write: (file: FileRef) => JsonObject | null
}

/** A text that says something. */
export interface TextPiece {
  readonly type: 'text'
  readonly text: string
  /** Whether a prefix that should be cached ends here. */
  readonly cache: boolean
  /** The part of the log that it comes from; null for a sentence of ours. */
  readonly source: Content | null
}

/** One image. */
export interface ImagePiece {
  readonly type: 'image'
  readonly image: Image
  readonly cache: boolean
  readonly source: Content
  /** Its index among the images of its part. */
  readonly slot: number
}

/** A part of another kind, in the words of the grammar. */
export interface BlockPiece extends Places {
  readonly type: 'block'
  readonly block: JsonObject
  readonly cache: boolean
  readonly source: OpenPart
}

export type Piece = TextPiece | ImagePiece | BlockPiece

/** What a grammar takes beside texts. */
export interface Takes {
  readonly takesImage: (image: Image) => boolean
  readonly parts: PartTable
}
