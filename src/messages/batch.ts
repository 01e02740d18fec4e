/** Writes a tool batch: one reply of the model with its calls and answers goes in, the assistant message and one tool message per call come out. */

import type { ActionEvent } from '../event/types.ts'
import type { BatchUnit } from '../view/unit.ts'
import type { AssistantMessage, NeutralToolCall, ToolMessage } from './message.ts'
import { isBlank } from './text.ts'
import { closedMessage, resultMessage } from './tool-result.ts'

/** How a batch is written. */
export interface BatchOptions {
  /** The reason given to calls without an answer. */
  readonly reason: string
  readonly maxResultLength?: number
}

/** The messages of a batch: the reply, the answers in their order, then what closes the calls that have none. O(content). */
export function* batchMessages(
  batch: BatchUnit,
  options: BatchOptions,
): IterableIterator<AssistantMessage | ToolMessage> {
  yield reply([...batch.calls].map((entry) => entry.event))
  const answered = new Set<number>()
  for (const { entry, call } of batch.answers) {
    answered.add(call.seq)
    yield resultMessage(entry.event, call.event, options.maxResultLength)
  }
  for (const call of batch.calls) {
    if (!answered.has(call.seq)) yield closedMessage(call.event, options.reason)
  }
}

/** One message with what all actions of a reply say and call. */
function reply(actions: readonly ActionEvent[]): AssistantMessage {
  const reasons = actions.flatMap(({ reasoning_content }) =>
    typeof reasoning_content === 'string' && !isBlank(reasoning_content) ? [reasoning_content] : [],
  )
  return {
    role: 'assistant',
    content: actions.flatMap((action) => action.thought),
    tool_calls: actions.map(toolCall),
    reasoning_content: reasons.length === 0 ? null : reasons.join('\n\n'),
    thinking_blocks: actions.flatMap((action) => action.thinking_blocks ?? []),
    responses_reasoning_item: null,
  }
}

/** The call as the model wrote it, under the id and in want of a name the name that the log knows it by. */
function toolCall({
  tool_call,
  tool_call_id,
  tool_name,
  responses_reasoning_item,
}: ActionEvent): NeutralToolCall {
  return {
    id: tool_call_id,
    name: isBlank(tool_call.name) ? tool_name : tool_call.name,
    arguments: tool_call.arguments,
    origin: tool_call.origin,
    responses_item_id: tool_call.responses_item_id ?? null,
    responses_reasoning_item: responses_reasoning_item ?? null,
  }
}
