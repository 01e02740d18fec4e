/** Prompts: hooks see user messages before a model does. Blocked messages are removed from the view. */

import type { Event, MessageEvent } from '../../event/types.ts'
import type { State } from '../../state/state.ts'
import { add, latestWhole, type RunContext } from './context.ts'
import { contextMessage, runHooks } from './hooks.ts'
import { textOf } from './call-step.ts'

interface Prompt {
  readonly id: string
  readonly seq: number
  readonly event: MessageEvent
}

/**
 * Finds the first message for this run's hooks: after the last that an earlier run showed them, else after
 * the agent's last event. O(events back to there); O(n) if their bodies were evicted.
 */
export async function findPrompts(run: RunContext): Promise<void> {
  if (!listens(run)) return
  const { replica } = run
  run.promptedTo = startOf(replica.state) ?? startOf(await latestWhole(run)) ?? 0
}

/** The next message that hooks have to see before a model does, or null. O(events since the last). */
export const nextPrompt = (run: RunContext, state: State): Prompt | null =>
  listens(run) ? (promptsFrom(state, run.promptedTo)[0] ?? null) : null

const listens = ({ hooks }: RunContext): boolean => hooks.some(({ on }) => on === 'UserPromptSubmit')

/** Shows a message to the hooks. A block counts despite a pause. In an interrupted run nothing was shown. */
export async function showPrompt(run: RunContext, { id, seq, event }: Prompt): Promise<void> {
  const { hooks, replica, signal } = run
  const { events, blocked, context } = await runHooks(
    hooks,
    { event_type: 'UserPromptSubmit', conversation_id: replica.id, message: textOf(event), message_id: id },
    signal,
  )
  await add(run, () => [...events, ...(blocked === null ? context.map(contextMessage) : [blockOf(id)])])
  run.promptedTo = seq + 1
}

const blockOf = (id: string): Event => ({
  kind: 'Condensation',
  source: 'environment',
  llm_response_id: `hook-${id}`,
  forgotten_event_ids: [id],
})

/** User messages from a position on, in log order. Evicted bodies are in no view. O(events from there). */
function promptsFrom({ log }: State, from: number): Prompt[] {
  const prompts: Prompt[] = []
  for (let entry = log.head; entry !== null && entry.seq >= from; entry = entry.parent as typeof entry) {
    if (entry.event?.kind === 'MessageEvent' && entry.event.source === 'user' && entry.id !== null) {
      prompts.push({ id: entry.id, seq: entry.seq, event: entry.event })
    }
  }
  return prompts.toReversed()
}

/** Position up to which hooks, or a model, know every message. Null if an evicted body is needed. */
function startOf({ log }: State): number | null {
  const shown = new Set<string>()
  let since: number | null = null
  for (let entry = log.head; entry !== null; entry = entry.parent as typeof entry) {
    const { event, id, seq, quarantined } = entry
    if (event === null) {
      if (quarantined === null) return null
    } else if (event.kind === 'HookExecutionEvent') {
      if (event.hook_event_type === 'UserPromptSubmit' && event.message_id) shown.add(event.message_id)
    } else if (event.kind === 'MessageEvent') {
      if (id !== null && shown.has(id)) return seq + 1
      if (event.source === 'agent') since ??= seq
    } else if (event.kind === 'ActionEvent') since ??= seq
  }
  return since ?? 0
}
