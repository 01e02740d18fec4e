/** Faults in src/context/stuck/. */

import type { Fault } from './fault.ts'

export const STUCK_FAULTS: readonly Fault[] = [
  {
    name: 'the text of a rejection distinguishes steps',
    file: 'context/stuck.ts',
    find: "return 'rejected'",
    replace: 'return canonicalJson(result)',
  },
  {
    name: 'all errors are equal',
    file: 'context/stuck.ts',
    find: 'return canonicalJson({ error: result.error })',
    replace: "return 'error'",
  },
  {
    name: 'all invalid calls are equal',
    file: 'context/stuck.ts',
    find: 'what === null ? argumentsOf(tool_call.arguments) : { action: what }',
    replace: '{ action: what }',
  },
  {
    name: 'the order of parallel calls distinguishes steps',
    file: 'context/stuck.ts',
    find: '[...new Set(keys)].toSorted()',
    replace: 'keys',
  },
  {
    name: 'a result is compared without its call',
    file: 'context/stuck.ts',
    find: '`${callKey(call.event)} ${resultKey(entry.event)}`',
    replace: '`${call === null} ${resultKey(entry.event)}`',
  },
  {
    name: 'the call id distinguishes steps',
    file: 'context/stuck.ts',
    find: 'canonicalJson([by, tool_name, what',
    replace: 'canonicalJson([by, tool_call.id, what',
  },
  {
    name: 'a condensed user message does not end a loop',
    file: 'context/stuck.ts',
    find: 'unit.rank < since || ',
    replace: '',
  },
  {
    name: 'a message of the environment ends a loop',
    file: 'context/stuck.ts',
    find: "messageOfUnit(unit)?.source === 'user'",
    replace: "messageOfUnit(unit)?.llm_message.role === 'user'",
  },
  {
    name: 'a pending call counts as a step',
    file: 'context/stuck.ts',
    find: ' || isPending(unit)',
    replace: '',
  },
  {
    name: 'failed steps count as steps with results',
    file: 'context/stuck.ts',
    find: ' || first.failed',
    replace: '',
  },
  {
    name: 'one repeated step counts as an alternation',
    file: 'context/stuck.ts',
    find: '!returns || isEqualTurn(one, other)',
    replace: '!returns',
  },
  {
    name: 'a monologue continues after a call',
    file: 'context/stuck.ts',
    find: '.slice(0, step < 0 ? units.length : step)',
    replace: '.slice(step < 0 ? 0 : step)',
  },
  {
    name: 'a nudge is repeated',
    file: 'context/stuck.ts',
    find: 'since.some(isNudge) ? null :',
    replace: '',
  },
  {
    name: 'a nudge is sent one failure too early',
    file: 'context/stuck.ts',
    find: 'errorStreak(window, count + 1) !== count',
    replace: 'errorStreak(window, count + 1) < count - 1',
  },
]
