/** Redaction keeps signed and encrypted content complete, or removes its signatures. */

import { describe, expect, it } from 'vitest'
import { redactLog } from '../../src/context/redaction/redact.ts'
import { maskSecrets } from '../../src/event/mask.ts'
import type { Event } from '../../src/event/types.ts'
import { toAnthropic } from '../../src/messages/anthropic/write.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { toOpenAIResponses } from '../../src/messages/openai-responses/write.ts'
import { replay } from '../../src/state/reduce.ts'
import { action, redacted, RULES, S } from './redact-events.ts'
import { MASK } from './redact-output.ts'

const blocksOf = (...thinking_blocks: object[]): unknown =>
  redacted(action({ thinking_blocks }))['thinking_blocks']
const sent = (facts: readonly Event[]): string => JSON.stringify(toAnthropic(toMessages(replay(facts))))

describe('redaction of signed and encrypted content', () => {
  const signed = { type: 'thinking', thinking: 'plain', signature: 'sig/0' }
  const secret = { type: 'thinking', thinking: `say ${S}`, signature: 'sig/1' }
  const sealed = { type: 'redacted_thinking', data: 'gAAAA' }

  it('keeps signed thinking if only the parsed action contains a secret', () => {
    const event = action({ thinking_blocks: [signed, sealed], action: { kind: 'X', note: S } })
    expect(redacted(event)).toEqual({ ...event, action: { kind: 'X', note: MASK } })
  })

  it('removes all signatures if one block has a secret, and keeps the number of blocks', () => {
    expect(blocksOf(signed, secret, sealed)).toEqual([
      { type: 'thinking', thinking: 'plain', signature: null },
      { type: 'thinking', thinking: `say ${MASK}`, signature: null },
      { type: 'thinking', thinking: MASK },
    ])
    expect(blocksOf({ thinking: S })).toEqual([{ thinking: MASK }])
    expect(blocksOf({ data: S })).toEqual([{ thinking: MASK }])
    expect(blocksOf({ thinking: 'x', signature: S })).toEqual([{ thinking: 'x', signature: null }])
  })

  it('removes the signatures of masked text from requests', () => {
    const answer = {
      kind: 'ObservationEvent',
      id: 'o',
      tool_name: 'terminal',
      tool_call_id: 'c1',
      action_id: 'a1',
      observation: { kind: 'X' },
    }
    const log = [
      action({ thinking_blocks: [signed, secret, sealed], thought: [{ text: 'hm' }] }),
      answer as Event,
    ]
    expect(sent(log)).toContain('sig/1')
    const after = redactLog(log, RULES) as readonly Event[]
    expect(sent(after)).not.toMatch(/sig\/|thinking|gAAAA/)
    expect(replay(after).branch.view.length).toBe(2)
  })

  it('does not match patterns in signatures or encrypted content', () => {
    const event = action({
      thinking_blocks: [
        { thinking: 'x', signature: 'AKIAAAAAAAAAAAAAAAAA' },
        { data: 'AKIAAAAAAAAAAAAAAAAA' },
      ],
      responses_reasoning_item: { id: 'rs_1', encrypted_content: 'AKIAAAAAAAAAAAAAAAAA' },
    })
    expect(redacted(event)).toBe(event)
  })

  it('keeps encrypted_content at any depth and in requests, but maskSecrets masks it', () => {
    const item = { id: 'rs_1', summary: [S], encrypted_content: 'AKIAAAAAAAAAAAAAAAAA' }
    const stored = { ...item, summary: ['plain'] }
    const text = JSON.stringify({
      output: [{ ...item, password: 'x', encrypted_content: ['AKIAAAAAAAAAAAAAAAAA'] }],
    })
    const event = redacted(
      action({ responses_reasoning_item: stored, action: { kind: 'X', deep: [item] } }),
    ) as object as Event
    const log = redacted({ kind: 'LLMCompletionLogEvent', filename: 'f', log_data: text })
    const masked = { ...item, summary: [MASK] }
    expect(event).toMatchObject({ responses_reasoning_item: stored, action: { deep: [masked] } })
    expect(JSON.parse(log['log_data'] as string)).toEqual({
      output: [{ id: 'rs_1', summary: [MASK], encrypted_content: ['AKIAAAAAAAAAAAAAAAAA'], password: MASK }],
    })
    const answer = { kind: 'AgentErrorEvent', tool_name: 'terminal', tool_call_id: 'c1', error: 'x' }
    const request = toOpenAIResponses(toMessages(replay([event, answer as Event])))
    expect(JSON.stringify(request)).toContain('"encrypted_content":"AKIAAAAAAAAAAAAAAAAA"')
    expect(JSON.stringify(maskSecrets([event, log]))).not.toContain('AKIA')
  })

  it('replaces encrypted content that contains a literal secret by null', () => {
    const item = { id: 'rs_1', encrypted_content: `x${Buffer.from(`--${S}`).toString('base64')}` }
    expect(redacted(action({ responses_reasoning_item: item }))['responses_reasoning_item']).toEqual({
      id: 'rs_1',
      encrypted_content: null,
    })
    const log = redacted({
      kind: 'LLMCompletionLogEvent',
      filename: 'f',
      log_data: JSON.stringify({ encrypted_content: S }),
    })
    expect(log['log_data']).toBe('{"encrypted_content":null}')
  })
})
