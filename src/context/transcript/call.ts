/** The block of a tool call with its result. */

import { hasText } from '../../event/text.ts'
import type { ActionEvent, ToolResultEvent } from '../../event/types.ts'
import { resultMessage } from '../../messages/tool-result.ts'
import { shownOf } from '../said-text.ts'
import type { ToolBlock } from './tool-block.ts'

/** The block of a call; the result is null where there is none. */
export function callBlock(call: ActionEvent, result: ToolResultEvent | null): ToolBlock {
  const output = result === null ? '' : shownOf(resultMessage(result, call).content).join('\n')
  return {
    name: call.tool_name,
    status: statusOf(result),
    sections: [
      ['input', inputOf(call)],
      ['output', hasText(output) ? output : null],
    ],
  }
}

/** What a finish call says to the user; null for any other call. */
export function finishText({ tool_name, action }: ActionEvent): string | null {
  const message = tool_name === 'finish' ? action?.['message'] : null
  return typeof message === 'string' && hasText(message) ? message : null
}

function statusOf(result: ToolResultEvent | null): string {
  if (result === null) return 'no result'
  if (result.kind === 'UserRejectObservation') return 'rejected'
  return result.kind === 'AgentErrorEvent' || result.observation.is_error === true ? 'failed' : 'completed'
}

/** The fields of the action that say something, as JSON; of a call that could never run, its arguments. */
function inputOf({ action, tool_call }: ActionEvent): string | null {
  if ((action ?? null) === null) return hasText(tool_call.arguments) ? tool_call.arguments : null
  const fields = Object.entries(action ?? {}).filter(([name, value]) => name !== 'kind' && value !== null)
  return fields.length === 0 ? null : JSON.stringify(Object.fromEntries(fields))
}
