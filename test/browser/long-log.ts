/** Lines of a log of 343 events, in place of a missing recorded log: messages, calls and results. */
export function longLog(): string {
  const lines: object[] = [
    { kind: 'SystemPromptEvent', id: 'system', source: 'agent', system_prompt: { text: 'Help.' }, tools: [] },
  ]
  for (let index = 0; lines.length < 343; index += 1) {
    const tool_call = {
      id: `call-${index}`,
      name: 'terminal',
      arguments: '{"command":"ls"}',
      origin: 'completion',
    }
    const ends = { tool_name: 'terminal', tool_call_id: `call-${index}` }
    lines.push(
      {
        kind: 'MessageEvent',
        id: `user-${index}`,
        source: 'user',
        llm_message: { role: 'user', content: [{ type: 'text', text: `Question ${index}` }] },
      },
      {
        kind: 'ActionEvent',
        id: `action-${index}`,
        source: 'agent',
        thought: [],
        action: { kind: 'TerminalAction', command: 'ls' },
        ...ends,
        tool_call,
        llm_response_id: `reply-${index}`,
      },
      {
        kind: 'ObservationEvent',
        id: `result-${index}`,
        source: 'environment',
        ...ends,
        action_id: `action-${index}`,
        observation: {
          kind: 'TerminalObservation',
          content: [{ type: 'text', text: 'readme.md' }],
          command: 'ls',
          metadata: { exit_code: 0 },
        },
      },
    )
  }
  return lines
    .slice(0, 343)
    .map((line) => JSON.stringify(line))
    .join('\n')
}
