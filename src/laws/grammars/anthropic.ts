/** The rules that Anthropic Messages has for `system` and `messages`, and which of them a request breaks. */

import { blockRules } from './anthropic-blocks.ts'
import {
  type Block,
  isThinking,
  SERVER_KINDS,
  shape,
  type Target,
  type View,
  viewOf,
} from './anthropic-form.ts'
import { serverRules } from './anthropic-servers.ts'
import { illFormedText, notJson } from './json.ts'
import { secondResults, orphans, repeatedCalls, withoutResult } from './pairing.ts'
import { asObject, isObject, judge, type Rule, type Violation } from './rule.ts'
import { faults } from './shape.ts'

export function validateAnthropic(request: unknown, target: Target = {}): Violation[] {
  return judge(anthropicRules, viewOf(request, target))
}

export const anthropicRules: readonly Rule<View>[] = [
  {
    id: 'json-only',
    rule: 'The request is plain JSON: no undefined, no class instance, no cycle.',
    source: 'error: "The request body is not valid JSON"',
    check: ({ request }) => notJson(request, ''),
  },
  {
    id: 'text-well-formed',
    rule: 'No string holds a lone surrogate.',
    source: 'error: "The request body is not valid JSON: no low surrogate in string"',
    check: ({ request }) => illFormedText(request, ''),
  },
  {
    id: 'messages-nonempty',
    rule: 'There is at least one message.',
    source: 'error: "messages: at least one message is required"',
    *check({ request }) {
      const { messages } = asObject(request)
      if (Array.isArray(messages) && messages.length === 0) {
        yield { path: 'messages', message: 'empty' }
      }
    },
  },
  {
    id: 'wrong-type',
    rule: 'Every field has the type that the API reference gives it.',
    source: 'SDK types MessageParam and ContentBlockParam',
    check: faults(shape, '', 'wrong-type'),
  },
  {
    id: 'missing-field',
    rule: 'Every required field is there.',
    source: 'SDK types; error: "thinking.signature: Field required"',
    check: faults(shape, '', 'missing-field'),
  },
  {
    id: 'unknown-field',
    rule: 'There is no field that the API reference does not name; thinking takes no cache_control.',
    source:
      'errors: "messages.1.reasoning_details: Extra inputs are not permitted", "messages.13.content.0.thinking.cache_control: Extra inputs are not permitted"',
    check: faults(shape, '', 'unknown-field'),
  },
  {
    id: 'known-role',
    rule: 'A role is user or assistant; system text goes into the system field, or with newer models into messages.',
    source: 'error of models before Claude Opus 4.8: "role \'system\' is not supported on this model"',
    *check(view) {
      yield* faults(shape, '', 'unknown-role')(view)
      if (view.target.systemMessages === true) return
      for (const { role, path } of view.messages) if (role === 'system') yield { path, message: 'system' }
    },
  },
  {
    id: 'system-place',
    rule: 'A system message is the last, or stands before an assistant message; no two touch.',
    source:
      'Placement rules of mid-conversation system messages: "Must either be the last entry in `messages` or be followed by an assistant turn"; "Consecutive system messages are not allowed"',
    *check({ messages }) {
      for (const [at, { role, path }] of messages.entries()) {
        const next = messages[at + 1]
        if (role === 'system' && next !== undefined && next.role !== 'assistant')
          yield { path, message: `before ${String(next.role)}` }
      }
    },
  },
  {
    id: 'known-block',
    rule: 'Blocks are text, image, thinking, redacted_thinking, tool_use, tool_result and what its own tools say; results hold text and images.',
    source: 'SDK type ContentBlockParam, less what the library never sends',
    check: faults(shape, '', 'unknown-type'),
  },
  {
    id: 'block-of-role',
    rule: 'Thinking and calls stand in assistant messages, images and results in user messages.',
    source: 'error: "\'image\' blocks are not permitted within assistant turns" (SEMOSS/Semoss#2323)',
    *check({ messages }) {
      for (const { role, blocks } of messages) {
        for (const { path, type } of blocks) {
          const owner = OWNERS.get(type)
          if (owner !== undefined && owner !== role) {
            yield { path, message: `${String(type)} in a message of ${String(role)}` }
          }
        }
      }
    },
  },
  {
    id: 'user-first',
    rule: 'The history begins with a user message.',
    source: 'error: "messages: first message must use the \\"user\\" role" (lobehub/lobehub#1601)',
    *check({ messages: [first] }) {
      if (first !== undefined && first.role !== 'user') {
        yield { path: first.path, message: `begins with ${String(first.role)}` }
      }
    },
  },
  {
    id: 'message-nonempty',
    rule: 'Every message but a final assistant message has content.',
    source:
      'error: "all messages must have non-empty content except for the optional final assistant message"',
    *check({ messages }) {
      for (const { role, content, path } of messages) {
        const optional = role === 'assistant' && path === messages.at(-1)?.path
        const empty = content === '' || (Array.isArray(content) && content.length === 0)
        if (empty && !optional) yield { path: `${path}.content`, message: 'empty' }
      }
    },
  },
  {
    id: 'ends-with-user',
    rule: 'Where the model takes no prefill, the last message is from the user.',
    source:
      'error: "This model does not support assistant message prefill. The conversation must end with a user message."',
    *check({ target, messages }) {
      const last = messages.at(-1)
      if (target.prefill === false && last?.role === 'assistant') {
        yield { path: last.path, message: 'ends with the assistant' }
      }
    },
  },
  {
    id: 'calls-have-results',
    rule: 'Each tool_use has its tool_result in the very next message.',
    source:
      'error: "`tool_use` ids were found without `tool_result` blocks immediately after: …. Each `tool_use` block must have a corresponding `tool_result` block in the next message."',
    check: ({ turns }) => withoutResult(turns),
  },
  {
    id: 'results-follow-calls',
    rule: 'Each tool_result is for a tool_use of the message directly before.',
    source:
      'error: "unexpected `tool_use_id` found in `tool_result` blocks: …. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."',
    check: ({ turns }) => orphans(turns),
  },
  {
    id: 'one-result-each',
    rule: 'No tool_use has two results.',
    source: 'error: "each tool_use must have a single result" (QwenLM/qwen-code#8163)',
    check: ({ turns }) => secondResults(turns),
  },
  {
    id: 'call-ids-unique',
    rule: 'No two tool_use blocks of the request share an id.',
    source: 'error: "messages.1.content.1: `tool_use` ids must be unique"',
    check: ({ turns }) => repeatedCalls(turns),
  },
  {
    id: 'call-id-charset',
    rule: 'A call id has one or more letters, digits, underscores and dashes.',
    source: 'error: "messages.1.content.1.tool_use.id: String should match pattern \'^[a-zA-Z0-9_-]+$\'"',
    *check({ calls, results }) {
      const ids = [...calls.map(at('id')), ...results.map(at('tool_use_id'))]
      for (const { path, value } of ids) {
        if (typeof value === 'string' && !/^[a-zA-Z0-9_-]+$/.test(value)) {
          yield { path, message: JSON.stringify(value) }
        }
      }
    },
  },
  {
    id: 'call-name',
    rule: 'A tool name has 1 to 128 letters, digits, underscores and dashes.',
    source:
      'error: "tools.18.custom.name: String should have at most 128 characters"; in tool_use itself up to 200 (openclaw/openclaw#13134)',
    *check({ calls }) {
      for (const { path, value } of calls.map(at('name'))) {
        if (typeof value === 'string' && !/^[a-zA-Z0-9_-]{1,128}$/.test(value)) {
          yield { path, message: JSON.stringify(value) }
        }
      }
    },
  },
  {
    id: 'input-object',
    rule: 'The input of a call is an object.',
    source: 'error: "messages.61.content.0.tool_use.input: Input should be a valid dictionary"',
    *check({ calls }) {
      for (const { path, value } of calls.map(at('input'))) {
        if (value !== undefined && !isObject(value)) yield { path, message: 'not an object' }
      }
    },
  },
  {
    id: 'results-first',
    rule: 'In a user message the results stand before anything else.',
    source:
      'error: "Messages following tool_use blocks must begin with a matching number of tool_result blocks"; text before a result gives the error of calls-have-results (QwenLM/qwen-code#8161)',
    *check({ messages }) {
      for (const { role, blocks } of messages) {
        if (role !== 'user') continue
        const other = blocks.findIndex(({ type }) => type !== 'tool_result')
        for (const { path, type } of other < 0 ? [] : blocks.slice(other)) {
          if (type === 'tool_result') yield { path, message: 'result behind other content' }
        }
      }
    },
  },
  {
    id: 'calls-last',
    rule: 'Nothing but calls stands behind a call; up to the last thinking that leads to another call, words and thinking may.',
    source:
      'vercel/ai#13019 for server tool blocks (error of calls-have-results); stacklok/mecatl#1465 for text at the end; UKGovernmentBEIS/inspect_ai#4922 for thinking between calls, which must not be moved; gotgenes/pi-anthropic-auth#66 for text between calls',
    *check({ messages }) {
      for (const { role, blocks } of messages) {
        if (role !== 'assistant') continue
        const last = blocks.findLastIndex(({ type }) => type === 'tool_use')
        const bound = blocks.findLastIndex((block, at) => at < last && isThinking(block))
        let isBehind = false
        for (const [at, block] of blocks.entries()) {
          if (at === bound) isBehind = false
          const fits =
            block.type === 'tool_use' || (at < bound && (block.type === 'text' || isThinking(block)))
          if (isBehind && !fits) yield { path: block.path, message: `${String(block.type)} behind a call` }
          if (block.type === 'tool_use') isBehind = true
        }
      }
    },
  },
  ...blockRules,
  ...serverRules,
]

const OWNERS = new Map<unknown, string>([
  ['thinking', 'assistant'],
  ['redacted_thinking', 'assistant'],
  ['tool_use', 'assistant'],
  ['tool_result', 'user'],
  ['image', 'user'],
  ...SERVER_KINDS.map((kind): [string, string] => [kind, 'assistant']),
])

function at(key: string) {
  return ({ path, body }: Block) => ({ path: `${path}.${key}`, value: body[key] })
}
