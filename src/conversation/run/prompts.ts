/**
 * Prompts: messages of users that no model has seen are shown to the hooks; what they block is taken out of the view.
 */

import type { Event, MessageEvent } from '../../event/types.ts'
import type { State } from '../../state/state.ts'
import { add, latestWhole, type RunContext } from './context.ts'
import { contextMessage, runHooks } from './hooks.ts'
import { textOf } from './call-step.ts'

/** A message of a user. */
interface Prompt {
  readonly id: string
  readonly seq: number
  readonly event: MessageEvent
}

/**
 * Finds where the messages begin that hooks must see in this run: after the last one that a hook was given in an
 * earlier one, or, where hooks were given none, after the last that the agent said or did. O(events back to there);
 * O(n) where their bodies were evicted.
 */
export async function findPrompts(run: RunContext): Promise<void> {
  if (!listens(run)) return
  const { replica } = run
  run.promptedTo = startOf(replica.state) ?? startOf(await latestWhole(run)) ?? 0
}

/** The next message that hooks must see before a model does; null when there is none. O(events since the last). */
export const nextPrompt = (run: RunContext, state: State): Prompt | null =>
  listens(run) ? (promptsFrom(state, run.promptedTo)[0] ?? null) : null

const listens = ({ hooks }: RunContext): boolean => hooks.some(({ on }) => on === 'UserPromptSubmit')

/**
 * Shows a message to the hooks. What they block is blocked, also when a pause has come meanwhile; an interrupted run
 * has shown nothing.
 */
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

/** A blocked message is taken out of the view, so that no model sees it. */
const blockOf = (id: string): Event => ({
  kind: 'Condensation',
  source: 'environment',
  llm_response_id: `hook-${id}`,
  forgotten_event_ids: [id],
})

/** Messages of users from a position on, in log order; a body that was evicted is in no view. O(events from there). */
function promptsFrom({ log }: State, from: number): Prompt[] {
  const found: Prompt[] = []
  for (let at = log.head; at !== null && at.seq >= from; at = at.parent as typeof at) {
    if (at.event?.kind === 'MessageEvent' && at.event.source === 'user' && at.id !== null) {
      found.push({ id: at.id, seq: at.seq, event: at.event })
    }
  }
  return found.toReversed()
}

/**
 * Position up to which hooks, or a model that was asked without any, know every message; null when a body is needed
 * that was evicted.
 */
function startOf({ log }: State): number | null {
  const shown = new Set<string>()
  let since: number | null = null
  for (let at = log.head; at !== null; at = at.parent as typeof at) {
    const { event, id, seq, quarantined } = at
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
