import type { Conversation } from '../../conversation/conversation.ts'
import { freezeJson } from '../../event/freeze.ts'
import { isObject, parseJson } from '../../event/json.ts'
import type { JsonValue } from '../../event/shapes.ts'
import { type Lifecycle, sendMessage } from '../conversations/conversations.ts'
import type { ValidationError } from '../http/parameters.ts'
import type { FailureText } from '../http/problem.ts'
import { commandBody, sessionMessage, socketMessage } from '../request-schema.ts'
import type { Commands } from '../sandbox-files/command-operations.ts'

/**
 * Returns the JSON of a client's frame, or why the frame is invalid; null for a second authentication frame.
 */
function readMessage(text: string): { readonly value: JsonValue } | FailureText | null {
  const read = readFrame(text)
  return 'value' in read && isObject(read.value) && read.value['type'] === 'auth' ? null : read
}

export const invalidFrame = (detail: string): FailureText => ({ code: 'InvalidFrame', detail })

export function readFrame(text: string): { readonly value: JsonValue } | FailureText {
  const value = parseJson(text)
  if (value === undefined) return invalidFrame('The frame is not JSON.')
  const [issue] = freezeJson(value)
  return issue === undefined ? { value } : invalidFrame(`Invalid frame: ${issue.msg}`)
}

export async function sendFrameMessage(
  lifecycle: Lifecycle,
  conversation: Conversation,
  text: string,
): Promise<FailureText | null> {
  const read = readMessage(text)
  if (read === null || 'code' in read) return read
  const checked = socketMessage.read(read.value)
  if ('errors' in checked) return invalidFrame(errorsText(checked.errors))
  const { run = true, ...message } = checked.value
  await sendMessage(lifecycle, conversation, message, run)
  return null
}

/** Sends a user message. Fields of the frame other than `role` and `content` are ignored. */
export async function sendSessionMessage(
  lifecycle: Lifecycle,
  conversation: Conversation,
  text: string,
): Promise<FailureText | null> {
  const read = readMessage(text)
  if (read === null) return null
  if ('code' in read) return { ...read, code: 'JSONDecodeError' }
  const checked = sessionMessage.read(read.value)
  if ('errors' in checked) return { code: 'ValidationError', detail: errorsText(checked.errors) }
  const { role, content } = checked.value
  if (role !== 'user')
    return { code: 'ValidationError', detail: 'Only user messages are allowed to be sent to the agent.' }
  await sendMessage(lifecycle, conversation, { content }, true)
  return null
}

export async function startFrameCommand(commands: Commands, text: string): Promise<FailureText | null> {
  const read = readMessage(text)
  if (read === null || 'code' in read) return read
  const checked = commandBody.read(read.value)
  if ('errors' in checked) return { code: 'ValidationError', detail: errorsText(checked.errors) }
  await commands.start(checked.value)
  return null
}

const errorsText = (errors: readonly ValidationError[]): string =>
  errors
    .slice(0, 3)
    .map(({ loc, msg }) => `${loc.slice(1).join('.') || 'frame'}: ${msg}`)
    .join(' ')
