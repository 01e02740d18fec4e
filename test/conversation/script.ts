/** Scripted models and tools for run tests. */

import type { Conversation } from '../../src/conversation/conversation.ts'
import { createEngine, type Engine } from '../../src/conversation/engine.ts'
import type { Step, StepInput } from '../../src/conversation/run/step.ts'
import type { ActionEvent, Event } from '../../src/event/types.ts'
import type { EventEntry } from '../../src/log/entry.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { Store } from '../../src/store/contract/store.ts'

export const says = (text: string): Event => ({
  kind: 'MessageEvent',
  source: 'agent',
  llm_message: { role: 'assistant', content: [{ type: 'text', text }] },
})

export const delta = (content: string): Event => ({ kind: 'StreamingDeltaEvent', source: 'agent', content })

/** A tool call whose id equals its action's id. */
export const call = (id: string, tool = 'work', more: Partial<ActionEvent> = {}): ActionEvent => ({
  kind: 'ActionEvent',
  id,
  thought: [],
  tool_name: tool,
  tool_call_id: id,
  tool_call: { id, name: tool, arguments: '{}', origin: 'completion' },
  llm_response_id: 'r1',
  action: { kind: `${tool}Action` },
  ...more,
})

export const result = ({ id, event }: EventEntry<ActionEvent>): Event => ({
  kind: 'ObservationEvent',
  tool_name: event.tool_name,
  tool_call_id: event.tool_call_id,
  action_id: id,
  observation: { kind: 'Observation', content: [{ type: 'text', text: 'done' }] },
})

/** Events of a reply, or a function that streams them. */
export type Reply = readonly Event[] | ((input: StepInput) => AsyncIterable<Event | readonly Event[]>)

export interface Script {
  readonly step: Step
  readonly requests: StepInput[]
  /** Ids of executed calls, in order. */
  readonly executed: string[]
}

/** A model that returns the replies in turn, then `ok`. `execute` executes calls; default: one result each. */
export function script(
  replies: readonly Reply[],
  execute: (input: StepInput) => AsyncIterable<Event | readonly Event[]> = async function* ({ approved }) {
    yield approved.map(result)
  },
): Script {
  const remaining = [...replies]
  const requests: StepInput[] = []
  const executed: string[] = []
  return {
    requests,
    executed,
    async *step(input) {
      if (input.approved.length > 0) {
        executed.push(...input.approved.map(({ id }) => id))
        yield* execute(input)
        return
      }
      requests.push(input)
      const reply = remaining.shift() ?? [says('ok')]
      if (typeof reply === 'function') yield* reply(input)
      else yield reply
    },
  }
}

/** A conversation in a new engine and store, with a first message. */
export async function startConversation(
  text = 'hello',
  store: Store = memoryStore(),
): Promise<{ engine: Engine; conversation: Conversation; store: Store }> {
  const engine = createEngine({ store })
  const conversation = await engine.create({ id: 'c' })
  await conversation.sendMessage(text)
  return { engine, conversation, store }
}

/** A point where code under test blocks until the test opens it. */
export interface Gate {
  readonly reached: Promise<void>
  readonly open: () => void
  /** Signals `reached` and waits for `open`. */
  readonly pass: () => Promise<void>
}

export function gate(): Gate {
  const reached = Promise.withResolvers<void>()
  const opened = Promise.withResolvers<void>()
  return {
    reached: reached.promise,
    open: () => opened.resolve(),
    async pass() {
      reached.resolve()
      await opened.promise
    },
  }
}

/** A model that waits at the gate and yields nothing. */
export const silent =
  ({ pass }: Gate): Step =>
  async () => {
    await pass()
    return []
  }

/** Short names of the log's events. */
export async function logOf(conversation: Conversation): Promise<string[]> {
  const { log } = await conversation.state()
  return [...log.entries].flatMap(({ event }) => (event === null ? [] : [brief(event)]))
}

function brief(event: Event): string {
  switch (event.kind) {
    case 'MessageEvent':
      return `${event.source}: ${(event.llm_message.content ?? []).map((part) => ('text' in part ? part.text : '')).join('')}`
    case 'ActionEvent':
      return `call ${event.id}`
    case 'ObservationEvent':
      return `result ${event.action_id}`
    case 'AgentErrorEvent':
      return `error ${event.tool_call_id}`
    case 'UserRejectObservation':
      return `${event.rejection_source ?? 'user'} rejects ${event.action_id}`
    case 'ConversationStateUpdateEvent':
      return event.key === 'execution_status'
        ? `= ${String(event.value)}`
        : `${event.key} ${JSON.stringify(event.value)}`
    case 'ConversationErrorEvent':
      return `failed ${event.code}`
    case 'HookExecutionEvent':
      return `${event.blocked === true ? 'blocked by' : 'hook'} ${event.hook_event_type}`
    default:
      return event.kind
  }
}

export const status = async (conversation: Conversation): Promise<string> =>
  (await conversation.state()).header.status

/** Appends state updates until the bodies of forgotten events, and of old updates, are no longer in memory. */
export async function evictBodies(conversation: Conversation): Promise<void> {
  const { length } = (await conversation.state()).log.entries
  const update: Event = { kind: 'ConversationStateUpdateEvent', key: 'note', value: 1 }
  await conversation.append(Array.from({ length: 1_100 }, () => update))
  for (let isEvicted = false; !isEvicted;) {
    await new Promise((resolve) => setTimeout(resolve, 1))
    isEvicted = (await conversation.state()).log.entries.get(length)?.event === null
  }
}
