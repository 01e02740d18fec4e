import { type ActivityMessage, type AGUIEvent, EventType } from '@ag-ui/core'
import { PROGRESS_KEY } from '../event/completion.ts'
import { isObject } from '../event/json.ts'
import { maskSecrets } from '../event/mask.ts'
import type { JsonValue } from '../event/shapes.ts'
import type { ConversationStateUpdateEvent, Event } from '../event/types.ts'
import type { UIChunk, UIPart, UIToolPart } from '../messages/ui/types.ts'

export const SHARED_STATE = 'ag_ui.state'

/**
 * Returns a function that translates the chunks of one stream. A null chunk ends open parts. The argument `to`
 * is the prefix of the ids of texts and reasoning. `parts` are the parts of the reply that the client already
 * has. Streamed messages never have event ids. With event ids, a client would keep the messages at their
 * streamed positions when the final snapshot arrives.
 */
export function chunkTranslator(
  to: string,
  parts: readonly UIPart[],
): (chunk: UIChunk | null) => AGUIEvent[] {
  const open = new Map<string, 'reasoning' | 'text'>()
  const ended = new Set(parts.flatMap((part) => (hasOutput(part) ? [part.toolCallId] : [])))
  let steps = 0
  let isStepOpen = false
  const endStep = (): AGUIEvent[] => {
    const events: AGUIEvent[] = isStepOpen
      ? [{ type: EventType.STEP_FINISHED, stepName: `step-${steps}` }]
      : []
    isStepOpen = false
    return events
  }
  const end = (messageId: string): AGUIEvent[] => {
    const type = open.get(messageId)
    open.delete(messageId)
    if (type === undefined) return []
    if (type === 'text') return [{ type: EventType.TEXT_MESSAGE_END, messageId }]
    return [
      { type: EventType.REASONING_MESSAGE_END, messageId },
      { type: EventType.REASONING_END, messageId },
    ]
  }
  /** Returns an event only for a call's first result. Clients would add a second result as a new message. */
  const result = (toolCallId: string, output: JsonValue = null): AGUIEvent[] => {
    if (ended.has(toolCallId)) return []
    ended.add(toolCallId)
    const content = typeof output === 'string' ? output : JSON.stringify(output)
    const messageId = `${toolCallId}-result`
    return [{ type: EventType.TOOL_CALL_RESULT, messageId, toolCallId, role: 'tool', content }]
  }
  return (chunk) => {
    if (chunk === null || chunk.type === 'finish') return [...[...open.keys()].flatMap(end), ...endStep()]
    // A text has the id `${to}-text-…`, and reasoning the id `${to}-reasoning-…`.
    const messageId = 'id' in chunk ? `${to}-${chunk.type.split('-')[0]}-${chunk.id}` : ''
    switch (chunk.type) {
      case 'start-step': {
        const ended = endStep()
        steps += 1
        isStepOpen = true
        return [...ended, { type: EventType.STEP_STARTED, stepName: `step-${steps}` }]
      }
      case 'text-start':
        open.set(messageId, 'text')
        return [{ type: EventType.TEXT_MESSAGE_START, messageId, role: 'assistant' }]
      case 'text-delta':
        return [{ type: EventType.TEXT_MESSAGE_CONTENT, messageId, delta: chunk.delta }]
      case 'reasoning-start':
        open.set(messageId, 'reasoning')
        return [
          { type: EventType.REASONING_START, messageId },
          { type: EventType.REASONING_MESSAGE_START, messageId, role: 'reasoning' },
        ]
      case 'reasoning-delta':
        return [{ type: EventType.REASONING_MESSAGE_CONTENT, messageId, delta: chunk.delta }]
      case 'text-end':
      case 'reasoning-end':
        return end(messageId)
      case 'tool-input-available': {
        const { toolCallId, toolName, input } = chunk
        const parentMessageId = `${to}-call-${toolCallId}`
        return [
          { type: EventType.TOOL_CALL_START, toolCallId, toolCallName: toolName, parentMessageId },
          { type: EventType.TOOL_CALL_ARGS, toolCallId, delta: JSON.stringify(input) },
          { type: EventType.TOOL_CALL_END, toolCallId },
        ]
      }
      case 'tool-output-available': {
        const { toolCallId, output, preliminary } = chunk
        return result(toolCallId, preliminary === true && isObject(output) ? output['content'] : output)
      }
      case 'tool-output-error':
        return result(chunk.toolCallId, chunk.errorText)
      case 'tool-output-denied':
        return result(chunk.toolCallId, 'rejected')
      default:
        return []
    }
  }
}

const hasOutput = (part: UIPart): part is UIToolPart =>
  'toolCallId' in part && part.state.startsWith('output-')

export type LogDetail = 'encrypted' | 'raw' | 'updates'

/** Returns AG-UI events for the content of a logged event that was not in the streamed chunks of its reply. */
export function eventsOfLogged(
  event: Event,
  activity: ActivityMessage | undefined,
  details: ReadonlySet<LogDetail>,
): AGUIEvent[] {
  const shown = maskSecrets(event)
  const events: AGUIEvent[] = details.has('raw')
    ? [{ type: EventType.RAW, event: shown, source: 'colloquy' }]
    : []
  if (activity !== undefined) {
    const { id, activityType, content } = activity
    events.push({ type: EventType.ACTIVITY_SNAPSHOT, messageId: `${id}-live`, activityType, content })
  }
  if (shown.kind === 'ConversationStateUpdateEvent')
    events.push(...eventsOfUpdate(shown, details.has('updates')))
  const isCall = event.kind === 'ActionEvent'
  if (details.has('encrypted') && (isCall || event.kind === 'MessageEvent')) {
    const { thinking_blocks: blocks = [], responses_reasoning_item: item } = isCall
      ? event
      : event.llm_message
    const signatures = blocks.map((block) => ('data' in block ? block.data : block.signature))
    const owner = { subtype: isCall ? 'tool-call' : 'message', entityId: event.id ?? '' } as const
    for (const encryptedValue of [...signatures, item?.encrypted_content])
      if (typeof encryptedValue === 'string')
        events.push({ type: EventType.REASONING_ENCRYPTED_VALUE, ...owner, encryptedValue })
  }
  return events
}

function eventsOfUpdate(
  { key, value = null }: ConversationStateUpdateEvent,
  hasUpdates: boolean,
): AGUIEvent[] {
  if (key === SHARED_STATE)
    return [{ type: EventType.STATE_DELTA, delta: [{ op: 'replace', path: '', value }] }]
  if (key !== PROGRESS_KEY || !isObject(value as JsonValue))
    return hasUpdates ? [{ type: EventType.CUSTOM, name: String(key), value }] : []
  const { action_id, ...progress } = value as Record<string, JsonValue>
  const activity = { messageId: `${String(action_id)}-progress`, activityType: 'progress' }
  const content = { toolCallId: action_id }
  const patch = Object.entries(progress).map(([name, entry]) => {
    return { op: 'add' as const, path: `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`, value: entry }
  })
  return [
    { type: EventType.ACTIVITY_SNAPSHOT, ...activity, content, replace: false },
    { type: EventType.ACTIVITY_DELTA, ...activity, patch },
  ]
}
