/** Tells the form of a recorded session by what stands in it: names of files say it wrongly too often. */

import { isEventKind } from '../event/kinds.ts'
import type { JsonValue } from '../event/shapes.ts'
import { type Found, objectOf, objectsOf, stringOf } from '../messages/found.ts'
import type { SessionFormat } from './session.ts'

/** How many records are looked at. */
export const LOOK = 32

/**
 * The form that the first records show, or null for what is none of them: events of this library too. Looks at 32
 * records at most; what is no JSON is passed over. O(1).
 * @param values the JSON of the first lines of a file, of the first elements of an array, or of one document
 * @example
 * detectSession([{ type: 'session', version: 3, id: 's1' }]) // 'pi'
 * detectSession([{ kind: 'PauseEvent' }]) // null
 */
export function detectSession(values: readonly (JsonValue | undefined)[]): SessionFormat | null {
  const found = values.slice(0, LOOK).map(objectOf)
  const [first] = found.filter((one) => Object.keys(one).length > 0)
  if (first === undefined || isOwn(first)) return null
  // The first messages of an array may say less than later ones.
  return SIGNS.find(([, shows]) => found.some(shows))?.[0] ?? null
}

/** Whether a record is an event of this library. Gemini CLI says of a chat too of what kind it is. */
const isOwn = ({ kind, ...found }: Found): boolean =>
  typeof kind === 'string' &&
  !('type' in found) &&
  !('messages' in found) &&
  (isEventKind(kind) || !('sessionId' in found))

const CODEX: ReadonlySet<unknown> = new Set([
  'session_meta',
  'response_item',
  'event_msg',
  'turn_context',
  'compacted',
])

const CLAUDE: ReadonlySet<unknown> = new Set([
  'summary',
  'file-history-snapshot',
  'permission-mode',
  'queue-operation',
  'last-prompt',
  'mode',
])

const messagesIn = (found: Found): readonly Found[] => objectsOf(found['messages'])

const hasType = (content: unknown, ...types: readonly string[]): boolean =>
  objectsOf(content).some(({ type }) => types.includes(stringOf(type)))

/** The first that fits counts: the more a sign says, the earlier it stands. */
const SIGNS: readonly (readonly [SessionFormat, (found: Found) => boolean])[] = [
  ['atif', (found) => stringOf(found['schema_version']).startsWith('ATIF')],
  ['claude-code', (found) => 'sessionId' in found && ('parentUuid' in found || CLAUDE.has(found['type']))],
  ['claude-code', ({ type, ...found }) => CLAUDE.has(type) && ('leafUuid' in found || 'snapshot' in found)],
  ['claude-code', (found) => Array.isArray(found['loglines'])],
  ['codex', (found) => CODEX.has(found['type']) && typeof found['payload'] === 'object'],
  ['pi', (found) => found['type'] === 'session' && typeof found['id'] === 'string' && !('messages' in found)],
  [
    'gemini-cli',
    (found) => 'sessionId' in found && ('projectHash' in found || Array.isArray(found['messages'])),
  ],
  ['openai-responses', isResponses],
  ['openai-chat', (found) => Array.isArray(found['choices'])],
  ['ui-messages', isUI],
  ['anthropic', isAnthropic],
  ['openai-chat', isChat],
]

function isResponses(found: Found): boolean {
  const { type, role } = found
  if (found['object'] === 'response' || Array.isArray(found['input'])) return true
  if (typeof role === 'string') return hasType(found['content'], 'input_text', 'output_text', 'input_image')
  return ITEMS.has(type)
}

const ITEMS: ReadonlySet<unknown> = new Set([
  'function_call',
  'function_call_output',
  'reasoning',
  'web_search_call',
])

function isUI(found: Found): boolean {
  if (typeof found['role'] === 'string') return hasParts(found) || 'toolInvocations' in found
  return messagesIn(found).some(isUI)
}

/** Gemini's own messages have parts too, and no types in them. */
const hasParts = ({ parts }: Found): boolean => objectsOf(parts).some(({ type }) => typeof type === 'string')

function isAnthropic(found: Found): boolean {
  if (found['type'] === 'message') return true
  if (typeof found['role'] === 'string')
    return hasType(found['content'], 'tool_use', 'tool_result', 'thinking', 'redacted_thinking', 'document')
  const messages = messagesIn(found)
  return messages.length > 0 && (('max_tokens' in found && 'system' in found) || messages.some(isAnthropic))
}

const ROLES: ReadonlySet<unknown> = new Set(['system', 'developer', 'user', 'assistant', 'tool'])

function isChat(found: Found): boolean {
  return (
    (ROLES.has(found['role']) && ('content' in found || 'tool_calls' in found)) ||
    messagesIn(found).some(isChat)
  )
}
