/** The record of a reply adds at most a tenth to the events of a typical reply. */

import { describe, expect, it } from 'vitest'
import { fromAnthropic } from '../../src/messages/anthropic/read.ts'
import { toAnthropic } from '../../src/messages/anthropic/write.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { fromOpenAIChat } from '../../src/messages/openai-chat/read.ts'
import { toOpenAIChat } from '../../src/messages/openai-chat/write.ts'
import { fromOpenAIResponses } from '../../src/messages/openai-responses/read.ts'
import { toOpenAIResponses } from '../../src/messages/openai-responses/write.ts'
import type { ReadOptions, Reply } from '../../src/messages/reply.ts'
import { replay } from '../../src/state/reduce.ts'
import { recordRequestHead } from '../../src/event/reply.ts'
import { user } from '../build.ts'

const ID = '01JD9Y3V6ZK4W8T2Q5N7R1XC0M'
const TEXT =
  'I look at the failing test first, then at the module that it covers, and find where it goes wrong. '
const TOOLS = [{ name: 'file_editor' }]
const EDIT = {
  command: 'str_replace',
  path: '/work/src/index.ts',
  old_str: TEXT,
  new_str: TEXT,
}

const STATE = replay([user(ID)])
const MESSAGES = toMessages(STATE)

const anthropic = (content: readonly object[], stop_reason: string) => (): Reply =>
  fromAnthropic(
    {
      id: 'msg_01XFDUDYJgAACzvnptvVoYEL',
      model: 'claude-opus-4-5-20251101',
      content,
      stop_reason,
      stop_sequence: null,
      usage: {
        input_tokens: 2095,
        cache_creation_input_tokens: 512,
        cache_read_input_tokens: 18_000,
        cache_creation: { ephemeral_5m_input_tokens: 512, ephemeral_1h_input_tokens: 0 },
        output_tokens: 503,
        service_tier: 'standard',
        inference_geo: 'global',
      },
    } as never,
    readOptions({ tools: TOOLS, ...toAnthropic(MESSAGES, { tools: TOOLS }) }),
  )

const readOptions = (request: object): ReadOptions => ({ request, state: STATE })

const REPLIES: Readonly<Record<string, () => Reply>> = {
  'a text of Anthropic': anthropic([{ type: 'text', text: TEXT.repeat(7) }], 'end_turn'),
  'thinking, a text and a call of Anthropic': anthropic(
    [
      // The length of recorded signatures.
      { type: 'thinking', thinking: TEXT.repeat(2), signature: 'EqQBCgIYAhIM'.repeat(60) },
      { type: 'text', text: TEXT },
      { type: 'tool_use', id: 'toolu_01T1x1fJ34qAmk2tNTrN7Up6', name: 'file_editor', input: EDIT },
    ],
    'tool_use',
  ),
  'a text and a call of Chat Completions': () =>
    fromOpenAIChat(
      {
        id: 'chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT',
        model: 'gpt-5.1-2025-11-13',
        choices: [
          {
            index: 0,
            finish_reason: 'tool_calls',
            message: {
              role: 'assistant',
              content: TEXT,
              refusal: null,
              annotations: [],
              tool_calls: [
                {
                  id: 'call_abc123abc123abc123abc123',
                  type: 'function',
                  function: { name: 'file_editor', arguments: JSON.stringify(EDIT) },
                },
              ],
            },
          },
        ],
        usage: {
          prompt_tokens: 19_000,
          completion_tokens: 503,
          total_tokens: 19_503,
          prompt_tokens_details: { cached_tokens: 18_000, audio_tokens: 0 },
          completion_tokens_details: {
            reasoning_tokens: 120,
            audio_tokens: 0,
            accepted_prediction_tokens: 0,
          },
        },
      } as never,
      readOptions(toOpenAIChat(MESSAGES)),
    ),
  'reasoning and a call of Responses': () =>
    fromOpenAIResponses(
      {
        id: 'resp_67ccd2bed1ec8190b14f964abc0542670bb6a6b452d3795b',
        status: 'completed',
        model: 'gpt-5.1-2025-11-13',
        output: [
          {
            type: 'reasoning',
            id: 'rs_67ccd2bf17f0819081ff3bb2cf6508e60bb6a6b452d3795b',
            summary: [{ type: 'summary_text', text: TEXT }],
            encrypted_content: 'gAAAAABm'.repeat(100),
          },
          {
            type: 'function_call',
            id: 'fc_67ccd2bf17f0819081ff3bb2cf6508e60bb6a6b452d3795b',
            call_id: 'call_abc123abc123abc123abc123',
            name: 'file_editor',
            arguments: JSON.stringify(EDIT),
            status: 'completed',
          },
        ],
        usage: {
          input_tokens: 19_000,
          input_tokens_details: { cached_tokens: 18_000, cache_write_tokens: 0 },
          output_tokens: 503,
          output_tokens_details: { reasoning_tokens: 120 },
          total_tokens: 19_503,
        },
      } as never,
      readOptions({ tools: TOOLS, ...toOpenAIResponses(MESSAGES, { tools: TOOLS }) }),
    ),
}

/** The number of characters of stored events, and of the records in them. */
function sizeOf(events: Reply['events']): { readonly all: number; readonly records: number } {
  // As a run appends them.
  const stored = recordRequestHead(events, ID, ID).map((event) => ({
    id: ID,
    timestamp: '2026-11-22T13:00:46.000000Z',
    parent_id: ID,
    ...event,
  }))
  const bare = JSON.stringify(stored, (key, value: unknown) => (key === 'reply' ? undefined : value)).length
  const all = JSON.stringify(stored).length
  return { all, records: all - bare }
}

describe('the record of a reply', () => {
  it.each(Object.entries(REPLIES))('adds at most a tenth: %s', (_, read) => {
    const { all, records } = sizeOf(read().events)
    const isSigned = JSON.stringify(read().events).includes('"digest"')
    expect(records).toBeGreaterThan(60)
    // docs/messages.md states this for replies of any length without parts.
    expect(records).toBeLessThanOrEqual(isSigned ? 200 : 95)
    expect(all - records).toBeLessThan(isSigned ? 2_200 : 1_200)
    expect(records / (all - records)).toBeLessThanOrEqual(0.1)
  })
})
