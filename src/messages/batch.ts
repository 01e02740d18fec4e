/**
 * Writes a tool batch, one reply of the model with its calls and results, as the assistant message and one tool message
 * per call.
 */

import type { ActionEvent } from '../event/types.ts'
import type { BatchUnit } from '../view/unit.ts'
import { keptBeside } from './kept-beside.ts'
import type { AssistantMessage, NeutralToolCall, ToolMessage } from './message.ts'
import { withReply } from './render-message.ts'
import { isWhitespace } from './text.ts'
import { closedMessage, resultMessage } from './tool-result.ts'

/** How a batch is written. */
export interface BatchOptions {
  /** The reason given to calls without a result. */
  readonly reason: string
  readonly maxResultLength?: number
}

/**
 * The messages of a batch: the reply, the results in their order, then what closes the calls that have none.
 * O(content).
 */
export function* batchMessages(
  batch: BatchUnit,
  options: BatchOptions,
): IterableIterator<AssistantMessage | ToolMessage> {
  yield reply([...batch.calls].map((entry) => entry.event))
  const results = new Set<number>()
  for (const { entry, call } of batch.results) {
    results.add(call.seq)
    yield resultMessage(entry.event, call.event, options.maxResultLength)
  }
  for (const call of batch.calls) {
    if (!results.has(call.seq)) yield closedMessage(call.event, options.reason)
  }
}

/** One message with what all actions of a reply say and call. */
function reply(actions: readonly ActionEvent[]): AssistantMessage {
  const [first] = actions
  const reasons = actions.flatMap(({ reasoning_content }) =>
    typeof reasoning_content === 'string' && !isWhitespace(reasoning_content) ? [reasoning_content] : [],
  )
  return {
    role: 'assistant',
    content: actions.flatMap((action) => action.thought),
    tool_calls: actions.map(toolCall),
    reasoning_content: reasons.length === 0 ? null : reasons.join('\n\n'),
    thinking_blocks: actions.flatMap((action) => action.thinking_blocks ?? []),
    responses_reasoning_item: null,
    ...(first === undefined ? {} : withReply(first)),
  }
}

/** The calls of actions seen before, so that what is known of their arguments stays beside them. */
const toolCall = /* @__PURE__ */ keptBeside((action: ActionEvent) => Object.freeze(readCall(action)))

/** The call as the model wrote it, under the id and in want of a name the name that the log knows it by. */
function readCall({
  tool_call,
  tool_call_id,
  tool_name,
  responses_reasoning_item,
}: ActionEvent): NeutralToolCall {
  return {
    id: tool_call_id,
    name: isWhitespace(tool_call.name) ? tool_name : tool_call.name,
    arguments: tool_call.arguments,
    origin: tool_call.origin,
    responses_item_id: tool_call.responses_item_id ?? null,
    responses_reasoning_item: responses_reasoning_item ?? null,
  }
}
