/** Deliberate bugs in the example agent server, and the law that each breaks. */

import { READING_BUGS } from './reading-bugs.ts'

export interface SeededBug {
  readonly name: string
  /** The file, under examples/agent-server/. */
  readonly file: 'conversations.ts' | 'log.ts' | 'model.ts' | 'run.ts' | 'search.ts' | 'server.ts' | 'view.ts'
  /** Text that occurs exactly once in the file. */
  readonly find: string
  readonly replace: string
  /** The law that must be reported as broken. */
  readonly law: string
}

export const SEEDED_BUGS: readonly SeededBug[] = [
  ...READING_BUGS,
  {
    name: 'an appended event follows the last event instead of HEAD',
    file: 'log.ts',
    find: 'let parent = this.head',
    replace:
      "let parent = this.events.findLast(({ kind }) => kind !== 'ConversationStateUpdateEvent')?.id ?? null",
    law: 'T8',
  },
  {
    name: 'the model receives the whole log instead of the branch',
    file: 'view.ts',
    find: 'for (const event of log.branch())',
    replace: 'for (const event of log.events)',
    law: 'T4',
  },
  {
    name: 'a fork includes events after its event',
    file: 'conversations.ts',
    find: 'path.slice(0, end)',
    replace: 'path',
    law: 'T4',
  },
  {
    name: 'HEAD is lost on restart',
    file: 'log.ts',
    find: "this.update('leaf_event_id', id)",
    replace: 'this.head = id',
    law: 'T2',
  },
  {
    name: 'calls of one reply are split into several',
    file: 'run.ts',
    find: 'llm_response_id: response',
    replace: 'llm_response_id: randomUUID()',
    law: 'M7',
  },
  {
    name: 'earlier messages change as the log grows',
    file: 'view.ts',
    find: "content: textOf([first['system_prompt']])",
    replace: "content: `${textOf([first['system_prompt']])} There are ${log.events.length} events.`",
    law: 'M15',
  },
  {
    name: 'the text before a call is not sent back',
    file: 'view.ts',
    find: "content: textOf(first['thought'])",
    replace: "content: ''",
    law: 'M10',
  },
  {
    name: 'a call has two results',
    file: 'run.ts',
    find: 'return [...actions, ...errors]',
    replace: 'return [...actions, ...errors, ...errors]',
    law: 'P1',
  },
  {
    name: 'a rejection names no call',
    file: 'conversations.ts',
    find: 'action_id: id,',
    replace: 'action_id: tool_call_id,',
    law: 'P7',
  },
  {
    name: 'a call is executed twice',
    file: 'run.ts',
    find: 'text = await tool(action, signal)',
    replace: 'text = await tool(action, signal)\n    if (tool_name === "note") await tool(action, signal)',
    law: 'P6',
  },
  {
    name: 'a rejected call is executed',
    file: 'conversations.ts',
    find: '    if (accept) return this.run(',
    replace: '    if (accept || reason !== undefined) return this.run(',
    law: 'P7',
  },
  {
    name: 'one approval counts for later calls',
    file: 'run.ts',
    find: '!approved.has(id))',
    replace: 'approved.size === 0)',
    law: 'P7',
  },
  {
    name: 'the policy is forgotten on restart',
    file: 'server.ts',
    find: "log.update('confirmation_policy', body['policy'] ?? null)",
    replace: 'log.needsConfirmation = true',
    law: 'P7',
  },
  {
    name: 'a pause is lost',
    file: 'run.ts',
    find: "if (signal.aborted || log.status === 'paused') return",
    replace: 'if (signal.aborted) return',
    law: 'I3',
  },
  {
    name: 'an interrupt leaves calls open',
    file: 'conversations.ts',
    find: "...(run === undefined ? [] : closePending(log, 'The call was interrupted.')),",
    replace: '',
    law: 'P9',
  },
  {
    name: 'a run ignores an interrupt',
    file: 'conversations.ts',
    find: '    run?.stop.abort()\n    log.append(',
    replace: '    log.append(',
    law: 'I4',
  },
  {
    name: 'two runs are active at once',
    file: 'conversations.ts',
    find: "if (this.#runs.has(log.id)) throw new Refusal(409, 'The conversation is running already.')",
    replace: '',
    law: 'I5',
  },
  {
    name: 'a message during a reply counts as answered',
    file: 'view.ts',
    find: 'while (position > 0 && isLater(units[position - 1], seen, log)) position -= 1',
    replace: '',
    law: 'I2',
  },
  {
    name: 'a failed run has no reason',
    file: 'run.ts',
    find: "log.append({ kind: 'ConversationErrorEvent', source: 'environment', code: 'RunFailed', detail })",
    replace: '',
    law: 'I1',
  },
  {
    name: 'a repeated message is appended again',
    file: 'conversations.ts',
    find: 'key === null ? randomUUID() : createHash',
    replace: "key === null || key !== '' ? randomUUID() : createHash",
    law: 'S3',
  },
  {
    name: 'another message with a known key is ignored',
    file: 'conversations.ts',
    find: "else if (JSON.stringify(existing['llm_message']) !== JSON.stringify(llm_message))",
    replace: 'else if (Math.random() > 1)',
    law: 'S4',
  },
  {
    name: 'acknowledged events are written later',
    file: 'log.ts',
    find: 'appendFileSync(this.#file, `${JSON.stringify(events)}\\n`)',
    replace: 'setTimeout(() => appendFileSync(this.#file, `${JSON.stringify(events)}\\n`), 2_000)',
    law: 'S5',
  },
  {
    name: 'thinking is lost on restart, so the view differs',
    file: 'log.ts',
    find: 'for (const event of JSON.parse(batch) as LogEvent[]) this.#apply(event)',
    replace: 'for (const event of JSON.parse(batch) as LogEvent[]) this.#apply({ ...event, thought: [] })',
    law: 'S5',
  },
  {
    name: 'a run interrupted by a crash is reported as running',
    file: 'conversations.ts',
    find: "if (log.status !== 'running') continue",
    replace: "if (log.status !== 'idle') continue",
    law: 'W4',
  },
  {
    name: 'a pause leaves an orphan result in the log',
    file: 'conversations.ts',
    find: "log.append({ kind: 'PauseEvent', source: 'user' })",
    replace: `log.append({ kind: 'PauseEvent', source: 'user' })
    log.append({ kind: 'AgentErrorEvent', source: 'agent', tool_name: 'x', tool_call_id: 'x', error: 'paused' })`,
    law: 'P4',
  },
  {
    name: 'an event has an unknown field',
    file: 'conversations.ts',
    find: "log.append({ kind: 'PauseEvent', source: 'user' })",
    replace: "log.append({ kind: 'PauseEvent', source: 'user', by: 'a user' })",
    law: 'E7',
  },
  {
    name: 'a call interrupted by a crash stays open',
    file: 'conversations.ts',
    find: "log.append(...closePending(log, 'The process ended; it is not known whether the call took effect.'))",
    replace: '',
    law: 'P10',
  },
]
