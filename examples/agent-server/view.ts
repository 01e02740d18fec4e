/** Writes the branch as Chat Completions messages. Each reply directly follows the events of its request. */

import { type Call, isResult, type Log, type LogEvent } from './log.ts'

export type ChatMessage = Readonly<Record<string, unknown>>

/** A message, or a reply's calls with their results. */
interface Unit {
  readonly events: LogEvent[]
  readonly response: string | null
}

interface Content {
  readonly text?: string
}

const textOf = (parts: unknown): string =>
  (Array.isArray(parts) ? (parts as readonly Content[]) : []).map(({ text = '' }) => text).join('')

const messageOf = ({ llm_message }: LogEvent) =>
  llm_message as { readonly content: readonly Content[]; readonly reply?: { readonly after: string | null } }

/** The id of the event at HEAD when the reply was requested. */
function requestedAfter(event: LogEvent): string | null | undefined {
  const record = event.kind === 'ActionEvent' ? event['tool_call'] : event['llm_message']
  return (record as { readonly reply?: { readonly after: string | null } } | undefined)?.reply?.after
}

/** Returns the branch as units in the model's order. A reply precedes messages appended after its request. */
function unitsOf(log: Log): Unit[] {
  const units: Unit[] = []
  for (const event of log.branch()) {
    if (isResult(event)) {
      const open = units.findLast(({ events }) => events.some((call) => isCallOf(call, event)))
      open?.events.push(event)
      continue
    }
    if (event.kind !== 'ActionEvent' && event.kind !== 'MessageEvent' && event.kind !== 'SystemPromptEvent')
      continue
    const response = event.kind === 'ActionEvent' ? (event as Call).llm_response_id : null
    const batch = response === null ? undefined : units.find((unit) => unit.response === response)
    if (batch !== undefined) {
      batch.events.push(event)
      continue
    }
    const after = requestedAfter(event)
    const seen = after === undefined ? Infinity : after === null ? -1 : log.positionOf(after)
    let position = units.length
    while (position > 0 && isLater(units[position - 1], seen, log)) position -= 1
    units.splice(position, 0, { events: [event], response })
  }
  return units
}

const isLater = (unit: Unit | undefined, seen: number, log: Log): boolean => {
  const first = unit?.events[0]
  return first?.source === 'user' && log.positionOf(first.id) > seen
}

const isCallOf = (call: LogEvent, result: LogEvent): boolean =>
  call.kind === 'ActionEvent' &&
  (result['action_id'] === undefined
    ? call['tool_call_id'] === result['tool_call_id']
    : call.id === result['action_id'])

function resultText(event: LogEvent): string {
  if (event.kind === 'UserRejectObservation') return `Rejected: ${String(event['rejection_reason'])}`
  if (event.kind === 'AgentErrorEvent') return `Error: ${String(event['error'])}`
  return textOf((event['observation'] as { readonly content: unknown }).content)
}

/** Wraps arguments in an object if they are not an object, because providers accept only objects. */
function asObject(text: string): string {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return text
  } catch {
    // Invalid JSON.
  }
  return JSON.stringify({ _raw: text })
}

/** Returns the messages of the branch. Leaves out a reply while one of its calls is pending. */
export function messagesOf(log: Log): ChatMessage[] {
  return unitsOf(log).flatMap(({ events }): ChatMessage[] => {
    const [first] = events
    if (first === undefined) return []
    if (first.kind === 'SystemPromptEvent')
      return [{ role: 'system', content: textOf([first['system_prompt']]) }]
    if (first.kind === 'MessageEvent') {
      const role = first.source === 'agent' ? 'assistant' : 'user'
      return [{ role, content: textOf(messageOf(first).content) }]
    }
    const calls = events.filter(({ kind }) => kind === 'ActionEvent') as Call[]
    const results = events.filter(isResult)
    if (results.length < calls.length) return []
    return [
      {
        role: 'assistant',
        content: textOf(first['thought']),
        tool_calls: calls.map(({ tool_call_id: id, tool_name: name, tool_call }) => ({
          id,
          type: 'function',
          function: { name, arguments: asObject(tool_call.arguments) },
        })),
      },
      ...results.map((result) => ({
        role: 'tool',
        tool_call_id: result['tool_call_id'],
        content: resultText(result),
      })),
    ]
  })
}

/**
 * Whether the model has nothing to reply to: the branch is empty, or ends with a system prompt or an agent's
 * message.
 */
export function isTurnOver(log: Log): boolean {
  const last = unitsOf(log).at(-1)?.events[0]
  return (
    last === undefined ||
    last.kind === 'SystemPromptEvent' ||
    (last.source === 'agent' && last.kind === 'MessageEvent')
  )
}
