/** Faults in explanations, followers, and readers of streamed replies. */

import type { Fault } from './fault.ts'

export const READERS_FAULTS: readonly Fault[] = [
  {
    name: 'what waits for a result is said to be in the view',
    file: 'explain/explain.ts',
    find: "const inView = code === 'unit' || code === 'batch'",
    replace: "const inView = code === 'unit' || code === 'batch' || code === 'pending'",
  },
  {
    name: 'a result that came too late is said to be a second one',
    file: 'explain/verdict.ts',
    find: "verdict: { code: 'late_result', rule: 'U6'",
    replace: "verdict: { code: 'duplicate_result', rule: 'U6'",
  },
  {
    name: 'findings stand in the order of their kinds',
    file: 'explain/findings.ts',
    find: 'SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) ||',
    replace: '',
  },
  {
    name: 'a call id that a later reply begins anew is taken for the same call',
    file: 'explain/findings.ts',
    find: "const isReply = one.llm_response_id === event.llm_response_id && event.llm_response_id !== ''",
    replace: 'const isReply = one.tool_call_id === event.tool_call_id',
  },
  {
    name: 'a place is kept before the handler has ended',
    file: 'conversation/follow/follow.ts',
    find: 'const isDone = items.length === 0',
    replace:
      'if (page !== null) await this.#save(shard, { cursor: page.next })\n        const isDone = items.length === 0',
  },
  {
    name: 'what came while a shard was read is not looked at',
    file: 'conversation/follow/follow.ts',
    find: 'if (this.#fresh.delete(shard) || signal.aborted) return',
    replace: 'this.#fresh.delete(shard)\n    if (signal.aborted) return',
  },
  {
    name: 'a reader that comes back begins at the start of the reply',
    file: 'conversation/streamed.ts',
    find: 'this.#offset = this.#resumeOffset?.reply === upcoming.id ? this.#resumeOffset : NO_LENGTH',
    replace: 'this.#offset = NO_LENGTH',
  },
  {
    name: 'the rest of a reply is not written before it ends',
    file: 'conversation/shared-replies.ts',
    find: 'await this.#inOrder(() => this.#write(written.reply))',
    replace: 'void written.reply',
  },
]
