/** Faults in src/state/. */

import type { Fault } from './fault.ts'

export const STATE_FAULTS: readonly Fault[] = [
  {
    name: 'a completion leaves its call working',
    file: 'state/branch.ts',
    find: 'completed === null ? branch.workingCalls :',
    replace: 'completed?.rank !== -2 ? branch.workingCalls :',
  },
  {
    name: 'a completion does not want a run',
    file: 'state/status.ts',
    find: "event.source === 'user' || completes",
    replace: "event.source === 'user' || (completes && false)",
  },
  {
    name: 'a forgotten call cannot be answered',
    file: 'state/branch.ts',
    find: 'return { ...branch, pendingCalls, workingCalls, dropped }',
    replace: 'return { ...branch, workingCalls, dropped }',
  },
  {
    name: "messages of the environment count as the user's",
    file: 'state/branch.ts',
    find: "lastUserMessage: source === 'user' ?",
    replace: "lastUserMessage: source !== 'agent' ?",
  },
  {
    name: 'an error outlives its status',
    file: 'state/header.ts',
    find: "error: status === 'error' ? header.error : null",
    replace: 'error: header.error',
  },
  {
    name: 'the first reply undoes a pause',
    file: 'state/status.ts',
    find: 'const second = inFlight !== null && inFlight !== event.llm_response_id && isNewResponse(step, event)',
    replace: 'const second = isNewResponse(step, event)',
  },
  {
    name: "a rejection by a hook is the user's",
    file: 'state/status.ts',
    find: "return afterResult(status, step, event.rejection_source === 'hook' ? 'running' : 'idle')",
    replace: "return afterResult(status, step, 'idle')",
  },
  {
    name: 'an image that has a text field speaks',
    file: 'state/status.ts',
    find: 'isTextPart(part) && hasText(part.text)',
    replace: "'text' in part && hasText(part.text)",
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
    name: 'a duplicate moves the status',
    file: 'state/reduce.ts',
    find: 'if (inTree && event !== null && id !== null)',
    replace: 'if (event !== null && id !== null)',
  },
  {
    name: 'a moved HEAD keeps its branch',
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
