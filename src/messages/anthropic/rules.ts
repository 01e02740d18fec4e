import { asObject, byKey, formRules, label, listed, storedFields, withMore } from '../request-form.ts'
import {
  anthropicFileFault,
  blankFault,
  each,
  endsInSpace,
  imageUrlFault,
  isBase64,
  judge,
  nameFault,
  nonEmpty,
  notUser,
  sharedRules,
  turnsOf,
} from '../rules.ts'
import type { Finding, JsonObject, Part, Rules, Violation } from '../request-form.ts'
import type { Step } from '../rules.ts'
import {
  absent,
  boolean,
  byType,
  either,
  type Fields,
  listOf,
  object,
  objects,
  oneOf,
  optional,
  record,
  string,
} from '../shape.ts'
import { KINDS, REPLY_FIELDS, RESULT_FIELDS, USER_FIELDS } from './blocks.ts'

export const serverRules: Rules<View> = {
  'server-results-follow-calls': [
    'The result of a server tool follows its call, in the same turn or in a turn that continues the turn of the call.',
    'error: "unexpected `tool_use_id` found in `advisor_tool_result` blocks: …. Each `advisor_tool_result` block must have a corresponding `server_tool_use` block before it."',
    ({ messages }) => pairFindings(messages).filter(({ half }) => half === 'result'),
  ],
  'server-calls-with-results': [
    'The call of a server tool has its result in the same turn or in a turn that continues it. In the last turn, the result may be missing if the model is to continue this turn.',
    'error: "`web_search` tool use with id `srvtoolu_…` was found without a corresponding `web_search_tool_result` block"; the same of other tools inferred',
    ({ messages }) => pairFindings(messages).filter(({ half }) => half === 'call'),
  ],
  'server-call-once': [
    'No two calls of server tools share an id.',
    'inferred from "`tool_use` ids must be unique"',
    ({ blocks }) => {
      const seen = new Set<string>()
      return each(blocks, (block) => {
        const pair = serverPair(block)
        const isRepeated = pair?.call === true && seen.has(pair.id)
        if (pair?.call === true) seen.add(pair.id)
        return isRepeated && 'id of an earlier call'
      })
    },
  ],
  'caller-known': [
    'A call made by a server tool names a call of that tool before it.',
    'inferred from the two above: `caller.tool_id` is the id of a server_tool_use',
    ({ blocks }) => {
      const seen = new Set<unknown>()
      return each(
        blocks,
        ({ type, body }) => {
          if (type === 'server_tool_use') seen.add(body['id'])
          const { tool_id } = asObject(body['caller'])
          return tool_id !== undefined && !seen.has(tool_id) && 'unknown'
        },
        '.caller',
      )
    },
  ],
}

/** Finds unpaired calls and results of server tools. A message of only client results may be inside a pair. */
function pairFindings(messages: readonly Message[]): (Finding & { readonly half: 'call' | 'result' })[] {
  const out: (Finding & { readonly half: 'call' | 'result' })[] = []
  let open = new Map<string, string>()
  const end = (): void => {
    for (const path of open.values()) out.push({ half: 'call', path, message: 'without a result' })
    open = new Map()
  }
  for (const { role, blocks } of messages) {
    if (role !== 'assistant') {
      if (blocks.length === 0 || !blocks.every(({ type }) => type === 'tool_result')) end()
      continue
    }
    for (const block of blocks) {
      const pair = serverPair(block)
      if (pair === null) continue
      if (pair.call) open.set(pair.id, block.path)
      else if (!open.delete(pair.id))
        out.push({ half: 'result', path: block.path, message: 'without a call' })
    }
  }
  return out
}

export const blockRules: Rules<View> = {
  'text-nonblank': [
    'Every text block, also in a result, has more than white space.',
    'errors: "messages: text content blocks must be non-empty", "… must contain non-whitespace text"',
    ({ all }) => each(all, ({ type, body }) => type === 'text' && blankFault(body['text'])),
  ],
  'system-nonblank': [
    'The system field is left out, or each text in it has more than white space.',
    'errors: "system: text content blocks must be non-empty" (also for a string, t8y2/dbx#1298), "system: … must contain non-whitespace text"; empty array inferred',
    function* ({ request, system }) {
      if (system.length === 0 && asObject(request)['system'] !== undefined)
        yield { path: 'system', message: 'empty' }
      yield* each(system, ({ body }) => blankFault(body['text']))
    },
  ],
  'final-space': [
    'A final assistant message does not end in white space.',
    'error: "messages: final assistant content cannot end with trailing whitespace"',
    ({ messages }) =>
      each(
        lastBlocks(assistants(messages.slice(-1))),
        ({ body: { text } }) => typeof text === 'string' && endsInSpace(text) && 'ends in white space',
      ),
  ],
  'thinking-signed': [
    'Thinking has its signature, and redacted thinking has its data. The text of thinking may be empty.',
    'SDK: "Thinking blocks must be passed back unmodified … a modified block results in a 400"; display "omitted" gives signed empty thinking',
    function* ({ blocks }) {
      for (const [kind, key] of [
        ['thinking', 'signature'],
        ['redacted_thinking', 'data'],
      ] as const)
        yield* each(blocks, ({ type, body }) => type === kind && body[key] === '' && 'empty', `.${key}`)
    },
  ],
  'thinking-first': [
    'An assistant turn that contains thinking begins with thinking; adjacent assistant messages are one turn.',
    'error: "If an assistant message contains any thinking blocks, the first block must be thinking or redacted_thinking. Found text."; SDK: consecutive turns are combined',
    function* ({ messages }) {
      for (const turn of assistantTurns(messages))
        yield* each(
          turn.filter(isThinking).slice(0, 1),
          (thinking) => thinking !== turn[0] && `turn begins with ${label(turn[0]?.type)}`,
        )
    },
  ],
  'thinking-not-last': [
    'The last block of an assistant message is not thinking.',
    'error: "messages.17: The final block in an assistant message cannot be `thinking`."; redacted inferred',
    ({ messages }) => each(lastBlocks(messages), (block) => isThinking(block) && 'last block'),
  ],
  'thinking-leads-loop': [
    'If thinking is enabled and the request ends with results, the message with the calls begins with thinking.',
    'error: "Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks)"',
    ({ target, messages }) => {
      const [calling, closing] = messages.slice(-2)
      const isLoop = closing?.blocks.some(({ type }) => type === 'tool_result') ?? false
      const first = target.thinking === true && isLoop ? (calling?.blocks.slice(0, 1) ?? []) : []
      return each(first, (block) => !isThinking(block) && `found ${label(block.type)}`)
    },
  ],
  'error-result': [
    'A result with is_error has content, which is only text.',
    'errors: "tool_result: content cannot be empty if `is_error` is true", "all content must be type `text` if `is_error` is true"',
    function* ({ results }) {
      const errors = results.filter(({ body }) => body['is_error'] === true)
      yield* each(errors, ({ body: { content = '' } }) => isContentEmpty(content) && 'empty', '.content')
      for (const { inner } of errors)
        yield* each(inner, ({ type }) => type !== 'text' && `${label(type)} in an error`)
    },
  ],
  'image-source': [
    'An image is base64 data of a jpeg, png, gif or webp, or an https URL.',
    'SDK type Base64ImageSource; errors: "image.source.base64: image cannot be empty", "Invalid media type"; https inferred',
    ({ all }) =>
      each(all, ({ type, body }) => type === 'image' && sourceFault(asObject(body['source'])), '.source'),
  ],
  'file-source': [
    'A document is a PDF, a plain text, a list of texts and images, an https URL or an uploaded file. No document or search result is blank.',
    'SDK types Base64PDFSource, PlainTextSource and so on; "title" of 1 to 500 characters in the API reference',
    ({ all }) => each(all, ({ type, body }) => anthropicFileFault(type, body)),
  ],
  'citations-agree': [
    'Citations are enabled on all documents and search results of a request, or on none.',
    'Citations, in the guides: "citations must be enabled on all or none of the documents within a request"',
    ({ all }) => {
      const citable = all.filter(({ type }) => type === 'document' || type === 'search_result')
      const [isFirstCiting] = citable.map(cites)
      return each(
        citable,
        (block) => cites(block) !== isFirstCiting && `citations ${cites(block) ? 'enabled' : 'left out'}`,
      )
    },
  ],
  'cache-breakpoints': [
    'At most four blocks carry cache_control.',
    'error: "A maximum of 4 blocks with cache_control may be provided. Found 5."',
    ({ system, all }) => {
      const marked = [...system, ...all].filter(({ body }) => (body['cache_control'] ?? null) !== null)
      return each(marked.slice(4), () => `${marked.length} breakpoints`)
    },
  ],
  'cache-longest-first': [
    'No block that is cached for an hour follows a block that is cached for five minutes, the default.',
    "error: \"messages.0.content.4.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.\"",
    ({ system, blocks }) => {
      let isShort = false
      return each(
        [...system, ...blocks],
        ({ body: { cache_control: mark } }) => {
          if ((mark ?? null) === null) return false
          const isLong = asObject(mark)['ttl'] === '1h'
          isShort ||= !isLong
          return isLong && isShort && '1h after 5m'
        },
        '.cache_control.ttl',
      )
    },
  ],
}

const isContentEmpty = (content: unknown): boolean =>
  content === '' || (Array.isArray(content) && content.length === 0)

const lastBlocks = (messages: readonly Message[]): Block[] =>
  messages.flatMap(({ blocks }) => blocks.slice(-1))

const assistants = (messages: readonly Message[]): Message[] =>
  messages.filter(({ role }) => role === 'assistant')

function assistantTurns(messages: readonly Message[]): Block[][] {
  const turns: Block[][] = []
  for (const [index, { role, blocks }] of messages.entries()) {
    if (role !== 'assistant') continue
    const open = messages[index - 1]?.role === 'assistant' ? turns.at(-1) : undefined
    if (open === undefined) turns.push([...blocks])
    else open.push(...blocks)
  }
  return turns
}

function sourceFault({ type, url, data }: JsonObject): string | false | undefined {
  if (type === 'url') return imageUrlFault(url, ['https:'])
  return type === 'base64' && typeof data === 'string' && !isBase64(data) && 'empty or malformed base64 data'
}

const cites = ({ body }: Block): boolean => asObject(body['citations'])['enabled'] === true

interface Target {
  /** Whether the model accepts a final assistant message; Claude 4.6 and later do not. Default: true. */
  readonly prefill?: boolean
  /**
   * Whether the model has a thinking budget. If so, a request that ends in a tool loop must include the
   * loop's thinking. Default: false.
   */
  readonly thinking?: boolean
  /** Whether `messages` may contain system messages, as for Claude Opus 4.8 and later. Default: false. */
  readonly systemMessages?: boolean
}

const cached = { cache_control: absent(byType({ ephemeral: { ttl: optional(oneOf('5m', '1h')) } })) }
const { mcp_tool_listing, fallback, ...server } = storedFields(KINDS)
const serverFields = { ...withMore(server, cached), mcp_tool_listing, fallback } as Record<string, Fields>
const { tool_use, ...thinking } = REPLY_FIELDS
const user = withMore(USER_FIELDS, cached)
const content = either([string, listOf(byType(withMore(RESULT_FIELDS, cached)))])
const block = byType({
  ...serverFields,
  ...user,
  ...thinking,
  text: { ...user['text'], citations: absent(objects) },
  tool_use: { ...tool_use, ...cached, caller: absent(object), toolset_name: absent(string) },
  tool_result: { tool_use_id: string, content: optional(content), is_error: optional(boolean), ...cached },
})
const message = record({ content: either([string, listOf(block)]) })
const texts = either([string, listOf(byType({ text: { ...USER_FIELDS.text, ...cached } }))])
const shape = record({
  messages: listOf(byKey('role', { user: message, assistant: message, system: record({ content: texts }) })),
  system: optional(texts),
})

const messagesIn = (list: unknown) =>
  listed(list, 'messages').map((message) => {
    const { role, content } = message.body
    return { ...message, role, content, blocks: blocksOf(content, `${message.path}.content`, role) }
  })

interface Block extends Part {
  readonly type: unknown
  readonly role: unknown
}
type Message = ReturnType<typeof messagesIn>[number]
type View = ReturnType<typeof viewOf>

function viewOf(request: unknown, target: Target) {
  const body = asObject(request)
  const messages = messagesIn(body['messages'])
  const blocks = messages.flatMap((message) => message.blocks)
  const results = messages.flatMap(resultsOf)
  return {
    request,
    target,
    messages,
    system: blocksOf(body['system'], 'system', 'system'),
    blocks,
    all: [...blocks, ...results.flatMap(({ inner }) => inner)],
    calls: messages.flatMap(callsOf),
    results,
    turns: turnsOf(messages.flatMap(stepsOf)),
  }
}

export const validateAnthropic = (request: unknown, target: Target = {}): Violation[] =>
  judge(anthropicRules, viewOf(request, target))

function serverPair({ type, body }: Block): { readonly call: boolean; readonly id: string } | null {
  if (type === 'server_tool_use' || type === 'mcp_tool_use')
    return { call: true, id: `${type} ${label(body['id'])}` }
  if (type === 'mcp_tool_result') return { call: false, id: `mcp_tool_use ${label(body['tool_use_id'])}` }
  if (typeof type !== 'string' || !type.endsWith('_tool_result')) return null
  return { call: false, id: `server_tool_use ${label(body['tool_use_id'])}` }
}

const isThinking = ({ type }: Block): boolean => type === 'thinking' || type === 'redacted_thinking'

function blocksOf(content: unknown, path: string, role: unknown): Block[] {
  if (content === '') return []
  if (typeof content === 'string') return [{ path, role, type: 'text', body: { text: content } }]
  return listed(content, path).map((part) => ({ ...part, role, type: part.body['type'] }))
}

const callsOf = ({ role, blocks }: Message): Block[] =>
  role === 'assistant' ? blocks.filter(({ type }) => type === 'tool_use') : []

const resultsOf = ({ role, blocks }: Message) =>
  (role === 'user' ? blocks.filter(({ type }) => type === 'tool_result') : []).map((result) => {
    const { content } = result.body
    const inner = typeof content === 'string' ? [] : blocksOf(content, `${result.path}.content`, role)
    return { ...result, inner }
  })

const stepsOf = (message: Message): Step[] =>
  message.role === 'assistant'
    ? ['break', 'assistant', ...callsOf(message).map(({ path, body: { id } }) => ({ call: { id, path } }))]
    : [
        ...resultsOf(message).map(({ path, body }) => ({ result: { id: body['tool_use_id'], path } })),
        'break',
      ]

export const anthropicRules: Rules<View> = {
  ...formRules<View>(shape, 'SDK types MessageParam and ContentBlockParam', {
    'json-only': 'error: "The request body is not valid JSON"',
    'text-well-formed': 'error: "The request body is not valid JSON: no low surrogate in string"',
    'wrong-type':
      'SDK types; error: "messages.61.content.0.tool_use.input: Input should be a valid dictionary"',
    'missing-field': 'SDK types; error: "thinking.signature: Field required"',
    'unknown-field':
      'errors: "messages.1.reasoning_details: Extra inputs are not permitted", "messages.13.content.0.thinking.cache_control: Extra inputs are not permitted"',
    'known-role': 'SDK type MessageParam',
    'known-kind': 'SDK type ContentBlockParam, less what the library never sends',
  }),
  'messages-nonempty': [
    'There is at least one message.',
    'error: "messages: at least one message is required"',
    ({ request }) => nonEmpty(asObject(request)['messages'], 'messages'),
  ],
  'system-role': [
    'System text goes into the system field, or with newer models into messages.',
    'error of models before Claude Opus 4.8: "role \'system\' is not supported on this model"',
    ({ target, messages }) =>
      each(messages, ({ role }) => target.systemMessages !== true && role === 'system' && 'system'),
  ],
  'system-place': [
    'A system message is last or before an assistant message; no two are adjacent.',
    'Placement rules of mid-conversation system messages: "Must either be the last entry in `messages` or be followed by an assistant turn"; "Consecutive system messages are not allowed"',
    ({ messages }) =>
      each(messages, ({ role }, index) => {
        const next = messages[index + 1]
        const fits = role !== 'system' || next === undefined || next.role === 'assistant'
        return !fits && `before ${label(next.role)}`
      }),
  ],
  'block-of-role': [
    'Thinking and calls are in assistant messages, images and results in user messages.',
    'error: "\'image\' blocks are not permitted within assistant turns" (SEMOSS/Semoss#2323)',
    ({ blocks }) =>
      each(
        blocks,
        ({ type, role }) =>
          (OWNERS.get(type) ?? role) !== role && `${label(type)} in a message of ${label(role)}`,
      ),
  ],
  'user-first': [
    'The history begins with a user message.',
    'error: "messages: first message must use the \\"user\\" role" (lobehub/lobehub#1601)',
    ({ messages }) => each(messages.slice(0, 1), notUser('begins with')),
  ],
  'message-nonempty': [
    'Every message except a final assistant message has content.',
    'error: "all messages must have non-empty content except for the optional final assistant message"',
    ({ messages }) =>
      each(
        messages,
        ({ role, content }, index) =>
          isContentEmpty(content) && !(role === 'assistant' && index === messages.length - 1) && 'empty',
        '.content',
      ),
  ],
  'ends-with-user': [
    'If the model accepts no prefill, the last message is from the user.',
    'error: "This model does not support assistant message prefill. The conversation must end with a user message."',
    ({ target, messages }) =>
      each(assistants(messages.slice(-1)), () => target.prefill === false && 'ends with the assistant'),
  ],
  ...sharedRules<View>({
    'calls-have-results':
      'error: "`tool_use` ids were found without `tool_result` blocks immediately after: …. Each `tool_use` block must have a corresponding `tool_result` block in the next message."',
    'results-follow-calls':
      'error: "unexpected `tool_use_id` found in `tool_result` blocks: …. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."',
    'one-result-each': 'error: "each tool_use must have a single result" (QwenLM/qwen-code#8163)',
    'call-ids-unique': 'error: "messages.1.content.1: `tool_use` ids must be unique"',
  }),
  'call-id-charset': [
    'A call id has one or more letters, digits, underscores and dashes.',
    'error: "messages.1.content.1.tool_use.id: String should match pattern \'^[a-zA-Z0-9_-]+$\'"',
    function* ({ calls, results }) {
      yield* each(calls, ({ body }) => nameFault(body['id'], Infinity), '.id')
      yield* each(results, ({ body }) => nameFault(body['tool_use_id'], Infinity), '.tool_use_id')
    },
  ],
  'call-name': [
    'A tool name has 1 to 128 letters, digits, underscores and dashes.',
    'error: "tools.18.custom.name: String should have at most 128 characters"; in tool_use itself up to 200 (openclaw/openclaw#13134)',
    ({ calls }) => each(calls, ({ body }) => nameFault(body['name'], 128), '.name'),
  ],
  'results-first': [
    'In a user message the results are first.',
    'error: "Messages following tool_use blocks must begin with a matching number of tool_result blocks"; text before a result gives the error of calls-have-results (QwenLM/qwen-code#8161)',
    function* ({ messages }) {
      for (const { role, blocks } of messages) {
        const other = blocks.findIndex(({ type }) => type !== 'tool_result')
        const rest = role === 'user' && other >= 0 ? blocks.slice(other) : []
        yield* each(rest, ({ type }) => type === 'tool_result' && 'result after other content')
      }
    },
  ],
  'calls-last': [
    'Only calls follow a call. Texts and thinking may also follow a call, but only up to the last thinking that precedes another call.',
    'vercel/ai#13019 for server tool blocks (error of calls-have-results); stacklok/mecatl#1465 for text at the end; UKGovernmentBEIS/inspect_ai#4922 for thinking between calls, which must not be moved; gotgenes/pi-anthropic-auth#66 for text between calls',
    function* ({ messages }) {
      for (const { blocks } of assistants(messages)) {
        const last = blocks.findLastIndex(({ type }) => type === 'tool_use')
        const bound = blocks.findLastIndex((block, index) => index < last && isThinking(block))
        let isBehind = false
        yield* each(blocks, (block, index) => {
          if (index === bound) isBehind = false
          const wasBehind = isBehind
          if (block.type === 'tool_use') isBehind = true
          const fits =
            block.type === 'tool_use' || (index < bound && (block.type === 'text' || isThinking(block)))
          return wasBehind && !fits && `${label(block.type)} after a call`
        })
      }
    },
  ],
  ...blockRules,
  ...serverRules,
}

const OF_ASSISTANT = ['thinking', 'redacted_thinking', 'tool_use', ...Object.keys(serverFields)]
const OWNERS = new Map<unknown, string>([
  ...['tool_result', 'image'].map((kind) => [kind, 'user'] as const),
  ...OF_ASSISTANT.map((kind) => [kind, 'assistant'] as const),
])
