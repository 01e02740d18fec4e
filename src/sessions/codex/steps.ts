/**
 * Divides a rollout of Codex CLI into replies and other lines: items of one reply stand in lines of their own, and
 * nothing in the file says which belong together.
 */

import { type Found, objectOf, stringOf } from '../../messages/found.ts'
import type { SessionRecord } from '../session.ts'

/** A line: its type, and that of what it holds. */
export interface CodexLine {
  readonly record: SessionRecord
  readonly type: string
  /** `message`, `token_count` …; empty where the payload names none. */
  readonly what: string
  readonly payload: Found
  readonly time: unknown
}

/** The items of one reply, and the tokens that it took, as far as a later line says so. */
export interface ReplyStep {
  readonly items: CodexLine[]
  usage: Found | null
}

/** A line that is no item of a reply; `isTold` where it counts the tokens of one, or counts them again. */
export type Step = ReplyStep | { readonly line: CodexLine; readonly isTold: boolean }

/** What of a list of items is said by the model; each other kind of item ends its reply. */
const SAID: ReadonlySet<string> = new Set([
  'reasoning',
  'function_call',
  'custom_tool_call',
  'local_shell_call',
  'web_search_call',
  'tool_search_call',
  'image_generation_call',
  'compaction',
  'context_compaction',
])

/** The type of a line that replaces all before it by a shorter history. */
export const NEW_HISTORY = 'compacted'

/** What stands among the items of a reply, and does not end it. */
const PASSING: ReadonlySet<string> = new Set([
  'token_count',
  'agent_message',
  'agent_reasoning',
  'agent_reasoning_raw_content',
  'exec_command_begin',
  'item_started',
  'item_completed',
  'web_search_begin',
  'web_search_end',
])

/**
 * The steps of a rollout. A reply ends with the first result, user's message or turn behind it: the count of its tokens
 * stands behind its results in some versions, and so cannot end it. O(lines).
 */
export function stepsOf(lines: readonly CodexLine[]): Step[] {
  const steps: Step[] = []
  let open: ReplyStep | null = null
  let latest: ReplyStep | null = null
  let counted = ''
  for (const line of lines) {
    const { type, what, payload } = line
    const isSaid =
      type === 'response_item' && (SAID.has(what) || (what === 'message' && payload['role'] === 'assistant'))
    if (isSaid) {
      if (open === null) {
        open = { items: [], usage: null }
        steps.push(open)
      }
      open.items.push(line)
      latest = open
      continue
    }
    let isTold = false
    if (what === 'token_count') {
      const info = objectOf(payload['info'])
      // The same count is written again and again; only a new one is of a new reply.
      const total = JSON.stringify(info['total_token_usage'] ?? null)
      isTold = total !== 'null' && total === counted
      if (!isTold && total !== 'null' && latest !== null && latest.usage === null) {
        latest.usage = objectOf(info['last_token_usage'])
        isTold = true
      }
      counted = total
    }
    // What a compaction took is counted behind it.
    if (type === NEW_HISTORY) latest = null
    if (!PASSING.has(what)) open = null
    steps.push({ line, isTold })
  }
  return steps
}

/** A record as a line of a rollout; null for one that is none. */
export function codexLineOf(record: SessionRecord): CodexLine | null {
  const { type, payload, timestamp } = objectOf(record.value)
  if (typeof type !== 'string' || typeof payload !== 'object' || payload === null) return null
  const found = objectOf(payload)
  return { record, type, what: stringOf(found['type']), payload: found, time: timestamp }
}
