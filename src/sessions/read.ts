/** Reads a recorded session of another agent as a log. */

import { ColloquyError } from '../event/errors.ts'
import { readAnthropic, readOpenAIChat } from './arrays/read.ts'
import { readOpenAIResponses } from './arrays/responses.ts'
import { readUIMessages } from './arrays/ui.ts'
import { readAtif } from './atif/read.ts'
import { readClaudeCode } from './claude-code/read.ts'
import { readCodex } from './codex/read.ts'
import { copyJson, freezePart, MAX_DEPTH } from '../event/freeze.ts'
import { detectSession, LOOK } from './detect.ts'
import { readGeminiCli } from './gemini-cli/read.ts'
import { readPi } from './pi/read.ts'
import type { JsonValue } from '../event/shapes.ts'
import type { Session, SessionFormat, SessionRecord, UnfitRecord } from './session.ts'

const READERS: Readonly<Record<SessionFormat, (records: readonly SessionRecord[]) => Session>> = {
  'claude-code': readClaudeCode,
  codex: readCodex,
  pi: readPi,
  'gemini-cli': readGeminiCli,
  atif: readAtif,
  'ui-messages': readUIMessages,
  anthropic: readAnthropic,
  'openai-chat': readOpenAIChat,
  'openai-responses': readOpenAIResponses,
}

/** What is nested too deep for any writer is kept as its text. */
const readable = (record: SessionRecord): SessionRecord | UnfitRecord =>
  record.value === undefined || freezePart(record.value)
    ? record
    : { ...record, value: undefined, unfit: whyUnfit(record.value) }

/** An event that holds a value is some levels deep itself, so that a little less than its limit has room in it. */
function whyUnfit(value: JsonValue): string {
  const isNumber = copyJson(value).issues.some(({ type }) => type !== 'recursion_depth')
  return isNumber
    ? 'JSON with a number that is too large to be written back'
    : `JSON nested too deep for an event, which holds ${MAX_DEPTH} levels with its own`
}

/**
 * Reads a session as the log of a conversation: replies whole, each call with its result, branches, and condensations
 * for what was summed up. Nothing is dropped in silence: a record that nothing is known of is kept in quarantine, one
 * that says again what another has said is counted in `notes`, and what stands beside the conversation becomes a
 * `ConversationStateUpdateEvent` under the name of its format. The same records give the same facts.
 *
 * @param records in the order of the file; their JSON becomes part of the facts, and is frozen
 * @param options `from`: the form; left out, it is told by the records
 * @throws ColloquyError `invalid_argument` where the form is not known. O(size).
 * @example
 * const raw = '{"role":"user","content":"hi"}'
 * const session = readSession([{ line: 1, raw, value: JSON.parse(raw) }])
 * session.format // 'openai-chat'
 * session.facts[0].fact.kind // 'MessageEvent'
 */
export function readSession(
  records: readonly SessionRecord[],
  { from }: { readonly from?: SessionFormat } = {},
): Session {
  const format = from ?? detectSession(records.slice(0, LOOK).map(({ value }) => value))
  if (format !== null) return READERS[format](records.map(readable))
  throw new ColloquyError('invalid_argument', 'This is no session of a known form; name it with `from`.', {
    field: 'from',
  })
}
