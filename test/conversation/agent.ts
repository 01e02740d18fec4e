/** A scripted agent for run tests: makes calls, executes approved ones, and replies. */

import { afterEach } from 'vitest'
import type { Conversation } from '../../src/conversation/conversation.ts'
import { createEngine, type Engine } from '../../src/conversation/engine.ts'
import type { Hook } from '../../src/conversation/run/hooks.ts'
import type { RunOptions, RunResult } from '../../src/conversation/run/options.ts'
import type { Step } from '../../src/conversation/run/step.ts'
import type {
  ActionEvent,
  Event,
  HookEventType,
  HookExecutionEvent,
  MessageEvent,
} from '../../src/event/types.ts'
import { pathToEntry } from '../../src/log/entry.ts'
import { memoryStore } from '../../src/store/memory/store.ts'

const engines: Engine[] = []
afterEach(() => Promise.all(engines.splice(0).map((engine) => engine.close())))

/** A conversation, with a first message unless null; its engine closes after the test. */
export async function begin(message: string | null = 'List the files.'): Promise<Conversation> {
  const engine = createEngine({ store: memoryStore() })
  engines.push(engine)
  const conversation = await engine.create()
  if (message !== null) await conversation.sendMessage(message)
  return conversation
}

export const call = (id: string, tool = 'terminal'): ActionEvent => ({
  kind: 'ActionEvent',
  source: 'agent',
  id,
  thought: [],
  action: { kind: 'TerminalAction', command: 'ls' },
  tool_name: tool,
  tool_call_id: `call-${id}`,
  tool_call: { id: `call-${id}`, name: tool, arguments: '{"command":"ls"}', origin: 'completion' },
  llm_response_id: `response-${id}`,
})

const resultOf = ({ id, event }: { readonly id: string; readonly event: ActionEvent }): Event => ({
  kind: 'ObservationEvent',
  source: 'environment',
  tool_name: event.tool_name,
  tool_call_id: event.tool_call_id,
  action_id: id,
  observation: { kind: 'TerminalObservation', content: [{ type: 'text', text: 'a.txt' }] },
})

const reply = (text: string): MessageEvent => ({
  kind: 'MessageEvent',
  source: 'agent',
  llm_message: { role: 'assistant', content: [{ type: 'text', text }] },
})

/** Calls a tool once per given event, executes approved calls, and replies. Records its requests. */
export function agent(calls: readonly ActionEvent[] = []): {
  readonly step: Step
  readonly sent: readonly string[]
} {
  const remaining = [...calls]
  const sent: string[] = []
  const step: Step = function* ({ approved, messages }) {
    if (approved.length > 0) {
      yield approved.map(resultOf)
      return
    }
    sent.push(JSON.stringify(messages))
    yield remaining.shift() ?? reply('Done.')
  }
  return { step, sent }
}

/** HEAD's branch from its root. */
export async function branch(conversation: Conversation): Promise<Event[]> {
  const { log } = await conversation.state()
  return (log.head === null ? [] : pathToEntry(log.head)).map(({ event }) => event as Event)
}

/** Hook events on HEAD's branch. */
export const hooked = async (conversation: Conversation): Promise<HookExecutionEvent[]> =>
  (await branch(conversation)).filter((event) => event.kind === 'HookExecutionEvent')

/** Short names of events. */
export const names = (events: readonly Event[]): string[] =>
  events.map((event) =>
    event.kind === 'HookExecutionEvent'
      ? event.hook_event_type
      : event.kind === 'ConversationStateUpdateEvent'
        ? `${event.key}: ${JSON.stringify(event.value)}`
        : `${event.kind} of ${event.source}`,
  )

export const hook = (on: HookEventType, run: Hook['run'], more: Partial<Hook> = {}): Hook => ({
  on,
  name: `on ${on}`,
  run,
  ...more,
})

export const run = (
  conversation: Conversation,
  step: Step,
  hooks: readonly Hook[],
  more: RunOptions = {},
): Promise<RunResult> => conversation.run(step, { hooks, ...more })
