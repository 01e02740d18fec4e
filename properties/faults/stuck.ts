/** Faults in src/context/stuck/. */

import type { Fault } from './fault.ts'

export const STUCK_FAULTS: readonly Fault[] = [
  {
    name: 'the words of a refusal count',
    file: 'context/stuck.ts',
    find: "return 'rejected'",
    replace: 'return canonicalJson(result)',
  },
  {
    name: 'errors are all alike',
    file: 'context/stuck.ts',
    find: 'return canonicalJson({ error: result.error })',
    replace: "return 'error'",
  },
  {
    name: 'invalid calls are all alike',
    file: 'context/stuck.ts',
    find: 'what === null ? argumentsOf(tool_call.arguments) : { action: what }',
    replace: '{ action: what }',
  },
  {
    name: 'the order of parallel calls counts',
    file: 'context/stuck.ts',
    find: '[...new Set(keys)].toSorted()',
    replace: 'keys',
  },
  {
    name: 'a result is not read with its call',
    file: 'context/stuck.ts',
    find: '`${callKey(call.event)} ${resultKey(entry.event)}`',
    replace: '`${call === null} ${resultKey(entry.event)}`',
  },
  {
    name: 'the id of a call counts',
    file: 'context/stuck.ts',
    find: 'canonicalJson([by, tool_name, what',
    replace: 'canonicalJson([by, tool_call.id, what',
  },
  {
    name: 'a forgotten message of a user does not count',
    file: 'context/stuck.ts',
    find: 'unit.rank < since || ',
    replace: '',
  },
  {
    name: 'words of the environment are a user’s',
    file: 'context/stuck.ts',
    find: "messageOfUnit(unit)?.source === 'user'",
    replace: "messageOfUnit(unit)?.llm_message.role === 'user'",
  },
  {
    name: 'a call without an answer is a step',
    file: 'context/stuck.ts',
    find: ' || isPending(unit)',
    replace: '',
  },
  {
    name: 'failures count as results',
    file: 'context/stuck.ts',
    find: ' || first.failed',
    replace: '',
  },
  {
    name: 'one step over and over alternates',
    file: 'context/stuck.ts',
    find: '!returns || isEqualTurn(one, other)',
    replace: '!returns',
  },
  {
    name: 'a monologue goes on behind a call',
    file: 'context/stuck.ts',
    find: '.slice(0, step < 0 ? units.length : step)',
    replace: '.slice(step < 0 ? 0 : step)',
  },
  {
    name: 'a nudge is given twice',
    file: 'context/stuck.ts',
    find: 'since.some(isNudge) ? null :',
    replace: '',
  },
  {
    name: 'a nudge comes a failure too early',
    file: 'context/stuck.ts',
    find: 'errorStreak(window, count + 1) !== count',
    replace: 'errorStreak(window, count + 1) < count - 1',
  },
]
