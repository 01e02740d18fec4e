/** What every finder is given, and how it says what it has found. */

import type { Loaded } from '../event/load.ts'
import type { Grammar } from '../event/reply.ts'
import type { RequestWriter } from '../laws/requests.ts'
import type { NeutralMessage } from '../messages/message.ts'
import type { State } from '../state/state.ts'
import type { Finding, FindingKind, Severity } from './finding.ts'
import { toAiSdk } from '../messages/ai-sdk/write.ts'
import { toAnthropic } from '../messages/anthropic/write.ts'
import { toGoogle } from '../messages/google/write.ts'
import { toMessages } from '../messages/neutral.ts'
import { toOpenAIChat } from '../messages/openai-chat/write.ts'
import { toOpenAIResponses } from '../messages/openai-responses/write.ts'
import type { LeftOut, WriteOptions } from '../messages/prefix.ts'
import type { Branch } from '../state/branch.ts'

/** A conversation to be looked through. */
export interface Scene {
  readonly state: State
  readonly items: readonly Loaded[]
  readonly grammars: readonly Grammar[]
  readonly ended: boolean
  /** What is sent of a state, as far as the log tells it. */
  readonly messages: (state: State) => readonly NeutralMessage[]
  /** What the server says that it sends of one. */
  readonly given: RequestWriter | undefined
}

/** A finding whose key is not made yet. */
export type Found = Omit<Finding, 'key'>

/** Looks for one kind of thing. */
export type Finder = (scene: Scene) => Iterable<Found>

/** What may be said of a finding beside its text. */
interface More extends Partial<Pick<Found, 'rule' | 'law' | 'cost'>> {
  /** The events that show it, beside the one that it is about. */
  readonly ids?: readonly (string | null | undefined)[]
}

/** A finding about an event. The events that show it are named once each. */
export function found(
  kind: FindingKind,
  severity: Severity,
  at: { readonly seq: number; readonly id: string | null },
  text: string,
  { ids = [], rule = null, law = null, cost }: More = {},
): Found {
  const named = [at.id, ...ids].filter((id): id is string => typeof id === 'string')
  return { kind, severity, text, rule, law, seq: at.seq, ids: [...new Set(named)], ...(cost && { cost }) }
}

/** A number and what it counts. */
export const counted = (many: number, one: string, more = `${one}s`): string =>
  `${many.toLocaleString('en')} ${many === 1 ? one : more}`

const WRITERS: Readonly<
  Record<Grammar, (messages: readonly NeutralMessage[], options: WriteOptions) => object>
> = {
  'openai-chat': toOpenAIChat,
  'openai-responses': toOpenAIResponses,
  anthropic: toAnthropic,
  'ai-sdk': toAiSdk,
  google: toGoogle,
}

/** Whether a text names a grammar. */
export const isGrammar = (text: unknown): text is Grammar =>
  typeof text === 'string' && Object.hasOwn(WRITERS, text)

/** A request, as far as it follows from the log. */
interface Request {
  readonly messages: readonly NeutralMessage[]
  /** In the grammar, with the tools that the system prompt names; null where there is nothing to send. */
  readonly written: { readonly tools: readonly unknown[] } | null
  readonly leftOut: readonly LeftOut[]
}

/** Both ways in which a request may hold system prompts that were replaced; the first where nothing tells. */
const SYSTEMS = ['replace', 'append'] as const

/**
 * What a server sends of a state: later system prompts stand where the replies of the log say that they stood, as far
 * as those are signed. O(content of the view).
 */
export function sentOf(
  state: State,
  grammar: Grammar = 'anthropic',
  messages: RequestWriter = toMessages,
): Scene['messages'] {
  const ways = SYSTEMS.map((system) => (one: State) => messages(one, { system }))
  const left = ways.map((way) => requestOn(state, state.branch, grammar, way).leftOut.length)
  return ways[left.indexOf(Math.min(...left))] ?? ((one) => messages(one, {}))
}

/** What would be sent on a branch. O(content of the view). */
export function requestOn(state: State, branch: Branch, grammar: Grammar, sent: Scene['messages']): Request {
  const messages = sent({ ...state, branch })
  const leftOut: LeftOut[] = []
  if (messages.length === 0) return { messages, written: null, leftOut }
  const request = WRITERS[grammar](messages, { onPrefix: (left) => leftOut.push(left) })
  const list = Array.isArray(request) ? { messages: request } : request
  return { messages, written: { ...list, tools: branch.systemPrompt?.event.tools ?? [] }, leftOut }
}
