/** What providers reply, whole and streamed, for the law that it is written as it came. */

import type { Arbitrary } from 'fast-check'
import type { ReplyCollector, ReadOptions, Reply } from '../../src/messages/reply.ts'
import type { NeutralMessage } from '../../src/messages/message.ts'
import { AI_SDK } from './ai-sdk.ts'
import { ANTHROPIC } from './anthropic.ts'
import { BEDROCK } from './bedrock.ts'
import { GOOGLE } from './google.ts'
import { INTERACTIONS } from './interactions.ts'
import { OPENAI_CHAT } from './openai-chat.ts'
import { OPENAI_RESPONSES } from './openai-responses.ts'

/** What occurred in the replies, for the tally. */
export type Occurrence =
  | 'calls'
  | 'words_only'
  | 'thought_between_words'
  | 'thought_between_calls'
  | 'signed'
  | 'server_tools'
  | 'waits_for_a_result'
  | 'refused'
  | 'several_messages'
  | 'fields_of_servers'
  | 'heard'
  | 'seen'

/** The replies of a grammar's provider. */
export interface ReplyWire<Raw extends object = object> {
  readonly reply: Arbitrary<Raw>
  readonly read: (reply: Raw, options: ReadOptions) => Reply
  readonly collect: (options: ReadOptions) => ReplyCollector
  readonly write: (messages: readonly NeutralMessage[]) => object
  /** The parts of a reply in a request. */
  readonly replyIn: (request: object) => readonly unknown[]
  /** The parts as they should be there. */
  readonly expected: (reply: Raw) => readonly unknown[]
  /** The events of a stream; each text is cut into pieces of the lengths given. */
  readonly stream: (reply: Raw, cut: () => number) => readonly object[]
  /** How many events at the end of a stream say how it ended. */
  readonly ends: number
  /** What is said, in one. */
  readonly words: (reply: Raw) => string
  /** The reply with values of any shape among its parts. */
  readonly garble: (reply: Raw, values: readonly unknown[], nat: number) => object
  /** Rules for requests that the reply breaks itself: it goes back so all the same. */
  readonly allowed: (reply: Raw) => readonly string[]
  readonly occurred: (reply: Raw) => readonly Occurrence[]
  /** What must occur. */
  readonly occurs: readonly Occurrence[]
}

/** Of replies of its own type only, which come from its own arbitrary. */
const wire = <Raw extends object>(of: ReplyWire<Raw>): ReplyWire => of as unknown as ReplyWire

export const REPLY_WIRES = {
  'Anthropic Messages': wire(ANTHROPIC),
  'AI SDK': wire(AI_SDK),
  Gemini: wire(GOOGLE),
  'Amazon Bedrock Converse': wire(BEDROCK),
  'Gemini Interactions': wire(INTERACTIONS),
  'OpenAI Chat Completions': wire(OPENAI_CHAT),
  'OpenAI Responses': wire(OPENAI_RESPONSES),
} as const
