/** Replies of each provider, whole and streamed. */

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

export type Occurrence =
  | 'calls'
  | 'words_only'
  | 'thinking_between_texts'
  | 'thought_between_calls'
  | 'signed'
  | 'server_tools'
  | 'waits_for_a_result'
  | 'refused'
  | 'several_messages'
  | 'fields_of_servers'
  | 'heard'
  | 'seen'

export interface ReplyWire<Raw extends object = object> {
  readonly reply: Arbitrary<Raw>
  readonly read: (reply: Raw, options: ReadOptions) => Reply
  readonly collect: (options: ReadOptions) => ReplyCollector
  readonly write: (messages: readonly NeutralMessage[]) => object
  readonly replyIn: (request: object) => readonly unknown[]
  readonly expected: (reply: Raw) => readonly unknown[]
  /** `cut` returns the lengths of text chunks. */
  readonly stream: (reply: Raw, cut: () => number) => readonly object[]
  /** Number of final events that report how the stream ended. */
  readonly ends: number
  readonly text: (reply: Raw) => string
  /** Adds arbitrary values to the parts. */
  readonly garble: (reply: Raw, values: readonly unknown[], nat: number) => object
  /** Rules that the reply breaks, though the provider accepts it. */
  readonly allowed: (reply: Raw) => readonly string[]
  readonly occurred: (reply: Raw) => readonly Occurrence[]
  readonly occurs: readonly Occurrence[]
}

/** Safe because a wire only receives replies from its own arbitrary. */
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
