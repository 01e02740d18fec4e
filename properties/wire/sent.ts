/** M12, M13, M15: checks a request like a provider that signs its reasoning. */

import type { MessageOptions, NeutralMessage } from '../../src/messages/message.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { requestRecord } from '../../src/messages/prefix.ts'
import type { State } from '../../src/state/state.ts'
import { type Seen, refusals } from '../../src/messages/fake.ts'
import { grammarNamed } from '../../src/messages/grammars.ts'
import { hold, same } from '../../src/testing/failure.ts'
import { type WireGrammar, WIRES } from './reply.ts'

export interface Sent {
  readonly messages: readonly NeutralMessage[]
  readonly request: object
  readonly seen: Seen
}

/** The request's contents, the number of signed parts, and whether the past is unchanged. */
export interface ReplyContext {
  readonly seen: Seen
  readonly signed: number
  /** Up to each call, where HEAD may be. */
  readonly signedAt: readonly number[]
  readonly isIntact: boolean
}

export type SentOccurrence =
  | 'signed_parts_sent'
  | 'signed_parts_omitted'
  | 'signed_again_after_a_change'
  | 'cut_between_calls'

export const TOOL_NAMES = ['safe', 'risky', 'finish'] as const

export const PARAMETERS = { type: 'object', properties: {} } as const

export function toolsOf(grammar: WireGrammar): readonly object[] {
  const described = TOOL_NAMES.map((name) => ({ name, description: '' }))
  switch (grammar) {
    case 'anthropic':
      return described.map((tool) => ({ ...tool, input_schema: PARAMETERS }))
    case 'bedrock':
      return described.map(({ name }) => ({ toolSpec: { name, inputSchema: { json: PARAMETERS } } }))
    case 'interactions':
      return described.map((tool) => ({ type: 'function', ...tool, parameters: PARAMETERS }))
    case 'openai-chat':
      return described.map((tool) => ({ type: 'function', function: { ...tool, parameters: PARAMETERS } }))
    case 'openai-responses':
      return described.map((tool) => ({ type: 'function', ...tool, parameters: PARAMETERS, strict: false }))
    case 'google':
      return [
        { functionDeclarations: described.map((tool) => ({ ...tool, parametersJsonSchema: PARAMETERS })) },
      ]
    case 'ai-sdk':
      return described.map((tool) => ({ ...tool, parameters: PARAMETERS }))
  }
}

/** Later system prompts stay in place where possible. */
export const optionsOf = (grammar: WireGrammar): MessageOptions =>
  WIRES[grammar].limits.appends ? { system: 'append' } : {}

export function send(
  grammar: WireGrammar,
  messages: readonly NeutralMessage[],
  tools: readonly object[] = toolsOf(grammar),
  model = 'any',
): Sent {
  const request = WIRES[grammar].write(messages, { tools, model })
  const { front, blocks } = grammarNamed(grammar).sight.see(request, tools)
  // One model accepts nothing signed by another.
  return { messages, request, seen: { front: `${model} ${front}`, blocks } }
}

export const sendState = (grammar: WireGrammar, state: State): Sent =>
  send(grammar, toMessages(state, optionsOf(grammar)))

const OWN: ReadonlySet<string> = new Set(['assistant', 'function_call', 'web_search_call'])

/** M12 for every reply; M13 and M15 if its past is unchanged. */
export function checkSent(
  grammar: WireGrammar,
  { seen, messages, request }: Sent,
  input: ReadonlyMap<string, ReplyContext>,
): SentOccurrence[] {
  const occurred: SentOccurrence[] = []
  same('M12', `${grammar}: parts that the provider rejects`, refusals(seen), [])
  const remaining = new Set(requestRecord(request)?.leftOut.map(({ message }) => message))
  for (const [index, message] of messages.entries()) {
    const reply = message.role === 'assistant' ? input.get(message.reply?.model ?? '') : undefined
    if (reply === undefined) continue
    if (remaining.has(index)) occurred.push('signed_parts_omitted')
    if (!reply.isIntact) continue
    hold('M13', !remaining.has(index), `${grammar}: a reply lost its signed parts, and nothing had changed`)
    const before = reply.seen.blocks.length
    same(
      'M15',
      `${grammar}: the messages before a reply`,
      [seen.front, seen.blocks.slice(0, before)],
      [reply.seen.front, reply.seen.blocks],
    )
    // Where calls work and have no output, the next reply follows without a block between.
    const next = messages.slice(index + 1).find(({ role }) => role === 'assistant')
    const later = next?.role === 'assistant' ? input.get(next.reply?.model ?? '') : undefined
    const behind = seen.blocks.slice(before, later?.isIntact === true ? later.seen.blocks.length : undefined)
    const end = behind.findIndex(({ role }) => !OWN.has(role))
    const sent = (end < 0 ? behind : behind.slice(0, end)).filter(({ token }) => token !== null)
    // The continuation directly follows a paused reply.
    const isPaused = message.role === 'assistant' && message.reply?.outcome === 'paused'
    const ownDigest = isPaused ? sent.slice(0, reply.signed) : sent
    const calls = message.role === 'assistant' ? message.tool_calls.length : 0
    const { signedAt } = reply
    const isCut = calls > 0 && calls < signedAt.length
    if (isCut) occurred.push('cut_between_calls')
    const signed = isCut ? signedAt[calls - 1] : reply.signed
    same('M13', `${grammar}: signed parts sent`, ownDigest.length, signed)
    if (reply.signed === 0) continue
    occurred.push('signed_parts_sent')
    if ([...input.values()].some(({ isIntact }) => !isIntact)) occurred.push('signed_again_after_a_change')
  }
  return occurred
}
