/** Takes messages from a stream by the rules for posted ones, so that both are refused for the same reasons. */

import { freezeJson } from '../../event/freeze.ts'
import { isObject } from '../../event/json.ts'
import type { JsonValue } from '../../event/shapes.ts'
import type { Conversation } from '../../conversation/conversation.ts'
import type { ValidationError } from '../http/problem.ts'
import { type Lifecycle, sayAndRun } from '../conversations/conversations.ts'
import { socketMessage } from './frame-schema.ts'
import type { FailureText } from '../http/failure-text.ts'

/** What is said of a frame that is none of ours. */
export const wrongFrame = (detail: string): FailureText => ({ code: 'InvalidFrame', detail })

/** Reads the JSON of a frame. */
export function readFrame(text: string): { readonly value: JsonValue } | FailureText {
  let value
  try {
    value = JSON.parse(text) as JsonValue
  } catch {
    // The parser's own words quote the text, which may hold a key.
    return wrongFrame('The frame is no JSON.')
  }
  const [issue] = freezeJson(value)
  return issue === undefined ? { value } : wrongFrame(`The frame cannot be kept: ${issue.msg}`)
}

/**
 * Says `{ role, content }` in a conversation, and has it run where there is an agent and `run` is not false. A frame
 * that carries a key again is passed over.
 * @throws ColloquyError as `sendMessage` does; HttpProblem 429.
 */
export async function say(
  lifecycle: Lifecycle,
  conversation: Conversation,
  text: string,
): Promise<FailureText | null> {
  const read = readFrame(text)
  if (!('value' in read)) return read
  const { value } = read
  if (isObject(value) && value['type'] === 'auth') return null
  const checked = socketMessage.read(value)
  if ('errors' in checked) return wrongFrame(sayErrors(checked.errors))
  const { run = true, ...said } = checked.value
  await sayAndRun(lifecycle, conversation, said, run)
  return null
}

/** The first few, each with its place in the frame. */
const sayErrors = (errors: readonly ValidationError[]): string =>
  errors
    .slice(0, 3)
    .map(({ loc, msg }) => `${loc.slice(1).join('.') || 'frame'}: ${msg}`)
    .join(' ')
