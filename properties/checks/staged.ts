/** Adds situations around a cut that random logs rarely have. */

import type { Fact } from '../../src/event/quarantine.ts'
import type { Event } from '../../src/event/types.ts'

const update = (id: string, key: string, value: string): Event => ({
  kind: 'ConversationStateUpdateEvent',
  id,
  key,
  value,
})
const action = (id: string, response: string): Event => ({
  kind: 'ActionEvent',
  id,
  thought: [],
  tool_name: 'ls',
  tool_call_id: `call-${id}`,
  tool_call: { id: `call-${id}`, name: 'ls', arguments: '{}', origin: 'completion' },
  llm_response_id: response,
})

/** A forgotten system prompt, a reply that spans a pause in a completed batch, and a state update that moves HEAD back. */
export function staged(
  facts: readonly Fact[],
  index: number,
): { readonly log: readonly Fact[]; readonly cut: number } {
  const before: readonly Event[] = [
    { kind: 'SystemPromptEvent', id: 'xp', system_prompt: { text: 'Be brief.' }, tools: [] },
    { kind: 'Condensation', id: 'xc', llm_response_id: 'condenser', forgotten_event_ids: ['xp'] },
    update('x0', 'execution_status', 'running'),
    action('x1', 'xr'),
    {
      kind: 'ObservationEvent',
      id: 'x2',
      tool_name: 'ls',
      tool_call_id: 'call-x1',
      action_id: 'x1',
      observation: { kind: 'AnyObservation' },
    },
    { kind: 'PauseEvent', id: 'x3' },
    update('x4', 'title', 'cut here'),
  ]
  const after: readonly Event[] = [
    action('x5', 'xr'),
    { ...action('x6', 'xr'), parent_id: 'x4' },
    update('x7', 'leaf_event_id', 'x4'),
    action('x8', 'xs'),
    action('x9', 'xt'),
  ]
  return {
    log: [...facts.slice(0, index), ...before, ...after, ...facts.slice(index)],
    cut: index + before.length,
  }
}
