import type { Step, StepInput } from '../../src/conversation/run/step.ts'
import type { JsonObject } from '../../src/event/shapes.ts'
import type { ActionEvent, Event } from '../../src/event/types.ts'
import type { EventEntry } from '../../src/log/entry.ts'
import type { Agent } from '../../src/service/conversations/runs.ts'

/** A scripted reply: a text, calls that are executed together, or any event. */
export type ScriptedReply = string | { readonly calls: readonly ScriptedCall[] } | Event

/** A call. `echo` returns its arguments, `finish` ends the turn, any other tool returns an error result. */
export interface ScriptedCall {
  readonly tool: string
  readonly arguments?: JsonObject
  readonly security_risk?: 'UNKNOWN' | 'LOW' | 'MEDIUM' | 'HIGH'
}

/**
 * Returns an agent whose replies are scripted. After the script it repeats the user's last message. The position
 * in the script is derived from the conversation, so the agent continues after a restart.
 */
export function scriptedAgent(
  replies: readonly ScriptedReply[] = [],
): (...args: Partial<Parameters<Agent>>) => Step {
  return (): Step => (input) => (input.approved.length > 0 ? results(input) : scriptedReply(input, replies))
}

function* results({ approved }: StepInput): Generator<Event> {
  for (const call of approved) yield resultOf(call)
}

function* scriptedReply(
  input: StepInput,
  replies: readonly ScriptedReply[],
): Generator<Event | readonly Event[]> {
  const { messages, state } = input
  const next = replies[messages.filter(({ role }) => role === 'assistant').length] ?? lastUserText(input)
  if (typeof next === 'string') {
    for (const content of next.match(/\S+\s*/g) ?? []) {
      input.publish({ kind: 'StreamingDeltaEvent', source: 'agent', content })
    }
    yield {
      kind: 'MessageEvent',
      source: 'agent',
      llm_message: { role: 'assistant', content: [{ type: 'text', text: next }] },
    }
  } else if ('calls' in next) {
    // Unique in the conversation.
    const response = `scripted-${state.log.entries.length}`
    yield next.calls.map((call, index) => action(call, response, index))
  } else yield next
}

function lastUserText({ state }: StepInput): string {
  const event = state.branch.lastUserMessage?.event
  const content = event?.kind === 'MessageEvent' ? (event.llm_message.content ?? []) : []
  return content.map((part) => ('text' in part ? part.text : '')).join('') || 'Nothing was said.'
}

function action(
  { tool, arguments: args = {}, security_risk = 'LOW' }: ScriptedCall,
  response: string,
  index: number,
): ActionEvent {
  const id = `${response}-${index}`
  return {
    kind: 'ActionEvent',
    source: 'agent',
    thought: [],
    action:
      tool === 'finish'
        ? { kind: 'FinishAction', message: String(args['message'] ?? 'Done.') }
        : { kind: 'EchoAction', ...args },
    tool_name: tool,
    tool_call_id: id,
    tool_call: { id, name: tool, arguments: JSON.stringify(args), origin: 'completion' },
    llm_response_id: response,
    security_risk,
  }
}

function resultOf({ id, event }: EventEntry<ActionEvent>): Event {
  const { tool_name, tool_call_id, tool_call } = event
  if (tool_name !== 'echo' && tool_name !== 'finish') {
    return {
      kind: 'AgentErrorEvent',
      source: 'agent',
      tool_name,
      tool_call_id,
      error: `Unknown tool ${JSON.stringify(tool_name)}. The scripted agent has echo and finish.`,
    }
  }
  return {
    kind: 'ObservationEvent',
    source: 'environment',
    tool_name,
    tool_call_id,
    action_id: id,
    observation: {
      kind: tool_name === 'finish' ? 'FinishObservation' : 'EchoObservation',
      content: [{ type: 'text', text: tool_call.arguments }],
    },
  }
}
