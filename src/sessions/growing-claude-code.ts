import { objectOf, stringOf } from '../messages/text.ts'
import { type Chain, type Line, lineOf, originOf, readLine, type SplitReply, Turns } from './claude-code.ts'
import type { SessionFact, SessionRecord } from './session.ts'
import { SessionWriter } from './writer.ts'

export interface ReadLines {
  readonly facts: readonly SessionFact[]
  readonly title: string | null
  readonly subagents: readonly (readonly [agent: string, actionId: string])[]
}

/**
 * Returns a reader of a growing session: each call returns the next lines' facts. Final lines of unfinished
 * thinking wait for the next call. Replies continued after a result become separate; side chains in the
 * session's own file are omitted. Deterministic. O(new lines).
 * @param childOf the conversation of a subagent, by its id
 */
export function growingClaudeCode(
  childOf: (agent: string) => string,
): (records: readonly SessionRecord[]) => ReadLines {
  const writer = new SessionWriter()
  const lines: Line[] = []
  const replies = new Map<Line, SplitReply>()
  const agents = new Map<string, string>()
  const chain: Chain = {
    writer,
    // A result may still follow.
    hasResult: () => true,
    childOf(callId) {
      const agent = agents.get(callId)
      return agent === undefined ? undefined : childOf(agent)
    },
    turns: new Turns(writer, lines),
    replies,
    titles: [],
    named: () => new Map(lines.map((line) => [line.uuid ?? '', line])),
    boundary: null,
  }
  const counts = new Map<string, number>()
  let isSide: boolean | null = null
  let waiting: Line[] = []
  let last: Line | null = null
  return (records) => {
    for (const line of records.map(lineOf)) {
      if (line.uuid !== null) isSide ??= line.isSide
      if (line.uuid === null || line.isSide === isSide) waiting.push(line)
    }
    const complete = waiting.slice(0, completeLength(waiting))
    waiting = waiting.slice(complete.length)
    for (const line of complete) {
      if (line.reply !== null) replies.set(line, growingReply(line, last, replies, counts))
      if (line.uuid !== null) last = line
      lines.push(line)
    }
    chain.turns.addLines()
    const start = writer.facts.length
    const known = agents.size
    for (const line of complete) {
      const agent = stringOf(objectOf(line.fields['toolUseResult'])['agentId'])
      if (agent !== '') for (const { tool_use_id: callId } of line.blocks) agents.set(stringOf(callId), agent)
      chain.turns.resume(line, { ...originOf(line), id: null })
      readLine(line, chain)
      chain.turns.finish(line)
    }
    const subagents = [...agents].slice(known).flatMap(([callId, agent]) => {
      const actionId = writer.actionOf(callId)
      return actionId === null ? [] : [[agent, actionId] as const]
    })
    return { facts: writer.facts.slice(start), title: chain.titles.at(-1) ?? null, subagents }
  }
}

/** Number of lines before a reply at the end that must have more blocks. */
function completeLength(lines: readonly Line[]): number {
  const last = lines.findLast(({ uuid }) => uuid !== null)
  const type = last?.blocks.at(-1)?.['type']
  const isThinking = type === 'thinking' || type === 'redacted_thinking'
  const isBeforeCall = type === 'text' && last?.message['stop_reason'] === 'tool_use'
  if (last === undefined || last.reply === null || !(isThinking || isBeforeCall)) return lines.length
  const before = lines.findLastIndex(({ uuid, reply }) => uuid !== null && reply !== last.reply)
  return lines.findIndex(({ reply }, index) => index > before && reply === last.reply)
}

/** The reply of a line: the same until written, or until something else followed. */
function growingReply(
  line: Line,
  last: Line | null,
  replies: ReadonlyMap<Line, SplitReply>,
  counts: Map<string, number>,
): SplitReply {
  const name = line.reply ?? ''
  const count = counts.get(name) ?? 0
  const current = last?.reply === name ? replies.get(last) : undefined
  if (current !== undefined && !current.isWritten) {
    current.lines.push(count === 1 ? line : withoutUsage(line))
    return current
  }
  const isNextCall = [last, line].every((one) => one?.blocks.at(-1)?.['type'] === 'tool_use')
  if (current !== undefined && isNextCall)
    return { ...current, lines: [withoutUsage(line)], isWritten: false }
  counts.set(name, count + 1)
  return count === 0
    ? { id: name, request: '', lines: [line], isWritten: false }
    : { id: `${name}~${count + 1}`, request: '', lines: [withoutUsage(line)], isWritten: false }
}

/** Each line repeats the usage of the whole reply, which counts once. */
function withoutUsage(line: Line): Line {
  const { usage: _, ...message } = line.message
  return { ...line, message }
}
