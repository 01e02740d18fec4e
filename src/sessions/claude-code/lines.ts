/** What each line of a session of Claude Code is, found in one pass before any of them is read. */

import type { JsonValue } from '../../event/shapes.ts'
import { type Found, objectOf, stringOf } from '../../messages/found.ts'
import { blocksOf, textIn } from '../content.ts'
import type { SessionRecord } from '../session.ts'
import { askedLater, type HasResult } from '../writer.ts'

/** A line, and what the others need to know of it. */
export interface Line {
  readonly record: SessionRecord
  readonly found: Found
  /** Null for what is no record of a session. */
  readonly type: string | null
  readonly uuid: string | null
  readonly parent: string | null
  readonly time: string | null
  /** The message that it holds, or a part of it. */
  readonly message: Found
  /** The id of the reply that it is a part of. */
  readonly reply: string | null
  /** The blocks of its message. */
  readonly blocks: readonly Found[]
  /** Whether it is of a side chain: a conversation of a helper. */
  readonly isSide: boolean
  /** Whether it tells of a command that its client has executed itself, as `/exit` or `!ls`: no request to a model. */
  readonly isLocal: boolean
  /** Whether its user has typed it for a model: it is neither a result nor put in by the client. */
  readonly isTyped: boolean
}

/** The lines of the session itself, and those of each side chain in its file. */
export interface Lines {
  readonly lines: readonly Line[]
  readonly chains: readonly (readonly Line[])[]
  /** Whether a call has a result. */
  readonly hasResult: HasResult
  /** The numbers of lines that stand there again: some versions repeat all that they hold before they sum it up. */
  readonly again: readonly number[]
}

/** Looks at every line once. A file of one side chain alone is that one's session. O(size). */
export function indexLines(records: readonly SessionRecord[]): Lines {
  const all: Line[] = []
  const hasResult = resultsIn(all)
  const again: number[] = []
  const named = new Map<string, Line>()
  let isOne = true
  let hasSides = false
  for (const record of records)
    for (const each of unwrap(record)) {
      const line = lineOf(each)
      const first = line.uuid === null ? undefined : named.get(line.uuid)
      if (first !== undefined && isSame(first, line)) {
        again.push(each.line)
        continue
      }
      if (line.uuid !== null && first === undefined) named.set(line.uuid, line)
      all.push(line)
      if (line.isSide) hasSides = true
      else if (line.uuid !== null) isOne = false
    }
  if (isOne || !hasSides) return { lines: all, chains: [], hasResult, again }
  const lines: Line[] = []
  const chains = new Map<string, Line[]>()
  /** The first line of the chain that each line is in. */
  const roots = new Map<string, string>()
  for (const line of all) {
    if (!line.isSide) {
      lines.push(line)
      continue
    }
    const { uuid, parent, found } = line
    const agent = stringOf(found['agentId'])
    const root = agent || (parent === null ? undefined : roots.get(parent)) || uuid || 'side'
    if (uuid !== null) roots.set(uuid, root)
    const chain = chains.get(root)
    if (chain === undefined) chains.set(root, [line])
    else chain.push(line)
  }
  return { lines, chains: [...chains.values()], hasResult, again }
}

/** Whether two lines of one name are one: of the same time, and with the same in them. */
const isSame = (one: Line, other: Line): boolean =>
  one.time !== null && one.time === other.time && contentIn(one) === contentIn(other)

const contentIn = ({ type, parent, found }: Line): string =>
  JSON.stringify([type, parent, found['subtype'], found['message'], found['attachment']])

/** Sessions that were made on the web come as one document. */
function unwrap(record: SessionRecord): readonly SessionRecord[] {
  const { loglines } = objectOf(record.value)
  if (!Array.isArray(loglines)) return [record]
  return loglines.map((value: JsonValue, at) => ({ line: at + 1, raw: JSON.stringify(value), value }))
}

const resultsIn = (lines: readonly Line[]): HasResult =>
  askedLater(() =>
    lines.flatMap(({ blocks }) => blocks.filter(isResult).map((block) => stringOf(block['tool_use_id']))),
  )

const isResult = ({ type }: Found): boolean => type === 'tool_result'

/** Commands that become a prompt, as those of a project's own, begin with their message. */
const LOCAL = /^\s*<(?:command-name|local-command-\w+|bash-(?:input|stdout|stderr))>/

function lineOf(record: SessionRecord): Line {
  const found = objectOf(record.value)
  const type = stringOf(found['type']) || null
  const message = objectOf(found['message'])
  const blocks = blocksOf(message['content'], 'text')
  const isLocal = type === 'user' && LOCAL.test(textIn(message['content']))
  const isFailure = found['isApiErrorMessage'] === true
  return {
    record,
    found,
    type,
    uuid: stringOf(found['uuid']) || null,
    parent: stringOf(found['parentUuid']) || null,
    time: stringOf(found['timestamp']) || null,
    reply: type === 'assistant' && !isFailure ? stringOf(message['id']) || `reply-${record.line}` : null,
    message,
    blocks,
    isSide: found['isSidechain'] === true,
    isLocal,
    isTyped:
      type === 'user' &&
      !isLocal &&
      found['isMeta'] !== true &&
      found['isCompactSummary'] !== true &&
      found['isVisibleInTranscriptOnly'] !== true &&
      !blocks.some(isResult),
  }
}
