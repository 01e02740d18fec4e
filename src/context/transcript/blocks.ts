/** Tells a branch in blocks of text: a state goes in, what was said and done comes out, the newest first, as far as anyone reads. */

import { maskSecrets } from '../../event/mask.ts'
import { hasText } from '../../event/text.ts'
import type { ActionEvent, AnswerEvent, MessageEvent } from '../../event/types.ts'
import { isAnswer, type EventKind } from '../../event/kinds.ts'
import type { Entry, EventEntry } from '../../log/entry.ts'
import { logPrefix } from '../../log/log.ts'
import { matchAnswer } from '../../log/pairing.ts'
import { branchOf, type State } from '../../state/state.ts'
import { cutEnd } from '../cut.ts'
import { heldEvent } from '../held.ts'
import { textsOf } from '../said-text.ts'
import { acpBlock } from './acp.ts'
import { callBlock, finishText } from './call.ts'
import { toolText } from './tool-block.ts'

/** How long a block may be, in UTF-16 units. */
export interface BlockLimits {
  readonly maxMessage: number
  readonly maxTool: number
}

/** What is told. An answer is read beside its call: where its body was let go, that of its call was too, or it answers none. */
const TOLD: readonly EventKind[] = ['MessageEvent', 'ActionEvent', 'ACPToolCallEvent']

/** The blocks of HEAD's branch, the newest first. O(view), and O(log n) for each event that is read. @throws ColloquyError `not_held`. */
export function* blocksOf(state: State, limits: BlockLimits): IterableIterator<string> {
  const callOf = pairing(state)
  const answers = new Map<number, AnswerEvent>()
  const told = new Set<string>()
  for (let entry: Entry | null = state.log.head; entry !== null; entry = entry.parent) {
    const event = heldEvent(entry, TOLD)
    if (event === null) continue
    if (isAnswer(event)) {
      const call = callOf(entry as EventEntry<AnswerEvent>)
      if (call !== null) answers.set(call, event)
    } else if (event.kind === 'ActionEvent') {
      yield* callTexts(maskSecrets(event), maskSecrets(answers.get(entry.seq) ?? null), limits)
    } else if (event.kind === 'MessageEvent') {
      // A call that goes on beyond a message is told on both sides of it.
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

/** The position of the call that an answer answers, as the fold has it; null for an answer that answers nothing. */
function pairing({ log, branch }: State): (answer: EventEntry<AnswerEvent>) => number | null {
  const calls = new Map<number, number>()
  for (const unit of branch.view.units) {
    if (unit.type === 'batch') for (const { entry, call } of unit.answers) calls.set(entry.seq, call.seq)
  }
  return (answer) => {
    const known = calls.get(answer.seq)
    if (known !== undefined) return known
    // It was forgotten, or answers nothing: asked as the fold asked, of the log as it was.
    const found = matchAnswer(logPrefix(log, answer.seq, null), branchOf(answer.parent).openCalls, answer)
    return found === null || typeof found === 'string' ? null : found.entry.seq
  }
}

function* messageTexts({ source, llm_message, extended_content }: MessageEvent, limits: BlockLimits) {
  const text = textsOf([...(llm_message.content ?? []), ...(extended_content ?? [])]).join('\n')
  const isSaid = source === 'user' || source === 'agent'
  const who = !isSaid ? 'ENVIRONMENT' : llm_message.role === 'user' ? 'USER' : 'ASSISTANT'
  yield* said(who, text, limits)
}

/** What the agent thought stands before what it did, so it comes after it here. */
function* callTexts(call: ActionEvent, answer: AnswerEvent | null, limits: BlockLimits) {
  const finish = finishText(call)
  if (finish === null) yield* some(toolText(callBlock(call, answer), limits.maxTool))
  else yield* said('AGENT', finish, limits)
  yield* said('ASSISTANT', textsOf(call.thought).join('\n'), limits)
}

function* said(who: string, text: string, { maxMessage }: BlockLimits): IterableIterator<string> {
  const shown = cutEnd(text.trim(), maxMessage)
  if (hasText(shown)) yield `[${who}]: ${shown}`
}

function* some(text: string): IterableIterator<string> {
  if (hasText(text)) yield text
}
