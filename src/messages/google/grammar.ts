/** The Gemini grammar. In its fake provider, thoughts are summaries, and a reply's first call is signed. */

import { defineGrammar } from '../grammar.ts'
import { LIMITS } from './blocks.ts'
import { collectGoogle, ENDINGS, fromGoogle } from './read.ts'
import { toGoogle } from './write.ts'
import { validateGoogle } from './rules.ts'
import { NO_SIGNATURE } from '../reply-parts.ts'
import { argumentObject, callsLast, errorsBy, halves } from '../fake.ts'
import { isTextBlank, partsSeen, reasonOf, seenText } from '../fake.ts'
import type { ReplyAbout, SeenBlock, SpokenProvider, Wire } from '../fake.ts'
import type { ModelPart } from '../model.ts'

export const googleError = errorsBy(
  {
    invalid: [400, 'INVALID_ARGUMENT', ''],
    too_long: [
      400,
      'INVALID_ARGUMENT',
      'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
    ],
    rate_limited: [429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota.'],
    server_error: [500, 'INTERNAL', 'An internal error has occurred.'],
  },
  ({ status: code, message, type: status }) => ({ error: { code, message, status } }),
)

const chunkOf = ({ requestNumber }: ReplyAbout, parts: readonly Wire[], more: object = {}): Wire => ({
  responseId: `g_${requestNumber}`,
  modelVersion: 'scripted',
  candidates: [{ index: 0, content: { role: 'model', parts }, ...more }],
})

const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 }

const finishOf = (about: ReplyAbout): object => ({
  finishReason: about.end === 'refused' ? 'PROHIBITED_CONTENT' : (reasonOf(ENDINGS, about) ?? 'STOP'),
})

function googleBlocks(role: string, { thoughtSignature, ...content }: Wire): SeenBlock[] {
  const isSigned = thoughtSignature !== undefined && thoughtSignature !== NO_SIGNATURE
  if (!isSigned && (content['thought'] === true || isTextBlank(content))) return []
  const token = isSigned ? String(thoughtSignature) : null
  return [{ role: role === 'model' ? 'assistant' : role, body: seenText(content), token }]
}

const PROVIDER: SpokenProvider = {
  route(path) {
    const method = /\/models\/[^/]+:(generateContent|streamGenerateContent)$/.exec(path)?.[1]
    return method === undefined ? null : method === 'streamGenerateContent'
  },
  // Adjacent texts are one part.
  arrange: (says) =>
    callsLast(says).reduce<ModelPart[]>((parts, part) => {
      const last = parts.at(-1)
      if (typeof part !== 'string' || typeof last !== 'string') return [...parts, part]
      return [...parts.slice(0, -1), last + part]
    }, []),
  contents(part, idPrefix) {
    if (typeof part === 'string') return [{ text: part }]
    if ('think' in part) return [{ text: part.think, thought: true }]
    if ('search' in part) {
      const search = { id: `tool_${idPrefix}`, toolType: 'GOOGLE_SEARCH_WEB' }
      return [
        { toolCall: { ...search, args: { query: part.search } } },
        { toolResponse: { ...search, response: {} } },
      ]
    }
    const { call: name, args, id = `call_${idPrefix}` } = part
    return [{ functionCall: { id, name, args: argumentObject(args) } }]
  },
  signs: ({ functionCall }, before) =>
    functionCall !== undefined && before.every((content) => content['functionCall'] === undefined),
  signed: (content, thoughtSignature) => ({ ...content, thoughtSignature }),
  whole: (contents, about) => ({ ...chunkOf(about, contents, finishOf(about)), usageMetadata }),
  stream: (contents, about) => [
    ...contents.flatMap((content) => {
      const { text, ...more } = content
      if (typeof text !== 'string') return [chunkOf(about, [content])]
      return halves(text).map((half) => chunkOf(about, [{ text: half, ...more }]))
    }),
    { ...chunkOf(about, [], finishOf(about)), usageMetadata },
  ],
  namedBy: null,
  ends: 1,
  error: googleError,
}

export const GOOGLE = defineGrammar({
  name: 'google',
  title: 'Google Gemini',
  law: 'M16',
  limits: LIMITS,
  write: toGoogle,
  prompt: 'systemInstruction',
  list: 'contents',
  reply: fromGoogle,
  stream: collectGoogle,
  rules: validateGoogle,
  seen: partsSeen('parts', 'model', googleBlocks),
  front: { systemInstruction: null },
  provider: PROVIDER,
})
