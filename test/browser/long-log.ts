/** A log of 343 events for where no recorded one is: turns of a user, a call and its result. */

/** The lines of the log. */
export function longLog(): string {
  const lines: object[] = [
    { kind: 'SystemPromptEvent', id: 'system', source: 'agent', system_prompt: { text: 'Help.' }, tools: [] },
  ]
  for (let at = 0; lines.length < 343; at += 1) {
    const tool_call = {
      id: `call-${at}`,
      name: 'terminal',
      arguments: '{"command":"ls"}',
      origin: 'completion',
    }
    const ends = { tool_name: 'terminal', tool_call_id: `call-${at}` }
    lines.push(
      {
        kind: 'MessageEvent',
        id: `user-${at}`,
        source: 'user',
        llm_message: { role: 'user', content: [{ type: 'text', text: `Question ${at}` }] },
      },
      {
        kind: 'ActionEvent',
        id: `action-${at}`,
        source: 'agent',
        thought: [],
        action: { kind: 'TerminalAction', command: 'ls' },
        ...ends,
        tool_call,
        llm_response_id: `reply-${at}`,
      },
      {
        kind: 'ObservationEvent',
        id: `result-${at}`,
        source: 'environment',
        ...ends,
        action_id: `action-${at}`,
        observation: {
          kind: 'TerminalObservation',
          content: [{ type: 'text', text: 'readme.md' }],
          command: 'ls',
        },
      },
    )
  }
  return lines
    .slice(0, 343)
    .map((line) => JSON.stringify(line))
    .join('\n')
}
