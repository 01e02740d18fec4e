import type { Conversation } from '../../conversation/conversation.ts'
import { freezeJson } from '../../event/freeze.ts'
import { isObject, parseJson } from '../../event/json.ts'
import type { JsonValue } from '../../event/shapes.ts'
import { type Lifecycle, sendMessage } from '../conversations/conversations.ts'
import type { BodySpec } from '../http/operation.ts'
import type { ValidationError } from '../http/parameters.ts'
import type { FailureText } from '../http/problem.ts'
import { commandBody, sessionMessage, socketMessage } from '../request-schema.ts'
import type { Commands } from '../sandbox-files/command-operations.ts'

export const invalidFrame = (detail: string): FailureText => ({ code: 'InvalidFrame', detail })

export function readFrame(text: string): { readonly value: JsonValue } | FailureText {
  const value = parseJson(text)
  if (value === undefined) return invalidFrame('The frame is not JSON.')
  const [issue] = freezeJson(value)
  return issue === undefined ? { value } : invalidFrame(`Invalid frame: ${issue.msg}`)
}

/** Handles a frame. Returns why it is invalid; null if it is valid or a second authentication. */
async function handle<B>(
  text: string,
  body: BodySpec<B>,
  codes: { readonly notJson: string; readonly notValid: string },
  work: (value: B) => Promise<FailureText | void>,
): Promise<FailureText | null> {
  const read = readFrame(text)
  if ('code' in read) return { ...read, code: codes.notJson }
  if (isObject(read.value) && read.value['type'] === 'auth') return null
  const checked = body.read(read.value)
  if ('errors' in checked) return { code: codes.notValid, detail: errorsText(checked.errors) }
  return (await work(checked.value)) ?? null
}

const EVENTS = { notJson: 'InvalidFrame', notValid: 'InvalidFrame' }
const SESSION = { notJson: 'JSONDecodeError', notValid: 'ValidationError' }
const COMMANDS = { notJson: 'InvalidFrame', notValid: 'ValidationError' }

export const sendFrameMessage = (lifecycle: Lifecycle, conversation: Conversation, text: string) =>
  handle(text, socketMessage, EVENTS, async ({ run = true, ...message }) => {
    await sendMessage(lifecycle, conversation, message, run)
  })

/** Sends a user message. Fields of the frame other than `role` and `content` are ignored. */
export const sendSessionMessage = (lifecycle: Lifecycle, conversation: Conversation, text: string) =>
  handle(text, sessionMessage, SESSION, async ({ role, content }) => {
    if (role !== 'user')
      return { code: SESSION.notValid, detail: 'Only user messages are allowed to be sent to the agent.' }
    await sendMessage(lifecycle, conversation, { content }, true)
    return undefined
  })

export const startFrameCommand = (commands: Commands, text: string) =>
  handle(text, commandBody, COMMANDS, async (command) => {
    await commands.start(command)
  })

const errorsText = (errors: readonly ValidationError[]): string =>
  errors
    .slice(0, 3)
    .map(({ loc, msg }) => `${loc.slice(1).join('.') || 'frame'}: ${msg}`)
    .join(' ')
