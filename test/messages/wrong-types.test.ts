/** Parts whose fields have values of a wrong type: no writer throws, and every request is legal (law M6). */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { REPLY_WIRES } from '../../properties/replies/wires.ts'
import type { OpenPart } from '../../src/event/shapes.ts'
import { shortUsage } from '../../src/messages/reply-usage.ts'
import { toUIMessages } from '../../src/messages/ui/write.ts'
import { replay } from '../../src/state/reduce.ts'
import { damaged } from '../../src/testing/content.ts'
import { GRAMMARS } from './grammars.ts'
import { OPEN_PARTS, WRONG_VALUES } from './wrong-parts.ts'

/** Yields copies of the part in which one field, at any depth, has a wrong value. */
function* wrongParts(part: OpenPart): Generator<OpenPart> {
  const count = fieldsOf(part).length
  for (let index = 0; index < count; index += 1)
    for (const value of WRONG_VALUES) {
      const copy = structuredClone(part)
      const [holder, key] = fieldsOf(copy)[index] ?? [copy, 'more']
      Object.assign(holder, { [key]: value })
      yield copy
    }
}

function fieldsOf(part: OpenPart): (readonly [object, string])[] {
  const fields: (readonly [object, string])[] = []
  const visit = (holder: object): void => {
    for (const [key, inner] of Object.entries(holder)) {
      if (holder !== part || key !== 'type') fields.push([holder, key])
      if (typeof inner === 'object' && inner !== null) visit(inner as object)
    }
  }
  visit(part)
  return fields
}

const WITH_LIST: OpenPart = {
  type: 'custom_tool_call_output',
  call_id: 'c',
  output: [{ type: 'input_text', text: 'a' }],
}

const CASES = [...OPEN_PARTS, WITH_LIST].map((part) => [JSON.stringify(part).slice(0, 70), part] as const)

const CALL = {
  id: 'c',
  name: 'do',
  arguments: '{}',
  origin: 'completion',
  responses_item_id: null,
  responses_reasoning_item: null,
} as const

describe.each(CASES)('%s', (_, part) => {
  it.each(Object.entries(GRAMMARS))('%s accepts any value in any field', (__, { write, validate }) => {
    for (const wrong of wrongParts(part)) {
      const request = write([
        { role: 'user', content: [wrong], name: null },
        {
          role: 'assistant',
          content: [],
          tool_calls: [CALL],
          reasoning_content: null,
          thinking_blocks: [],
          responses_reasoning_item: null,
        },
        { role: 'tool', content: [wrong], tool_call_id: 'c', name: 'do', is_error: false },
      ])
      expect([JSON.stringify(wrong), validate(request)]).toEqual([JSON.stringify(wrong), []])
    }
  })

  it('`toUIMessages` returns one message for any value in any field', () => {
    for (const wrong of wrongParts(part)) {
      const state = replay([
        { kind: 'MessageEvent', id: 'm', source: 'user', llm_message: { role: 'user', content: [wrong] } },
      ])
      expect(toUIMessages(state)).toHaveLength(1)
    }
  })
})

const reply = {
  role: 'assistant',
  content: [{ type: 'text', text: 'Hi.' }],
  tool_calls: [CALL],
  reasoning_content: 'Hm.',
  thinking_blocks: [{ type: 'thinking', thinking: 'Hm.', signature: 's' }],
  responses_reasoning_item: null,
} as const
const result = {
  role: 'tool',
  content: [{ type: 'text', text: 'x' }],
  tool_call_id: 'c',
  name: 'do',
  is_error: true,
} as const
const user = { role: 'user', content: [{ type: 'text', text: 'Go.' }], name: null } as const

describe('values of a wrong type', () => {
  it.each(Object.entries(GRAMMARS))('do not make a validator throw: %s', (_, { write, validate }) => {
    const request = { type: 'request', request: write([user, reply, result]) }
    const field = fc.tuple(fc.constant(request), fc.nat(), fc.constantFrom(...WRONG_VALUES))
    fc.assert(
      fc.property(field.map(damaged), (wrong) => {
        expect(validate(wrong['request'])).toBeInstanceOf(Array)
      }),
    )
  })

  it.each(Object.entries(REPLY_WIRES))('do not make a reader throw: %s', (_, wire) => {
    const whole = wire.reply.map((raw) => ({ type: 'reply', reply: raw }))
    const field = fc.tuple(whole, fc.nat(), fc.constantFrom(...WRONG_VALUES))
    fc.assert(
      fc.property(field, ([raw, position, value]) => {
        const wrong = damaged([raw as never, position, value])['reply'] as object
        expect(wire.read(wrong, {}).events).toBeInstanceOf(Array)
        const stream = wire.collect({})
        for (const event of wire.stream(raw.reply, () => 3))
          stream.push(damaged([event as never, position, value]))
        expect(stream.end().events).toBeInstanceOf(Array)
      }),
    )
  })

  it.each([
    ['openai-chat', GRAMMARS['OpenAI Chat Completions'], { reasoning_content: true }],
    ['anthropic', GRAMMARS['Anthropic Messages'], { compaction: true }],
  ] as const)(
    'do not make a writer throw in the record of a reply: %s',
    (grammar, { write, validate }, other) => {
      for (const requested_model of WRONG_VALUES) {
        const record = { grammar, requested_model, parts: [{ text: 0 }, { call: 0 }, { other }] }
        const messages = [user, { ...reply, reply: record }, result] as never
        expect(validate(write(messages, { model: 'm', signs: false }))).toEqual([])
      }
    },
  )

  it('are ignored in the token details of a usage', () => {
    for (const modality of WRONG_VALUES)
      expect(shortUsage({ promptTokenCount: 1, promptTokensDetails: [{ modality }] }).tokens).toEqual([1])
  })
})
