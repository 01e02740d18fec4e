/** Forgotten units in words for the summariser. */

import { isImagePart, isTextPart, wordsIn, type Content } from '../../event/shapes.ts'
import type { ActionEvent } from '../../event/types.ts'
import { partName } from '../../messages/placeholder.ts'
import { renderMessage } from '../../messages/render-message.ts'
import { resultMessage } from '../../messages/tool-result.ts'
import type { CallResult, MessageUnit, Unit } from '../../view/unit.ts'

/** One event as the summariser reads it. */
export interface SummaryEvent {
  readonly id: string
  /** Who says it, or what it is: `user`, `assistant`, `call of ls`, `result of ls`, `error of ls`. */
  readonly label: string
  readonly text: string
}

/** Summaries that stand among the units, in full, and every other event with its full text. O(content). */
export function textsOf(units: readonly Unit[]): { summaries: string[]; events: SummaryEvent[] } {
  const summaries: string[] = []
  const events: SummaryEvent[] = []
  for (const unit of units) {
    if (unit.type === 'batch') {
      for (const { id, event } of unit.calls)
        events.push({ id, label: `call of ${event.tool_name}`, text: ofCall(event) })
      for (const result of unit.results) events.push(ofResult(result))
    } else if (unit.item.event.kind === 'CondensationSummaryEvent') summaries.push(unit.item.event.summary)
    else events.push(ofMessage(unit))
  }
  return { summaries, events }
}

/** What the model thought aloud, then the arguments as it wrote them. */
function ofCall({ thought, tool_call }: ActionEvent): string {
  return [textOf(thought), tool_call.arguments].filter((text) => text !== '').join('\n')
}

/** The result as the model saw it, an error by its leading line. */
function ofResult({ entry, call }: CallResult): SummaryEvent {
  const { content, name, is_error } = resultMessage(entry.event, call.event)
  return { id: entry.id, label: `${is_error ? 'error' : 'result'} of ${name}`, text: textOf(content) }
}

function ofMessage({ item: { id, event } }: MessageUnit): SummaryEvent {
  if (event.kind === 'SystemPromptEvent') return { id, label: 'system', text: textOf([event.system_prompt]) }
  const said = renderMessage(event)
  return { id, label: said?.message.role ?? 'note', text: textOf(said?.message.content ?? []) }
}

const textOf = (content: readonly Content[]): string => content.map(textOfPart).join('\n')

/** A part of another kind by its name, and the words in it. */
function textOfPart(part: Content): string {
  if (isTextPart(part)) return part.text
  return isImagePart(part) ? '[image]' : [`[${partName(part)}]`, ...wordsIn(part)].join('\n')
}
