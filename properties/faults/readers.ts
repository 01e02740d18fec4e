/** Faults in explanations, followers, and readers of streamed replies. */

import type { Fault } from './fault.ts'

export const READERS_FAULTS: readonly Fault[] = [
  {
    name: '`explain` reports a pending call as part of the view',
    file: 'explain/explain.ts',
    find: "const inView = code === 'unit' || code === 'batch'",
    replace: "const inView = code === 'unit' || code === 'batch' || code === 'pending'",
  },
  {
    name: '`explain` reports a late result as a duplicate',
    file: 'explain/verdict.ts',
    find: "verdict: { code: 'late_result', rule: 'U6'",
    replace: "verdict: { code: 'duplicate_result', rule: 'U6'",
  },
  {
    name: 'findings are not sorted by severity',
    file: 'explain/findings.ts',
    find: 'SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) ||',
    replace: '',
  },
  {
    name: 'a call id that a later reply reuses counts as the same call',
    file: 'explain/findings.ts',
    find: "const isReply = one.llm_response_id === event.llm_response_id && event.llm_response_id !== ''",
    replace: 'const isReply = one.tool_call_id === event.tool_call_id',
  },
  {
    name: 'a follower saves its position before the handler ends',
    file: 'conversation/follow/follow.ts',
    find: 'const isDone = items.length === 0',
    replace:
      'if (page !== null) await this.#save(shard, { cursor: page.next })\n        const isDone = items.length === 0',
  },
  {
    name: 'a follower ignores items that arrived while it read a shard',
    file: 'conversation/follow/follow.ts',
    find: 'if (this.#fresh.delete(shard) || signal.aborted) return',
    replace: 'this.#fresh.delete(shard)\n    if (signal.aborted) return',
  },
  {
    name: 'a reader that reconnects begins at the start of the reply',
    file: 'conversation/streamed.ts',
    find: 'this.#offset = this.#resumeOffset?.reply === upcoming.id ? this.#resumeOffset : NO_LENGTH',
    replace: 'this.#offset = NO_LENGTH',
  },
  {
    name: 'the reply ends before its last text is written',
    file: 'conversation/shared-replies.ts',
    find: 'await this.#inOrder(() => this.#write(written.reply))',
    replace: 'void written.reply',
  },
]
