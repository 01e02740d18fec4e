/**
 * Reads where Claude Code has summed up what came before, but for the messages that it kept: newer versions name each
 * of them, older ones the first and the last.
 */

import { isToolResult } from '../../event/kinds.ts'
import { type Found, objectOf, stringOf } from '../../messages/found.ts'
import { textIn } from '../content.ts'
import type { Origin, Place, SessionWriter } from '../writer.ts'
import type { Line } from './lines.ts'

/**
 * Adds the summary behind a boundary, null where none stands in front of it. What was kept follows the summary, or
 * stands before it where it hangs on the boundary itself. Returns the last line that was kept, null where none was.
 * O(events in sight + messages kept).
 */
export function addSummary(
  line: Line,
  boundary: Line | null,
  lines: () => ReadonlyMap<string, Line>,
  writer: SessionWriter,
  origin: Origin,
): string | null {
  const { preservedMessages, preservedSegment } = objectOf(boundary?.found['compactMetadata'])
  const named = objectOf(preservedMessages ?? preservedSegment)
  const isKept = keptBy(named, lines)
  const sight = isKept === null ? [] : writer.inSight()
  const kept = isKept === null ? new Set<string>() : wholeReplies(sight, isKept)
  const isBefore = (boundary?.uuid ?? null) !== null && named['anchorUuid'] === boundary?.uuid
  writer.condense(kept, textIn(line.message['content']), origin, isBefore ? 'end' : 'front')
  const { uuids, tailUuid } = named
  const tail: unknown = Array.isArray(uuids) ? uuids.at(-1) : tailUuid
  return isKept === null ? null : stringOf(tail) || null
}

/** Which lines were kept, by their numbers; null where none was. */
function keptBy(named: Found, lines: () => ReadonlyMap<string, Line>): ((line: number) => boolean) | null {
  const { uuids, headUuid, tailUuid } = named
  const numberOf = (uuid: unknown): number | undefined => lines().get(stringOf(uuid))?.record.line
  if (Array.isArray(uuids)) {
    const numbers = new Set(uuids.map(numberOf))
    return (line) => numbers.has(line)
  }
  if (stringOf(headUuid) === '') return null
  const [head, tail] = [numberOf(headUuid), numberOf(tailUuid)]
  return head === undefined || tail === undefined ? null : (line) => head <= line && line <= tail
}

/** The events that were kept: of a reply of which a call was, all calls and their results. */
function wholeReplies(sight: readonly Place[], isKept: (line: number) => boolean): ReadonlySet<string> {
  const kept = new Set<string>()
  const replies = new Set<string>()
  const calls = new Set<string>()
  for (const { id, line, event } of sight) {
    if (!isKept(line)) continue
    kept.add(id)
    if (event?.kind === 'ActionEvent') replies.add(event.llm_response_id)
  }
  for (const { id, event } of sight) {
    if (event?.kind === 'ActionEvent' && replies.has(event.llm_response_id)) {
      calls.add(event.tool_call_id)
      kept.add(id)
    } else if (event !== null && isToolResult(event) && calls.has(event.tool_call_id)) kept.add(id)
  }
  return kept
}
