import { defineGrammar } from '../grammar.ts'
import { LIMITS } from './blocks.ts'
import { collectOpenAIChat, ENDINGS, fromOpenAIChat } from './read.ts'
import { toOpenAIChat } from './write.ts'
import { validateOpenAiChat } from './rules.ts'
import { argumentText, errorsBy, halves, reasonOf } from '../fake.ts'
import type { ReplyAbout, SpokenProvider, Wire } from '../fake.ts'

export const openaiError = errorsBy(
  {
    invalid: [400, 'invalid_request_error', ''],
    too_long: [
      400,
      'invalid_request_error',
      'Your input exceeds the context window of this model.',
      'context_length_exceeded',
    ],
    rate_limited: [429, 'requests', 'Rate limit reached for requests', 'rate_limit_exceeded'],
    server_error: [500, 'server_error', 'The server had an error.'],
  },
  ({ message, type, code }) => ({ error: { message, param: null, type, code } }),
)

const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }

const joinTexts = (contents: readonly Wire[]): string =>
  contents.flatMap(({ type, text }) => (type === 'text' ? [String(text)] : [])).join('')

const callsOf = (contents: readonly Wire[]): readonly Wire[] =>
  contents.filter(({ type }) => type === 'function')

const finishOf = (contents: readonly Wire[], about: ReplyAbout): string =>
  reasonOf(ENDINGS, about) ?? (callsOf(contents).length > 0 ? 'tool_calls' : 'stop')

const REFUSAL = 'I will not.'

const PROVIDER: SpokenProvider = {
  route: (path, body) => (path.endsWith('/chat/completions') ? body['stream'] === true : null),
  contents(part, idPrefix) {
    if (typeof part === 'string') return [{ type: 'text', text: part }]
    if (!('call' in part)) return []
    const { call: name, args, id = `call_${idPrefix}` } = part
    return [{ id, type: 'function', function: { name, arguments: argumentText(args) } }]
  },
  whole: (contents, about) => ({
    id: `chatcmpl_${about.requestNumber}`,
    object: 'chat.completion',
    model: 'scripted',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: joinTexts(contents) || null,
          refusal: about.end === 'refused' ? REFUSAL : null,
          ...(callsOf(contents).length > 0 && { tool_calls: callsOf(contents) }),
        },
        finish_reason: finishOf(contents, about),
      },
    ],
    usage,
  }),
  stream(contents, about) {
    const about_chunk = {
      id: `chatcmpl_${about.requestNumber}`,
      object: 'chat.completion.chunk',
      model: 'scripted',
    }
    const chunk = (delta: object, finish_reason: string | null = null): Wire => ({
      ...about_chunk,
      choices: [{ index: 0, delta, finish_reason }],
    })
    return [
      chunk({ role: 'assistant', content: '' }),
      ...halves(joinTexts(contents)).map((content) => chunk({ content })),
      ...callsOf(contents).flatMap(({ id, function: called }, index) => {
        const { name, arguments: args } = called as { readonly name: string; readonly arguments: string }
        return [
          chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }),
          ...halves(args).map((piece) => chunk({ tool_calls: [{ index, function: { arguments: piece } }] })),
        ]
      }),
      ...(about.end === 'failed'
        ? [{ error: { message: 'The server had an error.', type: 'server_error' } }]
        : [
            ...(about.end === 'refused' ? [chunk({ refusal: REFUSAL })] : []),
            chunk({}, finishOf(contents, about)),
            { ...about_chunk, choices: [], usage },
          ]),
    ]
  },
  namedBy: null,
  last: 'data: [DONE]\n\n',
  ends: 2,
  error: openaiError,
}

export const OPENAI_CHAT = defineGrammar({
  name: 'openai-chat',
  title: 'OpenAI Chat Completions',
  law: 'M1',
  limits: LIMITS,
  write: toOpenAIChat,
  reply: fromOpenAIChat,
  stream: collectOpenAIChat,
  rules: validateOpenAiChat,
  provider: PROVIDER,
})
