/** M1 to M20: messages and requests follow the rules of each grammar. */

import {
  isImagePart,
  isOpenPart,
  isTextPart,
  type Content,
  type RedactedThinkingBlock,
  type ThinkingBlock,
} from '../../src/event/shapes.ts'
import { hasCode } from '../../src/event/errors.ts'
import { completionOf } from '../../src/event/completion.ts'
import { completionFrame } from '../../src/messages/phrases.ts'
import type { Fact } from '../../src/event/quarantine.ts'
import type { Event, ToolResultEvent } from '../../src/event/types.ts'
import { pathToEntry } from '../../src/log/entry.ts'
import { listPendingCallsIn } from '../../src/log/open-calls.ts'
import { toAiSdk } from '../../src/messages/ai-sdk/write.ts'
import { toAnthropic } from '../../src/messages/anthropic/write.ts'
import { toBedrock } from '../../src/messages/bedrock/write.ts'
import { toGoogle } from '../../src/messages/google/write.ts'
import { toInteractions } from '../../src/messages/interactions/write.ts'
import type { MessageOptions, NeutralMessage } from '../../src/messages/message.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { toOpenAIChat } from '../../src/messages/openai-chat/write.ts'
import { toOpenAIResponses } from '../../src/messages/openai-responses/write.ts'
import { switchTo } from '../../src/state/at.ts'
import { replay } from '../../src/state/reduce.ts'
import type { State } from '../../src/state/state.ts'
import { type BatchUnit, isPending, type Unit } from '../../src/view/units.ts'
import { validateAiSdk } from '../../test/validators/ai-sdk.ts'
import { validateAnthropic } from '../../src/messages/anthropic/rules.ts'
import { validateBedrock } from '../../src/messages/bedrock/rules.ts'
import { validateGoogle } from '../../src/messages/google/rules.ts'
import { validateInteractions } from '../../src/messages/interactions/rules.ts'
import { validateOpenAiChat } from '../../src/messages/openai-chat/rules.ts'
import { validateOpenAiResponses } from '../../src/messages/openai-responses/rules.ts'
import { type Violation } from '../../src/messages/request-form.ts'
import { isBlank } from '../../src/messages/rules.ts'
import { hold, same, total } from '../../src/testing/failure.ts'

interface Grammar {
  readonly law: string
  readonly name: string
  readonly write: (messages: readonly NeutralMessage[]) => unknown
  readonly judge: (request: unknown, options?: MessageOptions) => readonly Violation[]
}

/** Not all servers accept system messages after others. */
const unlessAppended =
  ({ system }: MessageOptions = {}) =>
  ({ rule }: Violation): boolean =>
    system !== 'append' || rule !== 'system-first'

export const GRAMMARS: readonly Grammar[] = [
  {
    law: 'M1',
    name: 'OpenAI Chat',
    write: toOpenAIChat,
    judge: (request, options) => validateOpenAiChat(request).filter(unlessAppended(options)),
  },
  {
    law: 'M2',
    name: 'OpenAI Responses',
    write: toOpenAIResponses,
    judge: (request, options) => validateOpenAiResponses(request).filter(unlessAppended(options)),
  },
  {
    law: 'M3',
    name: 'Anthropic',
    write: toAnthropic,
    judge: (request, { system } = {}) => validateAnthropic(request, { systemMessages: system === 'append' }),
  },
  { law: 'M4', name: 'AI SDK', write: toAiSdk, judge: (request) => validateAiSdk(request) },
  { law: 'M16', name: 'Gemini', write: toGoogle, judge: (request) => validateGoogle(request) },
  {
    law: 'M20',
    name: 'Amazon Bedrock Converse',
    write: toBedrock,
    judge: (request) => validateBedrock(request),
  },
  {
    law: 'M19',
    name: 'Gemini Interactions',
    write: toInteractions,
    judge: (request) => validateInteractions(request),
  },
]

/** At HEAD and at each other branch. */
export function branchesOf(facts: readonly Fact[]): State[] {
  const state = replay(facts)
  const entries = [...state.log.entries].filter((entry) => entry.inTree)
  const above = new Set([state.log.head?.seq, ...entries.map(({ parent }) => parent?.seq)])
  const ends = entries.filter(({ seq }) => !above.has(seq))
  return [state, ...ends.slice(-6).map((entry) => switchTo(state, entry.id ?? ''))]
}

/** M1 to M4, M6, M16, M19, M20: every grammar writes any log, and its validator accepts it. */
export function checkGrammars(facts: readonly Fact[], unordered: readonly string[] = []): void {
  const modes: readonly MessageOptions[] = [
    {},
    { pending: { close: 'interrupted' } },
    { maxResultLength: 200, system: 'append' },
  ]
  const judged = new Set<string>()
  for (const state of branchesOf(facts)) {
    for (const options of modes) {
      const messages = total('M6', 'toMessages', () => toMessages(state, options))
      const text = JSON.stringify(messages)
      if (judged.has(text)) continue
      judged.add(text)
      for (const { law, name, write, judge } of GRAMMARS) {
        if (messages.length === 0) {
          hold(
            'M6',
            fails(() => write(messages), 'empty_view'),
            `${name} does not throw empty_view for an empty view`,
          )
          continue
        }
        const request = total('M6', name, () => write(messages))
        const violation = judge(request, options).find(({ rule }) => !unordered.includes(rule))
        hold(
          law,
          violation === undefined,
          () => `${name}: ${JSON.stringify(violation)}\n${JSON.stringify(request)}`,
        )
        same('M8', `${name}, written again`, request, write(messages))
      }
      same('M8', 'the messages after writing a request', messages, text)
    }
    const waits = [...state.branch.view.units].some(isPending)
    const refuse = () => toMessages(state, { pending: 'refuse' })
    if (waits) hold('M9', fails(refuse, 'pending_calls'), 'pending calls did not throw pending_calls')
    else same('M9', 'messages without pending calls', total('M6', 'toMessages', refuse), toMessages(state))
  }
}

function fails(run: () => unknown, code: 'empty_view' | 'pending_calls'): boolean {
  try {
    run()
    return false
  } catch (error) {
    return hasCode(error, code)
  }
}

/** M5: signed parts are sent unchanged and in order, and nothing else as signed. */
export function checkThinking(facts: readonly Fact[]): void {
  for (const state of branchesOf(facts)) {
    const messages = toMessages(state)
    if (messages.length === 0) continue
    const input = [...state.branch.view.units].filter((unit) => !isPending(unit)).flatMap(thinkingOf)
    const should = input.filter(isSendable).map(bytes)
    const anthropic = toAnthropic(messages).messages.flatMap(({ content }) => content)
    const sent = anthropic.flatMap((block) =>
      block.type === 'thinking' || block.type === 'redacted_thinking' ? [bytes(block)] : [],
    )
    same('M5', 'thinking in the Anthropic request', sent, should)
    // One grammar's signatures mean nothing to another.
    const isOther = messages.some((message) => message.role === 'assistant' && message.reply?.grammar)
    const parts = toAiSdk(messages, { prove: !isOther }).flatMap((message) =>
      message.role === 'assistant' ? message.content : [],
    )
    const report = parts.flatMap((part) => {
      const { anthropic } = (part.type === 'reasoning' && part.providerOptions) || {}
      if (part.type !== 'reasoning' || anthropic === undefined) return []
      return [['redactedData' in anthropic ? '' : part.text, ...Object.values(anthropic)].join('|')]
    })
    same('M5', 'thinking in the AI SDK request', report, should)
  }
}

type Thinking = ThinkingBlock | RedactedThinkingBlock

function thinkingOf(unit: Unit): readonly Thinking[] {
  if (unit.type === 'batch') return [...unit.calls].flatMap((call) => call.event.thinking_blocks ?? [])
  const { event } = unit.item
  const isReply = event.kind === 'MessageEvent' && event.llm_message.role === 'assistant'
  return isReply ? (event.llm_message.thinking_blocks ?? []) : []
}

const isSendable = (block: Thinking): boolean =>
  'thinking' in block
    ? (block.signature ?? '') !== '' && isWellFormed(block.thinking) && isWellFormed(block.signature ?? '')
    : block.data !== '' && isWellFormed(block.data)

/** A lone surrogate has no bytes to send. */
const isWellFormed = (text: string): boolean => !/\p{Surrogate}/u.test(text)

const bytes = (block: Thinking): string =>
  'thinking' in block ? `${block.thinking}|${block.signature ?? ''}` : `|${block.data}`

/** M7: one message per unit, results directly after their calls, one system message first. */
export function checkNeutral(facts: readonly Fact[]): void {
  for (const state of branchesOf(facts)) {
    const { view, systemPrompt } = state.branch
    const units = [...view.units].filter((unit) => !isPending(unit))
    const messages = toMessages(state)
    const systems = messages.filter((message) => message.role === 'system').length
    hold('M7', systems <= (systemPrompt === null ? 0 : 1), 'there is an additional system message')
    hold('M7', systems === 0 || messages[0]?.role === 'system', 'the system message is not the first')
    hold('M7', units.length > 0 || messages.length === 0, 'an empty view has messages')
    const spoken = messages.filter((message) => message.role === 'assistant' && message.tool_calls.length > 0)
    const batches = units.filter((unit): unit is BatchUnit => unit.type === 'batch')
    same('M7', 'number of replies that call tools', spoken.length, batches.length)
    checkWorking(state, messages, units)
    for (const [index, batch] of batches.entries())
      checkReply(messages, spoken[index] as NeutralMessage, batch)
    const users = messages.map((message) => message.role === 'user')
    const adjacent = users.some((user, index) => user && users[index + 1] === true)
    hold('M7', !adjacent || units.some(isMarked), 'adjacent user messages are not merged')
    const tools = messages.filter((message) => message.role === 'tool').length
    same(
      'M7',
      'results',
      tools,
      batches.reduce((sum, batch) => sum + batch.calls.length, 0),
    )
  }
}

function isMarked(unit: Unit): boolean {
  if (unit.type === 'batch' || unit.item.event.kind !== 'MessageEvent') return false
  if (unit.completes !== undefined) return true
  const { name = null, tool_calls = null, tool_call_id = null } = unit.item.event.llm_message
  return name !== null || tool_calls !== null || tool_call_id !== null
}

function checkReply(messages: readonly NeutralMessage[], reply: NeutralMessage, batch: BatchUnit): void {
  const calls = [...batch.calls].map((call) => call.event)
  hold('M7', reply.role === 'assistant', 'a batch does not begin with a reply')
  same(
    'M7',
    'calls of a reply',
    reply.tool_calls.map((call) => call.id),
    calls.map((call) => call.tool_call_id),
  )
  same(
    'M7',
    'text of a reply',
    reply.content,
    calls.flatMap((call) => call.thought),
  )
  const position = messages.indexOf(reply) + 1
  const behind = messages.slice(position, position + calls.length)
  const answered = behind.map((message) => (message.role === 'tool' ? message.tool_call_id : message.role))
  const should = [...batch.results].map((answer) => answer.call.event.tool_call_id)
  same('M7', 'results directly after a reply', answered, should)
  for (const [index, { entry }] of [...batch.results].entries()) {
    const message = behind[index]
    const failed = entry.event.kind !== 'ObservationEvent' || entry.event.observation.is_error === true
    hold('M7', message?.role === 'tool' && message.is_error === failed, 'a result has the wrong error flag')
  }
}

/** M18: a working call does not change how its reply is sent. */
export function checkWorking(
  state: State,
  messages: readonly NeutralMessage[],
  units: readonly Unit[],
): void {
  const works = new Set(listPendingCallsIn(state.branch.workingCalls).map(({ entry }) => entry.seq))
  for (const unit of state.branch.view.units) {
    if (unit.type !== 'batch' || ![...unit.calls].some(({ seq }) => works.has(seq))) continue
    const answered = new Set([...unit.results].map(({ call }) => call.seq))
    const isOpen = [...unit.calls].some(({ seq }) => !answered.has(seq))
    hold('M18', units.includes(unit) !== isOpen, `the reply at ${unit.first} is missing while its call works`)
  }
  const reports = messages.flatMap((message) => (message.role === 'user' ? (message.completes ?? []) : []))
  const should = units.flatMap((unit) => (unit.type === 'message' ? (unit.completes ?? []) : []))
  same(
    'M18',
    'completions',
    reports.map(({ tool_call_id }) => tool_call_id),
    should.map(({ event }) => event.tool_call_id),
  )
}

/** M10: requests contain exactly the log's messages, summaries and results. */
export function checkWords(facts: readonly Fact[]): void {
  for (const state of branchesOf(facts)) {
    const units = [...state.branch.view.units].filter((unit) => !isPending(unit))
    const messages = toMessages(state)
    const prompts = messages.flatMap((message) => (message.role === 'system' ? message.content : []))
    const prompt = pathToEntry(state.log.head).findLast(({ event }) => event?.kind === 'SystemPromptEvent')
    const requestCount = units.length === 0 ? [] : promptParts(prompt?.event ?? null)
    same('M10', 'the system prompt', prompts.filter(hasWords), requestCount.filter(hasWords))
    const reports = messages.flatMap((message) => (message.role === 'user' ? message.content : []))
    same('M10', 'text of the user', reports.filter(hasWords), units.flatMap(userParts).filter(hasWords))
    const results = messages.flatMap((message) => (message.role === 'tool' ? [message.content] : []))
    const answers = units.flatMap((unit) => (unit.type === 'batch' ? [...unit.results] : []))
    same(
      'M10',
      'results',
      results.map(textOf),
      answers.map((answer) => textOf(resultParts(answer.entry.event))),
    )
  }
}

const hasWords = (part: Content): boolean => !isTextPart(part) || /[\p{L}\p{N}]/u.test(part.text)

/** Defaults may be explicit or omitted. */
const textOf = (parts: readonly Content[]): string =>
  JSON.stringify(parts.map((part) => (isTextPart(part) ? part.text : part)))

const promptParts = (event: Event | null): readonly Content[] =>
  event?.kind !== 'SystemPromptEvent'
    ? []
    : [event.system_prompt, ...(event.dynamic_context ? [event.dynamic_context] : [])]

function userParts(unit: Unit): readonly Content[] {
  if (unit.type === 'batch') return []
  const { event } = unit.item
  if (event.kind === 'CondensationSummaryEvent') return [{ type: 'text', text: event.summary }]
  if (event.kind !== 'MessageEvent' || !['user', 'system'].includes(event.llm_message.role)) return []
  const parts = [...(event.llm_message.content ?? []), ...(event.extended_content ?? [])]
  if (unit.completes !== undefined) {
    const { tool_call_id, tool_name } = unit.completes.event
    return [
      {
        type: 'text',
        text: completionFrame(tool_name, tool_call_id, completionOf(event)?.outcome ?? 'done'),
      },
      ...parts,
    ]
  }
  const speaks = parts.some((part) =>
    isImagePart(part) ? part.image_urls.length > 0 : isOpenPart(part) || !isBlank(part.text),
  )
  return speaks ? parts : []
}

function resultParts(answer: ToolResultEvent): readonly Content[] {
  if (answer.kind === 'AgentErrorEvent') return [{ text: answer.error }]
  if (answer.kind === 'UserRejectObservation') {
    const reason = answer.rejection_reason ?? 'User rejected the action'
    return [{ text: `Action rejected: ${isBlank(reason) ? 'User rejected the action' : reason}` }]
  }
  const { content = [], is_error = false } = answer.observation
  const led = is_error ? [{ text: '[An error occurred during execution.]' }, ...content] : content
  return [...led, ...(answer.extended_content ?? [])]
}
