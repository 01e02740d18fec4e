/** withDefaults writes the contract's default of a missing field, and agrees with the schemas. */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeEvent } from '../../src/event/decode.ts'
import { withDefaults } from '../../src/event/nested-shapes.ts'
import { KINDS } from '../../src/event/kinds.ts'
import { eventSchemas } from '../../src/event/event-schema.ts'
import type { Event } from '../../src/event/types.ts'
import { anyEvent } from './arbitrary.ts'
import { SAMPLES, sampleOf } from './samples.ts'

function decode(value: unknown): Event {
  const decoded = decodeEvent(value)
  if (!decoded.ok) throw new Error(JSON.stringify(decoded.issues))
  return decoded.event
}

describe('withDefaults', () => {
  it.each(SAMPLES)('fills the same defaults as the schema of $kind', ({ kind, minimal, full }) => {
    for (const value of [minimal, full]) {
      expect(withDefaults(decode(value))).toEqual(eventSchemas[kind]().parse(value))
    }
    expect(withDefaults(decode(minimal)).source).toBe(minimal['source'] ?? KINDS[kind].defaultSource)
  })

  it.each(SAMPLES)('does not change the full $kind', ({ full }) => {
    expect(JSON.stringify(withDefaults(decode(full)))).toBe(JSON.stringify(full))
  })

  it('fills messages, content, thinking, reasoning and observations', () => {
    const message = decode({
      ...sampleOf('MessageEvent').minimal,
      llm_message: {
        role: 'assistant',
        content: [{ text: 'a' }, { image_urls: [] }],
        thinking_blocks: [{ thinking: 'a' }, { data: 'b' }],
        responses_reasoning_item: {},
      },
    })
    expect(withDefaults(message)).toMatchObject({
      source: 'user',
      activated_skills: [],
      extended_content: [],
      llm_message: {
        content: [
          { text: 'a', type: 'text', cache_prompt: false },
          { image_urls: [], type: 'image', cache_prompt: false },
        ],
        thinking_blocks: [
          { thinking: 'a', type: 'thinking' },
          { data: 'b', type: 'redacted_thinking' },
        ],
        responses_reasoning_item: { summary: [] },
      },
    })
    const observation = withDefaults(decode(sampleOf('ObservationEvent').minimal))
    expect(observation).toMatchObject({ observation: { content: [], is_error: false }, extended_content: [] })
  })

  it('adds no id, no timestamp and no nullable field', () => {
    expect(withDefaults(decode({ kind: 'Condensation', llm_response_id: '' }))).toEqual({
      kind: 'Condensation',
      llm_response_id: '',
      source: 'environment',
      forgotten_event_ids: [],
    })
    expect(withDefaults(decode({ kind: 'ConversationStateUpdateEvent' }))).toEqual({
      kind: 'ConversationStateUpdateEvent',
      source: 'environment',
    })
  })

  it('returns a frozen valid copy, does not freeze its input, and is idempotent', () => {
    fc.assert(
      fc.property(anyEvent, (input) => {
        const event = input as object as Event
        const filled = withDefaults(event)
        expect(Object.isFrozen(filled)).toBe(true)
        expect(
          Object.values(event).some(
            (value) => typeof value === 'object' && value !== null && Object.isFrozen(value),
          ),
        ).toBe(false)
        expect(decodeEvent(filled).ok).toBe(true)
        expect(JSON.stringify(withDefaults(filled))).toBe(JSON.stringify(filled))
      }),
    )
  })
})
