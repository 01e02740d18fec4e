/** Runs a conversation: calls the model, executes its tool calls, and stops for a user or an error. */

import { randomUUID } from 'node:crypto'
import type { Call, Draft, Log } from './log.ts'
import { callModel, type ModelReply } from './model.ts'
import { isTurnOver, messagesOf } from './view.ts'

/** @throws an error that is reported to the model. */
export type Tool = (input: Readonly<Record<string, unknown>>, signal: AbortSignal) => Promise<string> | string

/** Settings shared by all runs. */
export interface Agent {
  readonly modelUrl: string
  readonly tools: Readonly<Record<string, Tool>>
}

export interface Run {
  readonly stop: AbortController
  readonly ended: Promise<void>
}

const schemaOf = (name: string): object => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties: {} } },
})

/**
 * Runs until the turn is over, a user must approve a call, or the run is stopped. `approved` contains the
 * ids of approved calls.
 */
export function startRun(agent: Agent, log: Log, approved: ReadonlySet<string> = new Set()): Run {
  const stop = new AbortController()
  log.setStatus('running')
  const ended = loop(agent, log, approved, stop.signal).catch((error: unknown) => {
    if (stop.signal.aborted) return
    const detail = error instanceof Error ? error.message : String(error)
    log.append({ kind: 'ConversationErrorEvent', source: 'environment', code: 'RunFailed', detail })
    log.setStatus('error')
  })
  return { stop, ended }
}

async function loop(
  agent: Agent,
  log: Log,
  approved: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    if (signal.aborted || log.status === 'paused') return
    const pending = log.pending()
    if (pending.length > 0) {
      const unapproved = pending.filter(({ id }) => log.needsConfirmation && !approved.has(id))
      if (unapproved.length > 0) return log.setStatus('waiting_for_confirmation')
      await Promise.all(pending.map((call) => execute(agent, log, call, signal)))
      continue
    }
    if (isTurnOver(log)) return log.setStatus('finished')
    const after = log.head
    const tools = Object.keys(agent.tools).map(schemaOf)
    const reply = await callModel(agent.modelUrl, messagesOf(log), tools, signal, (text) => log.publish(text))
    if (signal.aborted) return
    // No provider accepts an empty reply in the history.
    if (reply.text.trim() === '' && reply.calls.length === 0)
      throw new Error('the model returned an empty reply')
    log.append(...eventsOf(agent, reply, after))
  }
}

/** The events of a reply: its calls, or its text. */
function eventsOf(agent: Agent, { text, calls }: ModelReply, after: string | null): Draft[] {
  const content = text === '' ? [] : [{ type: 'text', text }]
  const reply = { after }
  if (calls.length === 0)
    return [{ kind: 'MessageEvent', source: 'agent', llm_message: { role: 'assistant', content, reply } }]
  const response = randomUUID()
  const actions = calls.map((call, index) => ({
    kind: 'ActionEvent',
    id: randomUUID(),
    source: 'agent',
    thought: index === 0 ? content : [],
    action: actionOf(agent, call),
    tool_name: call.name,
    tool_call_id: call.id,
    tool_call: { ...call, origin: 'completion', reply },
    llm_response_id: response,
  }))
  const errors = actions.flatMap((action) => (action.action === null ? [errorOf(agent, action)] : []))
  return [...actions, ...errors]
}

/** Null for an unknown tool, and for arguments that are not an object. */
function actionOf(agent: Agent, call: ModelReply['calls'][number]): Call['action'] {
  if (!Object.hasOwn(agent.tools, call.name)) return null
  try {
    const input: unknown = JSON.parse(call.arguments)
    if (typeof input !== 'object' || input === null || Array.isArray(input)) return null
    return { ...input, kind: `${call.name}Action` }
  } catch {
    return null
  }
}

const errorOf = (
  agent: Agent,
  { tool_name, tool_call_id }: { readonly tool_name: string; readonly tool_call_id: string },
): Draft => ({
  kind: 'AgentErrorEvent',
  source: 'agent',
  tool_name,
  tool_call_id,
  error: Object.hasOwn(agent.tools, tool_name)
    ? 'The arguments are not a JSON object.'
    : `Unknown tool ${tool_name}. Available tools: ${Object.keys(agent.tools).join(', ')}.`,
})

async function execute(agent: Agent, log: Log, call: Call, signal: AbortSignal): Promise<void> {
  const { id: action_id, tool_name, tool_call_id, action } = call
  let text: string
  let is_error = false
  try {
    const tool = agent.tools[tool_name]
    if (tool === undefined || action === null) return
    text = await tool(action, signal)
  } catch (error) {
    text = error instanceof Error ? error.message : String(error)
    is_error = true
  }
  if (signal.aborted) return
  log.append({
    kind: 'ObservationEvent',
    source: 'environment',
    action_id,
    tool_name,
    tool_call_id,
    observation: { kind: `${tool_name}Observation`, content: [{ type: 'text', text }], is_error },
  })
}

/** Creates an error result for each pending call. */
export const closePending = (log: Log, error: string): Draft[] =>
  log.pending().map(({ tool_name, tool_call_id }) => ({
    kind: 'AgentErrorEvent',
    source: 'agent',
    tool_name,
    tool_call_id,
    error,
  }))
