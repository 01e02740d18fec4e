import { defineGrammar } from '../grammar.ts'
import { LIMITS } from './blocks.ts'
import { collectOpenAIResponses, fromOpenAIResponses, PIECES } from './read.ts'
import { toOpenAIResponses } from './write.ts'
import { validateOpenAiResponses } from './rules.ts'
import { argumentObject, argumentText, halves, isThought, listOfParts, seenText } from '../fake.ts'
import type { ReplyAbout, SeenBlock, SpokenProvider, Wire } from '../fake.ts'
import { openaiError } from '../openai-chat/grammar.ts'
import type { ModelPart } from '../model.ts'

const REASONS: Readonly<Record<string, string>> = {
  truncated: 'max_output_tokens',
  filtered: 'content_filter',
}

const outputOf = (contents: readonly Wire[], { requestNumber, end }: ReplyAbout): readonly Wire[] =>
  end === 'refused'
    ? [...contents, messageItem(`${requestNumber}_no`, { type: 'refusal', refusal: 'I will not.' })]
    : contents

const messageItem = (id: string, part: Wire): Wire => ({
  type: 'message',
  id: `msg_${id}`,
  role: 'assistant',
  status: 'completed',
  content: [part],
})

function responseOf(contents: readonly Wire[], about: ReplyAbout): Wire {
  const reason = REASONS[about.end ?? '']
  const isFailed = about.end === 'failed'
  return {
    id: `resp_${about.requestNumber}`,
    object: 'response',
    model: 'scripted',
    status: isFailed ? 'failed' : reason === undefined ? 'completed' : 'incomplete',
    error: isFailed ? { code: 'server_error', message: 'The server had an error.' } : null,
    incomplete_details: reason === undefined ? null : { reason },
    output: isFailed ? [] : outputOf(contents, about),
    usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
  }
}

const deltasOf = (item: Wire, output_index: number): readonly Wire[] =>
  Object.entries(PIECES).flatMap(([name, { item: type, list, index, part, field }]) => {
    const [first] = (list === undefined ? [item] : (item[list] ?? [])) as readonly Wire[]
    const isOfKind = type === item['type'] && (part === undefined || part === first?.['type'])
    if (!isOfKind || first === undefined) return []
    const base = { item_id: item['id'], output_index, ...(index !== undefined && { [index]: 0 }) }
    return halves(String(first[field])).map((delta) => ({ type: `response.${name}.delta`, ...base, delta }))
  })

function hasArguments(part: ModelPart): boolean {
  if (typeof part === 'string' || !('call' in part)) return true
  return typeof part.args !== 'string' || JSON.stringify(argumentObject(part.args)) === part.args
}

function itemBlocks(item: Wire): SeenBlock[] {
  const { type = 'message', role, content, id: _, status: __, encrypted_content, ...rest } = item
  if (type === 'reasoning')
    return [
      {
        role: 'assistant',
        body: seenText({ ...item, encrypted_content: null }),
        token: String(encrypted_content ?? ''),
      },
    ]
  if (type !== 'message')
    return [{ role: String(role ?? type), body: seenText({ ...rest, content }), token: null }]
  return listOfParts(content).map((part) => {
    const isText = typeof part['text'] === 'string'
    return { role: String(role), body: isText ? seenText(part['text']) : seenText(part), token: null }
  })
}

const PROVIDER: SpokenProvider = {
  route: (path, body) => (path.endsWith('/responses') ? body['stream'] === true : null),
  // Another item must follow a thought. Calls with invalid JSON are last: no client sends them back unchanged.
  arrange(says) {
    const inOrder = [...says.filter(hasArguments), ...says.filter((part) => !hasArguments(part))]
    return inOrder.filter((part, index) => !isThought(part) || !isThought(inOrder[index + 1] ?? part))
  },
  contents(part, idPrefix) {
    if (typeof part === 'string')
      return [messageItem(idPrefix, { type: 'output_text', text: part, annotations: [] })]
    if ('think' in part)
      return [
        { type: 'reasoning', id: `rs_${idPrefix}`, summary: [{ type: 'summary_text', text: part.think }] },
      ]
    if ('search' in part)
      return [
        {
          type: 'web_search_call',
          id: `ws_${idPrefix}`,
          status: 'completed',
          action: { type: 'search', query: part.search },
        },
      ]
    const { call: name, args, id = `call_${idPrefix}` } = part
    const item = { type: 'function_call', id: `fc_${idPrefix}`, call_id: id, name }
    return [{ ...item, arguments: argumentText(args), status: 'completed' }]
  },
  signs: ({ type }) => type === 'reasoning',
  signed: (content, encrypted_content) => ({ ...content, encrypted_content }),
  whole: responseOf,
  stream: (contents, about) => [
    {
      type: 'response.created',
      response: {
        id: `resp_${about.requestNumber}`,
        object: 'response',
        model: 'scripted',
        status: 'in_progress',
        output: [],
      },
    },
    ...outputOf(contents, about).flatMap((item, output_index) => [
      { type: 'response.output_item.added', output_index, item: { ...item, status: 'in_progress' } },
      ...deltasOf(item, output_index),
      { type: 'response.output_item.done', output_index, item },
    ]),
    {
      type: `response.${String(responseOf(contents, about)['status'])}`,
      response: responseOf(contents, about),
    },
  ],
  namedBy: 'type',
  ends: 1,
  error: openaiError,
}

export const OPENAI_RESPONSES = defineGrammar({
  name: 'openai-responses',
  title: 'OpenAI Responses',
  law: 'M2',
  limits: LIMITS,
  write: toOpenAIResponses,
  prompt: 'instructions',
  list: 'input',
  reply: fromOpenAIResponses,
  stream: collectOpenAIResponses,
  rules: validateOpenAiResponses,
  seen: { items: itemBlocks },
  provider: PROVIDER,
})
