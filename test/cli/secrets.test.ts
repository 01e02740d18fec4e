/** No output contains encrypted content, wherever an event has it. */

import { describe, expect, it } from 'vitest'
import { FORMATS } from '../../src/cli/commands.ts'
import { resultEvent, callEvent, colloquy, folder, lines, messageEvent } from './run-command.ts'

const SECRET = 'gAAAAABsecretsecretsecret'
const item = { id: 'rs_1', summary: ['thought'], encrypted_content: SECRET, status: 'completed' }
const quoted = JSON.stringify({ deep: [{ encrypted_content: SECRET }] })

const EVENTS = [
  messageEvent('m', `my log says ${quoted}`),
  callEvent('a', quoted, {
    responses_reasoning_item: item,
    action: { kind: 'CustomAction', command: quoted, nested: { encrypted_content: SECRET } },
    tool_call: {
      id: 'call-a',
      name: 'terminal',
      arguments: quoted,
      origin: 'responses',
      responses_item_id: 'fc_1',
    },
  }),
  resultEvent('o', 'a', quoted, {
    observation: {
      kind: 'Custom',
      content: [{ type: 'text', text: `${quoted}\n${quoted}` }],
      encrypted_content: SECRET,
    },
  }),
  callEvent('n', 'x', {
    action: null,
    responses_reasoning_item: item,
    tool_call: { id: 'call-n', name: 'x', arguments: quoted, origin: 'completion' },
  }),
  { id: 'u', key: 'full_state', value: { items: [item] }, kind: 'ConversationStateUpdateEvent' },
  { id: 'l', filename: 'a.json', log_data: quoted, kind: 'LLMCompletionLogEvent' },
  { id: 't', tool_call_id: 'x', title: quoted, raw_output: item, kind: 'ACPToolCallEvent' },
  { id: 'f', source: 'environment', code: 'x', detail: `it said ${quoted}`, kind: 'ConversationErrorEvent' },
  {
    id: 'r',
    source: 'agent',
    llm_message: { role: 'assistant', content: [{ text: 'done' }], responses_reasoning_item: item },
    kind: 'MessageEvent',
  },
  { id: 'q', kind: 'Odd', encrypted_content: SECRET },
  { id: 'v', kind: 'PauseEvent', encrypted_content: SECRET, timestamp: quoted, parent_id: quoted },
]

describe('encrypted content', () => {
  const commands = [
    ['check'],
    ['replay'],
    ['view'],
    ['tree'],
    ...FORMATS.map((format) => ['messages', '--format', format]),
    ['replay', '--at', quoted],
  ]

  it.each(commands.flatMap((argv) => [{ argv }, { argv: [...argv, '--json'] }]))(
    'is not printed by $argv',
    async ({ argv }) => {
      const broken = `${lines(...EVENTS)}{"id":"w","encrypted_content":"${SECRET}","kin`
      const file = folder({ 'a.jsonl': broken })('a.jsonl')
      const { out, err } = await colloquy([...argv, file], {
        columns: 4000,
      })
      expect(out + err).not.toContain('secretsecret')
      expect(out.length + err.length).toBeGreaterThan(100)
    },
  )

  it('is printed as null within a reasoning item', async () => {
    const file = folder({ 'a.jsonl': lines(...EVENTS) })('a.jsonl')
    const { out } = await colloquy(['messages', file, '--format', 'openai-responses', '--json'])
    expect(out).toContain('"encrypted_content":null')
    expect(out).toContain('rs_1')
  })
})
