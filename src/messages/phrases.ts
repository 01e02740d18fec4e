/**
 * Fixed sentences for places where a provider requires text and the log has no text. A change of a sentence
 * invalidates the providers' caches.
 */

import type { CompletionOutcome } from '../event/completion.ts'

/** First line of a failed result; its only text if the result is empty. */
export const ERROR_LINE = '[An error occurred during execution.]'

/** User message added before a history that begins with the assistant or has only a system prompt. */
export const OPENING = '[The conversation begins here.]'

/**
 * User message added after a reply without calls if this reply is last, or if another reply follows it. A
 * provider would merge two adjacent replies, and then refuse them.
 */
export const GO_ON = '[Go on.]'

export const NO_ANSWER = '[No answer was given.]'

/** Placeholder for the missing reasoning of calls. DeepSeek rejects an empty text. */
export const NO_REASONING = ' '

export const NO_RESULT = '[No result was recorded.]'

export const INTERRUPTED = 'The call was interrupted; whether it took effect is not known.'

export const NEVER_STARTED = 'The call was interrupted before it was started, so it had no effect.'

export const NOT_EXECUTABLE =
  'The call could not be executed, so it had no effect. Check the name of the tool and the arguments.'

export const AFTER_FINISH = 'The call came after finish in the same reply, so it was not executed.'

export const completionFrame = (toolName: string, callId: string, outcome: CompletionOutcome): string =>
  `[The call ${callId} of ${toolName} ${ENDS[outcome]}]`

const ENDS: Readonly<Record<CompletionOutcome, string>> = {
  done: 'is done. Its result:',
  failed: 'has failed:',
  cancelled: 'was cancelled:',
  lost: 'was lost; whether it took effect is not known:',
}

export const NO_IMAGE = '[An image that cannot be shown here.]'

export const imageMoved = (number: number): string => `[Image ${number} follows in the next user message.]`

export const imageFollows = (number: number): string => `[Image ${number} of the tool results above:]`

export const partMoved = (number: number): string => `[File ${number} follows in the next user message.]`

export const partFollows = (number: number): string => `[File ${number} of the tool results above:]`
