import { defineGrammar } from '../grammar.ts'
import { argumentObject, errorsBy, isTextBlank, partsSeen, reasonOf, seenText, spoken } from '../fake.ts'
import type { ReplyAbout, SeenBlock, SpokenProvider, Wire } from '../fake.ts'
import { asObject } from '../request-form.ts'
import { LIMITS, withoutBytes } from './blocks.ts'
import { collectBedrock, DELTAS, ENDINGS, fromBedrock } from './read.ts'
import { validateBedrock } from './rules.ts'
import { toBedrock } from './write.ts'

const stopReasonOf = (contents: readonly Wire[], about: ReplyAbout): string =>
  reasonOf(ENDINGS, about) ??
  (contents.some(({ toolUse }) => toolUse !== undefined) ? 'tool_use' : 'end_turn')

const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 15 }

/** Returns the stream events of a block. Only calls and their results have a start event. */
function eventsOf(block: Wire, contentBlockIndex: number): readonly Wire[] {
  const { start, deltas } = spoken(block, DELTAS)
  const isAnnounced = (start['toolUse'] ?? start['toolResult']) !== undefined
  return [
    ...(isAnnounced ? [{ contentBlockStart: { contentBlockIndex, start } }] : []),
    ...deltas.map((delta) => ({ contentBlockDelta: { contentBlockIndex, delta } })),
    { contentBlockStop: { contentBlockIndex } },
  ]
}

function blocksOf(role: string, block: Wire): SeenBlock[] {
  if (isTextBlank(block)) return []
  const { reasoningText, redactedContent } = asObject(block['reasoningContent'])
  if (redactedContent !== undefined)
    return [{ role, body: 'redacted', token: JSON.stringify(withoutBytes(redactedContent)) }]
  const { text, signature } = asObject(reasoningText)
  if (reasoningText !== undefined) return [{ role, body: seenText({ text }), token: String(signature ?? '') }]
  return [{ role, body: seenText(withoutBytes(block)), token: null }]
}

const PROVIDER: SpokenProvider = {
  route: (path) => (/\/converse(?:-stream)?$/.test(path) ? path.endsWith('-stream') : null),
  contents(part, idPrefix) {
    if (typeof part === 'string') return [{ text: part }]
    if ('think' in part) return [{ reasoningContent: { reasoningText: { text: part.think } } }]
    if ('search' in part) {
      const search = { toolUseId: `search_${idPrefix}`, type: 'server_tool_use' }
      return [
        { toolUse: { ...search, name: 'nova_grounding', input: { query: part.search } } },
        { toolResult: { ...search, content: [] } },
      ]
    }
    const { call: name, args, id = `call_${idPrefix}` } = part
    return [{ toolUse: { toolUseId: id, name, input: argumentObject(args) } }]
  },
  signs: ({ reasoningContent }) => reasoningContent !== undefined,
  signed: ({ reasoningContent }, signature) => ({
    reasoningContent: {
      reasoningText: { ...asObject(asObject(reasoningContent)['reasoningText']), signature },
    },
  }),
  whole: (contents, about) => ({
    $metadata: { requestId: `req_${about.requestNumber}` },
    output: { message: { role: 'assistant', content: contents } },
    stopReason: stopReasonOf(contents, about),
    usage,
  }),
  stream: (contents, about) => [
    { messageStart: { role: 'assistant' } },
    ...contents.flatMap(eventsOf),
    { messageStop: { stopReason: stopReasonOf(contents, about) } },
    { metadata: { usage } },
  ],
  namedBy: null,
  ends: 2,
  error: errorsBy(
    {
      invalid: [400, 'ValidationException', ''],
      too_long: [400, 'ValidationException', 'Input is too long for requested model.'],
      rate_limited: [429, 'ThrottlingException', 'Too many requests, please wait before trying again.'],
      server_error: [500, 'InternalServerException', 'The system encountered an unexpected error.'],
    },
    ({ type: __type, message }) => ({ __type, message }),
  ),
}

export const BEDROCK = defineGrammar({
  name: 'bedrock',
  title: 'Amazon Bedrock Converse',
  law: 'M20',
  limits: LIMITS,
  write: toBedrock,
  list: 'messages',
  reply: fromBedrock,
  stream: collectBedrock,
  rules: validateBedrock,
  seen: partsSeen('content', 'assistant', blocksOf),
  provider: PROVIDER,
})
