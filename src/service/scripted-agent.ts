/** An agent that gives a list of replies one after the other, for demonstrations and tests. */

import type { Step, StepInput } from '../conversation/run/step.ts'
import type { JsonObject } from '../event/shapes.ts'
import type { ActionEvent, Event } from '../event/types.ts'
import type { EventEntry } from '../log/entry.ts'
import type { Agent } from './conversations/runs.ts'

/** One reply: a text; calls of tools, executed together; or any event. */
export type ScriptedReply = string | { readonly calls: readonly ScriptedCall[] } | Event

/** A call of a tool. `echo` says its arguments again, `finish` ends the work; any other is an error. */
export interface ScriptedCall {
  readonly tool: string
  readonly arguments?: JsonObject
  readonly security_risk?: 'UNKNOWN' | 'LOW' | 'MEDIUM' | 'HIGH'
}

/**
 * An agent that says what its script holds, in order; how far it is it reads off the conversation, so that it goes on
 * where it was after a restart. When nothing is left of the script it says what the user said. Texts are streamed word
 * by word as deltas before they are said.
 *
 * @example
 * const engine = createEngine({ store: memoryStore() })
 * const conversation = await engine.create()
 * await conversation.sendMessage('Hello')
 * const step = await scriptedAgent([{ calls: [{ tool: 'echo' }] }, 'Done.'])(conversation)
 * const { status } = await conversation.run(step)
 * status // 'finished'
 * await engine.close()
 */
export function scriptedAgent(
  replies: readonly ScriptedReply[] = [],
): (...given: Partial<Parameters<Agent>>) => Step {
  return (): Step => (input) => (input.approved.length > 0 ? results(input) : reply(input, replies))
}

function* results({ approved }: StepInput): Generator<Event> {
  for (const call of approved) yield resultOf(call)
}

function* reply(input: StepInput, replies: readonly ScriptedReply[]): Generator<Event | readonly Event[]> {
  const { messages, state } = input
  const next = replies[messages.filter(({ role }) => role === 'assistant').length] ?? lastWords(input)
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
    // One that no other reply of this conversation has.
    const response = `scripted-${state.log.entries.length}`
    yield next.calls.map((call, at) => action(call, response, at))
  } else yield next
}

/** What the user said last. */
function lastWords({ state }: StepInput): string {
  const event = state.branch.lastUserMessage?.event
  const content = event?.kind === 'MessageEvent' ? (event.llm_message.content ?? []) : []
  return content.map((part) => ('text' in part ? part.text : '')).join('') || 'Nothing was said.'
}

function action(
  { tool, arguments: given = {}, security_risk = 'LOW' }: ScriptedCall,
  response: string,
  at: number,
): ActionEvent {
  const id = `${response}-${at}`
  return {
    kind: 'ActionEvent',
    source: 'agent',
    thought: [],
    action:
      tool === 'finish'
        ? { kind: 'FinishAction', message: String(given['message'] ?? 'Done.') }
        : { kind: 'EchoAction', ...given },
    tool_name: tool,
    tool_call_id: id,
    tool_call: { id, name: tool, arguments: JSON.stringify(given), origin: 'completion' },
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
      error: `There is no tool ${JSON.stringify(tool_name)}; the scripted agent has echo and finish.`,
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
