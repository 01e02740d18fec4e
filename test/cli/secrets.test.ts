/** No output contains encrypted content, wherever an event has it. */

import { describe, expect, it } from 'vitest'
import { FORMATS } from '../../src/cli/commands.ts'
import { answered, called, colloquy, folder, lines, output } from './world.ts'

const SECRET = 'gAAAAABsecretsecretsecret'
const item = { id: 'rs_1', summary: ['thought'], encrypted_content: SECRET, status: 'completed' }
const quoted = JSON.stringify({ deep: [{ encrypted_content: SECRET }] })

const EVENTS = [
  output('m', `my log says ${quoted}`),
  called('a', quoted, {
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
  answered('o', 'a', quoted, {
    observation: {
      kind: 'Custom',
      content: [{ type: 'text', text: `${quoted}\n${quoted}` }],
      encrypted_content: SECRET,
    },
  }),
  called('n', 'x', {
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

describe('encrypted content is never printed', () => {
  const asks = [
    ['check'],
    ['replay'],
    ['view'],
    ['tree'],
    ...FORMATS.map((format) => ['messages', '--format', format]),
    ['replay', '--at', quoted],
  ]

  it.each(asks.flatMap((ask) => [ask, [...ask, '--json']]))('%s %s %s %s', async (...ask) => {
    const broken = `${lines(...EVENTS)}{"id":"w","encrypted_content":"${SECRET}","kin`
    const file = folder({ 'a.jsonl': broken })('a.jsonl')
    const { out, err } = await colloquy([...ask.filter((word) => word !== undefined), file], {
      columns: 4000,
    })
    expect(out + err).not.toContain('secretsecret')
    expect(out.length + err.length).toBeGreaterThan(100)
  })

  it('while the reasoning around it still is', async () => {
    const file = folder({ 'a.jsonl': lines(...EVENTS) })('a.jsonl')
    const { out } = await colloquy(['messages', file, '--format', 'openai-responses', '--json'])
    expect(out).toContain('"encrypted_content":null')
    expect(out).toContain('rs_1')
  })
})
