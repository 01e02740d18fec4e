/**
 * The fixed sentences that stand where a provider demands text and the log has none. Changing one changes every cached
 * prefix.
 */

import type { CompletionOutcome } from '../event/completion.ts'

/** Leads the result of a tool that failed, and stands alone where such a result says nothing. */
export const ERROR_LINE = '[An error occurred during execution.]'

/** The user message that opens a history which begins with the assistant, or holds nothing but a system prompt. */
export const OPENING = '[The conversation begins here.]'

/** The user message between two assistant turns that a provider would read as one, and refuse as one. */
export const GO_ON = '[Go on.]'

/** What the assistant says in a turn that holds nothing but its thinking. */
export const NO_ANSWER = '[No answer was given.]'

/** The result of a call that has none: in a list of messages, or after the step that executed it. */
export const NO_RESULT = '[No result was recorded.]'

/** The error of a call that may have been started when its run ended. */
export const INTERRUPTED = 'The call was interrupted; whether it took effect is not known.'

/** The error of a call that is known not to have been started. */
export const NEVER_STARTED = 'The call was interrupted before it was started, so it had no effect.'

/** The error of a call with `action: null`. */
export const NOT_EXECUTABLE =
  'The call could not be executed, so it had no effect. Check the name of the tool and the arguments.'

/** The error of a call after the finish of the same reply. */
export const AFTER_FINISH = 'The call came after finish in the same reply, so it was not executed.'

/** Leads the message that completes a call which has worked on behind its reply. */
export const completionFrame = (toolName: string, callId: string, outcome: CompletionOutcome): string =>
  `[The call ${callId} of ${toolName} ${ENDS[outcome]}]`

const ENDS: Readonly<Record<CompletionOutcome, string>> = {
  done: 'is done. Its result:',
  failed: 'has failed:',
  cancelled: 'was cancelled:',
  lost: 'was lost; whether it took effect is not known:',
}

/** Stands for an image that the provider cannot take. */
export const NO_IMAGE = '[An image that cannot be shown here.]'

/** Stands in a tool result for an image that the grammar only takes from a user. */
export const imageMoved = (number: number): string => `[Image ${number} follows in the next user message.]`

/** Stands before such an image in the user message. */
export const imageFollows = (number: number): string => `[Image ${number} of the tool results above:]`

/** The same for a part of another kind, such as a file. */
export const partMoved = (number: number): string => `[File ${number} follows in the next user message.]`

export const partFollows = (number: number): string => `[File ${number} of the tool results above:]`
