/** Puts the lines of a reply of Claude Code together again: each holds a block of it, and some are written twice. */

import { type Found, stringOf } from '../../messages/found.ts'
import { fromAnthropic } from '../../messages/anthropic/read.ts'
import type { HasResult, Origin, SessionWriter } from '../writer.ts'
import type { Line } from './lines.ts'

interface Block {
  readonly block: Found
  readonly origin: Origin
}

/** Adds a reply from all its lines. O(size). */
export function addReply(
  id: string,
  lines: readonly Line[],
  writer: SessionWriter,
  hasResult: HasResult,
): void {
  const blocks = blocksOf(lines, writer)
  const last = lines.at(-1)?.message
  const first = lines[0]?.record.line ?? 0
  if (blocks.length === 0) return writer.note('replies without content', first)
  const calls: Origin[] = []
  for (const { block, origin } of blocks) if (block['type'] === 'tool_use') calls.push(origin)
  const stop = lines.findLast(({ message }) => stringOf(message['stop_reason']) !== '')
  const reply = fromAnthropic({
    ...last,
    id,
    content: blocks.map(({ block }) => block),
    // Older versions write it on the last line alone, and none where the reply was stopped.
    stop_reason: stop?.message['stop_reason'] ?? (calls.length > 0 ? 'tool_use' : 'end_turn'),
  } as Parameters<typeof fromAnthropic>[0])
  writer.reply(reply, calls.length > 0 ? calls : blocks.map(({ origin }) => origin), hasResult)
}

/** The blocks in their order, each once: a reply that is written anew has other lines, and the same blocks. */
function blocksOf(lines: readonly Line[], writer: SessionWriter): Block[] {
  const blocks: Block[] = []
  for (const { record, uuid, time, blocks: all } of lines) {
    for (let at = 0; at < all.length; at += 1) {
      const block = all[at] ?? {}
      const id = uuid === null || at === 0 ? uuid : `${uuid}.${at}`
      blocks.push({ block, origin: { line: record.line, id, time } })
    }
  }
  if (blocks.length < 2) return blocks
  const sizes = new Set<string | number>()
  for (const { block } of blocks) sizes.add(sizeOf(block))
  if (sizes.size === blocks.length) return blocks
  // Only where two are as long as each other, their words are looked at.
  const seen = new Set<string>()
  return blocks.filter(({ block, origin }) => {
    const key = keyOf(block)
    if (seen.has(key)) writer.note('written twice: a block of a reply', origin.line)
    else return seen.add(key)
    return false
  })
}

/** Two blocks that are one have it in common, and few others do. */
function sizeOf({ type, id, text, thinking }: Found): string | number {
  if (type === 'tool_use') return stringOf(id)
  const words = type === 'text' ? text : type === 'thinking' ? thinking : undefined
  return typeof words === 'string' ? words.length : ''
}

/** Two blocks of one reply that have it in common are one. Thinking without words differs by its signature. */
function keyOf(block: Found): string {
  const { type, id, text, thinking, signature } = block
  if (type === 'tool_use') return `call ${stringOf(id)}`
  if (type === 'thinking' && typeof thinking === 'string')
    return `thinking ${JSON.stringify(signature ?? '')} ${thinking}`
  return type === 'text' && typeof text === 'string' ? `text ${text}` : JSON.stringify(block)
}
