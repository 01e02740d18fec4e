/** The Anthropic rules on what stands inside of blocks: text, thinking, error results, images, cache marks. */

import { type Block, isThinking, type Message, type View } from './anthropic-form.ts'
import { anthropicFileFault } from './files.ts'
import { endsInSpace, isBlank } from './json.ts'
import { IMAGE_TYPES, imageUrlFault, isBase64 } from './media.ts'
import { asObject, type JsonObject, type Rule } from './rule.ts'

export const blockRules: readonly Rule<View>[] = [
  {
    id: 'text-nonblank',
    rule: 'Every text block, inside of results too, has more than white space.',
    source: 'errors: "messages: text content blocks must be non-empty", "… must contain non-whitespace text"',
    *check({ listLeavesIn }) {
      for (const { path, type, body } of listLeavesIn) {
        if (type === 'text' && typeof body['text'] === 'string' && isBlank(body['text'])) {
          yield { path, message: 'blank text' }
        }
      }
    },
  },
  {
    id: 'system-nonblank',
    rule: 'The system field is left out, or each text in it has more than white space.',
    source:
      'errors: "system: text content blocks must be non-empty" (also for a string, t8y2/dbx#1298), "system: … must contain non-whitespace text"; empty array inferred',
    *check({ request, system }) {
      if (system.length === 0 && asObject(request)['system'] !== undefined) {
        yield { path: 'system', message: 'empty' }
      }
      for (const { path, body } of system) {
        if (typeof body['text'] === 'string' && isBlank(body['text'])) yield { path, message: 'blank text' }
      }
    },
  },
  {
    id: 'final-space',
    rule: 'A final assistant message does not end in white space.',
    source: 'error: "messages: final assistant content cannot end with trailing whitespace"',
    *check({ messages }) {
      const last = messages.at(-1)
      const block = last?.blocks.at(-1)
      const end = block?.body['text']
      if (last?.role === 'assistant' && block !== undefined && typeof end === 'string' && endsInSpace(end)) {
        yield { path: block.path, message: 'ends in white space' }
      }
    },
  },
  {
    id: 'thinking-signed',
    rule: 'Thinking carries its signature, redacted thinking its data; the thinking text itself may be empty.',
    source:
      'SDK: "Thinking blocks must be passed back unmodified … a modified block results in a 400"; display "omitted" gives signed empty thinking',
    *check({ messages }) {
      for (const block of messages.flatMap(({ blocks }) => blocks).filter(isThinking)) {
        const key = block.type === 'thinking' ? 'signature' : 'data'
        if (block.body[key] === '') yield { path: `${block.path}.${key}`, message: 'empty' }
      }
    },
  },
  {
    id: 'thinking-first',
    rule: 'An assistant turn with thinking in it begins with thinking; assistant messages in a row are one turn.',
    source:
      'error: "If an assistant message contains any thinking blocks, the first block must be thinking or redacted_thinking. Found text."; SDK: consecutive turns are combined',
    *check({ messages }) {
      for (const turn of assistantTurns(messages)) {
        const thinking = turn.find(isThinking)
        if (thinking !== undefined && thinking !== turn[0]) {
          yield { path: thinking.path, message: `turn begins with ${String(turn[0]?.type)}` }
        }
      }
    },
  },
  {
    id: 'thinking-not-last',
    rule: 'The last block of an assistant message is not thinking.',
    source:
      'error: "messages.17: The final block in an assistant message cannot be `thinking`."; redacted inferred',
    *check({ messages }) {
      for (const { blocks } of messages) {
        const last = blocks.at(-1)
        if (last !== undefined && isThinking(last)) yield { path: last.path, message: 'last block' }
      }
    },
  },
  {
    id: 'thinking-leads-loop',
    rule: 'Where thinking is on, the calls whose results close the request come behind thinking.',
    source:
      'error: "Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks)"',
    *check({ target, messages }) {
      const [calling, closing] = messages.slice(-2)
      const loop = closing?.blocks.some(({ type }) => type === 'tool_result') ?? false
      const first = calling?.blocks[0]
      if (target.thinking === true && loop && first !== undefined && !isThinking(first)) {
        yield { path: first.path, message: `found ${String(first.type)}` }
      }
    },
  },
  {
    id: 'error-result',
    rule: 'A result with is_error has content, and text only.',
    source:
      'errors: "tool_result: content cannot be empty if `is_error` is true", "all content must be type `text` if `is_error` is true"',
    *check({ results }) {
      for (const { path, body, inner } of results) {
        if (body['is_error'] !== true) continue
        const { content = '' } = body
        if (content === '' || (Array.isArray(content) && content.length === 0)) {
          yield { path: `${path}.content`, message: 'empty' }
        }
        for (const leaf of inner) {
          if (leaf.type !== 'text') yield { path: leaf.path, message: `${String(leaf.type)} in an error` }
        }
      }
    },
  },
  {
    id: 'image-source',
    rule: 'An image is base64 data of a jpeg, png, gif or webp, or an https URL.',
    source:
      'SDK type Base64ImageSource; errors: "image.source.base64: image cannot be empty", "Invalid media type"; https inferred',
    *check({ listLeavesIn }) {
      for (const { path, type, body } of listLeavesIn) {
        if (type !== 'image') continue
        const fault = sourceFault(asObject(body['source']))
        if (fault !== undefined) yield { path: `${path}.source`, message: fault }
      }
    },
  },
  {
    id: 'file-source',
    rule: 'A document is a PDF, plain text, texts and images, an https URL or an uploaded file; it and a search result say something.',
    source:
      'SDK types Base64PDFSource, PlainTextSource and so on; "title" of 1 to 500 characters in the API reference',
    *check({ messages, results }) {
      const inner = results.flatMap((result) => result.inner)
      for (const { path, type, body } of [...messages.flatMap(({ blocks }) => blocks), ...inner]) {
        const fault = anthropicFileFault(type, body)
        if (fault !== undefined) yield { path, message: fault }
      }
    },
  },
  {
    id: 'citations-agree',
    rule: 'Citations are enabled on all documents and search results of a request, or on none.',
    source:
      'Citations, in the guides: "citations must be enabled on all or none of the documents within a request"',
    *check({ messages, results }) {
      const all = [...messages.flatMap(({ blocks }) => blocks), ...results.flatMap(({ inner }) => inner)]
      const citable = all.filter(({ type }) => type === 'document' || type === 'search_result')
      for (const block of citable)
        if (citable[0] !== undefined && cites(block) !== cites(citable[0]))
          yield { path: block.path, message: `citations ${cites(block) ? 'enabled' : 'left out'}` }
    },
  },
  {
    id: 'cache-breakpoints',
    rule: 'At most four blocks carry cache_control.',
    source: 'error: "A maximum of 4 blocks with cache_control may be provided. Found 5."',
    *check({ messages, results, system }) {
      const inner = results.flatMap((result) => result.inner)
      const blocks = [...system, ...messages.flatMap((message) => message.blocks), ...inner]
      const marked = blocks.filter(({ body }) => (body['cache_control'] ?? null) !== null)
      for (const { path } of marked.slice(4)) yield { path, message: `${marked.length} breakpoints` }
    },
  },
  {
    id: 'cache-longest-first',
    rule: 'No block is to be cached for an hour behind one for five minutes, which is the default.',
    source:
      "error: \"messages.0.content.4.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.\"",
    *check({ messages, system }) {
      let isShort = false
      for (const { path, body } of [...system, ...messages.flatMap(({ blocks }) => blocks)]) {
        const mark = body['cache_control'] ?? null
        if (mark === null) continue
        const isLong = asObject(mark)['ttl'] === '1h'
        if (isLong && isShort) yield { path: `${path}.cache_control.ttl`, message: '1h behind 5m' }
        isShort ||= !isLong
      }
    },
  },
]

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

function sourceFault(source: JsonObject): string | undefined {
  const { type, url, data, media_type } = source
  if (type === 'url' && typeof url === 'string') return imageUrlFault(url, ['https:'])
  if (type !== 'base64') return undefined
  if (typeof media_type === 'string' && !IMAGE_TYPES.includes(media_type)) {
    return `media type ${JSON.stringify(media_type)}`
  }
  return typeof data === 'string' && !isBase64(data) ? 'empty or malformed base64 data' : undefined
}

const cites = ({ body }: Block): boolean => asObject(body['citations'])['enabled'] === true
