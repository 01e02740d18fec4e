/** Faults in src/state/. */

import type { Fault } from './fault.ts'

export const STATE_FAULTS: readonly Fault[] = [
  {
    name: 'a completion does not end its working call',
    file: 'state/branch.ts',
    find: 'completed === null ? branch.workingCalls :',
    replace: 'completed?.rank !== -2 ? branch.workingCalls :',
  },
  {
    name: 'a completion does not require a run',
    file: 'state/status.ts',
    find: "event.source === 'user' || completes",
    replace: "event.source === 'user' || (completes && false)",
  },
  {
    name: 'a result does not complete a condensed call',
    file: 'state/branch.ts',
    find: 'return { ...branch, pendingCalls, workingCalls, dropped }',
    replace: 'return { ...branch, workingCalls, dropped }',
  },
  {
    name: 'a message of the environment counts as a user message',
    file: 'state/branch.ts',
    find: "lastUserMessage: source === 'user' ?",
    replace: "lastUserMessage: source !== 'agent' ?",
  },
  {
    name: 'the error is kept after the status changes',
    file: 'state/header.ts',
    find: "error: status === 'error' ? header.error : null",
    replace: 'error: header.error',
  },
  {
    name: 'the first reply after a pause ends the pause',
    file: 'state/status.ts',
    find: 'const second = inFlight !== null && inFlight !== event.llm_response_id && isNewResponse(step, event)',
    replace: 'const second = isNewResponse(step, event)',
  },
  {
    name: 'a rejection by a hook counts as a rejection by the user',
    file: 'state/status.ts',
    find: "return afterResult(status, step, event.rejection_source === 'hook' ? 'running' : 'idle')",
    replace: "return afterResult(status, step, 'idle')",
  },
  {
    name: 'an image with a text field counts as text',
    file: 'event/reply.ts',
    find: 'isTextPart(part) ? hasText(part.text)',
    replace: "'text' in part ? hasText(part.text)",
  },
  {
    name: 'a message with an image and no text is not final',
    file: 'event/reply.ts',
    find: '(isTextPart(part) || isImagePart(part)) && isVisible(part)',
    replace: 'isTextPart(part) && isVisible(part)',
  },
  {
    name: 'a reply without text is final only if its message has an image',
    file: 'state/status.ts',
    find: 'output === true || ',
    replace: '',
  },
  {
    name: 'a failed finish ends the run',
    file: 'state/status.ts',
    find: ' && event.observation.is_error !== true',
    replace: '',
  },
  {
    name: 'the state at an event has the whole log',
    file: 'state/at.ts',
    find: 'log: logPrefix(state.log, entry.seq + 1, anchorOf(entry) as Checkpoint | null),',
    replace: 'log: logPrefix(state.log, state.log.entries.length, anchorOf(entry) as Checkpoint | null),',
  },
  {
    name: 'a duplicate event changes the status',
    file: 'state/reduce.ts',
    find: 'if (inTree && event !== null && id !== null)',
    replace: 'if (event !== null && id !== null)',
  },
  {
    name: 'the branch does not change when HEAD moves',
    file: 'state/reduce.ts',
    find: 'const branch = branchOf(head)',
    replace: 'const branch = head === checkpoint ? checkpoint.branch : state.branch',
  },
  {
    name: 'the oldest system prompt is sent',
    file: 'state/branch.ts',
    find: 'systemPrompt: entry as EventEntry<SystemPromptEvent>',
    replace: 'systemPrompt: branch.systemPrompt ?? (entry as EventEntry<SystemPromptEvent>)',
  },
]
