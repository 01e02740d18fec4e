/**
 * Fixed sentences for places where a provider requires text and the log has none. Changing one changes every
 * cached prefix.
 */

import type { CompletionOutcome } from '../event/completion.ts'

/** First line of a failed result; its only text if the result is empty. */
export const ERROR_LINE = '[An error occurred during execution.]'

/** User message before a history that begins with the assistant, or has only a system prompt. */
export const OPENING = '[The conversation begins here.]'

/** User message between two assistant turns, which a provider would merge and then refuse. */
export const GO_ON = '[Go on.]'

/** Text of an assistant turn that has only thinking. */
export const NO_ANSWER = '[No answer was given.]'

/** Result of a call without one. */
export const NO_RESULT = '[No result was recorded.]'

/** Error of a call that may have started when its run ended. */
export const INTERRUPTED = 'The call was interrupted; whether it took effect is not known.'

/** Error of a call that never started. */
export const NEVER_STARTED = 'The call was interrupted before it was started, so it had no effect.'

/** Error of a call with `action: null`. */
export const NOT_EXECUTABLE =
  'The call could not be executed, so it had no effect. Check the name of the tool and the arguments.'

/** Error of a call after the finish of the same reply. */
export const AFTER_FINISH = 'The call came after finish in the same reply, so it was not executed.'

/** First line of the message that completes a working call. */
export const completionFrame = (toolName: string, callId: string, outcome: CompletionOutcome): string =>
  `[The call ${callId} of ${toolName} ${ENDS[outcome]}]`

const ENDS: Readonly<Record<CompletionOutcome, string>> = {
  done: 'is done. Its result:',
  failed: 'has failed:',
  cancelled: 'was cancelled:',
  lost: 'was lost; whether it took effect is not known:',
}

/** Replaces an image that the provider cannot accept. */
export const NO_IMAGE = '[An image that cannot be shown here.]'

/** Replaces an image in a tool result where the grammar accepts images only from a user. */
export const imageMoved = (number: number): string => `[Image ${number} follows in the next user message.]`

/** Precedes such an image in the user message. */
export const imageFollows = (number: number): string => `[Image ${number} of the tool results above:]`

export const partMoved = (number: number): string => `[File ${number} follows in the next user message.]`

export const partFollows = (number: number): string => `[File ${number} of the tool results above:]`
