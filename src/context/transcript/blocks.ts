/** A branch in blocks of text, the newest first, read only as far as wanted. */

import { maskSecrets } from '../../event/mask.ts'
import { hasText } from '../../event/text.ts'
import type { ActionEvent, ToolResultEvent, MessageEvent } from '../../event/types.ts'
import { isToolResult, type EventKind } from '../../event/kinds.ts'
import { type Entry, type EventEntry, loadedEvent } from '../../log/entry.ts'
import { callsEnded } from '../../state/read.ts'
import type { State } from '../../state/state.ts'
import { ellipsize } from '../ellipsize.ts'
import { textsOf } from '../said-text.ts'
import { acpBlock } from './acp.ts'
import { callBlock, finishText } from './call.ts'
import { toolText } from './tool-block.ts'

/** How long a block may be, in UTF-16 units. */
export interface BlockLimits {
  readonly maxMessage: number
  readonly maxTool: number
}

/**
 * What is shown. A result is read beside its call: where its body was evicted, that of its call was too, or it ends
 * none.
 */
const TOLD: readonly EventKind[] = ['MessageEvent', 'ActionEvent', 'ACPToolCallEvent']

/**
 * The blocks of HEAD's branch, the newest first. O(view), and O(log n) for each event that is read. @throws
 * ColloquyError `evicted`.
 */
export function* blocksOf(state: State, limits: BlockLimits): IterableIterator<string> {
  const callOf = callsEnded(state)
  const results = new Map<number, ToolResultEvent>()
  const told = new Set<string>()
  for (let entry: Entry | null = state.log.head; entry !== null; entry = entry.parent) {
    const event = loadedEvent(entry, TOLD)
    if (event === null) continue
    if (isToolResult(event)) {
      const call = callOf(entry as EventEntry<ToolResultEvent>)
      if (call !== null) results.set(call, event)
    } else if (event.kind === 'ActionEvent') {
      yield* callTexts(maskSecrets(event), maskSecrets(results.get(entry.seq) ?? null), limits)
    } else if (event.kind === 'MessageEvent') {
      // A call that goes on beyond a message is shown on both sides of it.
      told.clear()
      yield* messageTexts(maskSecrets(event), limits)
    } else if (event.kind === 'ACPToolCallEvent' && !told.has(event.tool_call_id)) {
      const block = acpBlock(maskSecrets(event))
      if (block === null) continue
      told.add(event.tool_call_id)
      yield* some(toolText(block, limits.maxTool))
    }
  }
}

function* messageTexts({ source, llm_message, extended_content }: MessageEvent, limits: BlockLimits) {
  const text = textsOf([...(llm_message.content ?? []), ...(extended_content ?? [])]).join('\n')
  const isSaid = source === 'user' || source === 'agent'
  const who = !isSaid ? 'ENVIRONMENT' : llm_message.role === 'user' ? 'USER' : 'ASSISTANT'
  yield* said(who, text, limits)
}

/** What the agent thought stands before what it did, so it comes after it here. */
function* callTexts(call: ActionEvent, result: ToolResultEvent | null, limits: BlockLimits) {
  const finish = finishText(call)
  if (finish === null) yield* some(toolText(callBlock(call, result), limits.maxTool))
  else yield* said('AGENT', finish, limits)
  yield* said('ASSISTANT', textsOf(call.thought).join('\n'), limits)
}

function* said(who: string, text: string, { maxMessage }: BlockLimits): IterableIterator<string> {
  const shown = ellipsize(text.trim(), maxMessage)
  if (hasText(shown)) yield `[${who}]: ${shown}`
}

function* some(text: string): IterableIterator<string> {
  if (hasText(text)) yield text
}
