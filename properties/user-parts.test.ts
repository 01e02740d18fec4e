/** M14 for users and tools: known parts in each grammar, and arbitrary ones. */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { NeutralMessage, NeutralToolCall } from '../src/messages/message.ts'
import type { OpenPart } from '../src/event/shapes.ts'
import { withoutBytes } from '../src/messages/bedrock/blocks.ts'
import { NO_IMAGE } from '../src/messages/phrases.ts'
import { placeholderOf } from '../src/messages/pieces.ts'
import { openPart } from '../src/testing/content.ts'
import { GRAMMARS } from '../test/messages/grammars.ts'
import { type Sample, SAMPLES } from '../test/messages/user-parts.ts'
import { wrongPart } from '../test/messages/wrong-parts.ts'
import { checkParts } from './checks/parts.ts'
import { alwaysOnLogs, RUNS } from './run.ts'

const NAMES = {
  'OpenAI Chat Completions': 'openai-chat',
  'OpenAI Responses': 'openai-responses',
  'Anthropic Messages': 'anthropic',
  'AI SDK': 'ai-sdk',
  Gemini: 'google',
  'Gemini Interactions': 'interactions',
  'Amazon Bedrock Converse': 'bedrock',
} as const

const CALL: NeutralToolCall = {
  id: 'c',
  name: 'ls',
  arguments: '{}',
  origin: 'completion',
  responses_item_id: null,
  responses_reasoning_item: null,
}

function holding(
  parts: readonly OpenPart[],
  position: 'user' | 'result',
  is_error: boolean,
): NeutralMessage[] {
  const content = [{ text: 'before' }, ...parts, { text: 'behind' }]
  if (position === 'user') return [{ role: 'user', content, name: null }]
  return [
    { role: 'user', content: [{ text: 'go' }], name: null },
    {
      role: 'assistant',
      content: [],
      tool_calls: [CALL],
      reasoning_content: null,
      thinking_blocks: [],
      responses_reasoning_item: null,
    },
    { role: 'tool', content, tool_call_id: 'c', name: 'ls', is_error },
  ]
}

function* objectsIn(value: unknown): Generator<object> {
  if (typeof value !== 'object' || value === null) return
  yield value
  for (const inner of Object.values(value)) yield* objectsIn(inner)
}

/** Cache marks belong to the request, not to the part. */
const unmarked = (key: string, value: unknown): unknown => (key === 'cache_control' ? undefined : value)

const mark = fc.stringMatching(/^[a-z]{8}$/)

const sample = fc.constantFrom<Sample>(...SAMPLES)

describe('M14, parts of user messages and tool results', () => {
  it.for(Object.entries(GRAMMARS))(
    '%s: its own parts are sent unchanged, and other parts converted or by name',
    ([name, { write, validate }]) => {
      const ownGrammar = NAMES[name as keyof typeof NAMES]
      const property = fc.property(
        sample,
        mark,
        fc.boolean(),
        fc.boolean(),
        fc.boolean(),
        (input, id, is_error, frozen, marked) => {
          const part = input.make(id)
          const sent: OpenPart = marked ? { ...part, cache_prompt: true } : part
          if (frozen) Object.freeze(sent)
          const request = write(holding([sent], input.role, is_error && input.role === 'result'))
          expect(validate(request)).toEqual([])
          const text = JSON.stringify(withoutBytes(request))
          const isNamed = [placeholderOf(part), NO_IMAGE].some((name) =>
            text.includes(JSON.stringify(name).slice(1, -1)),
          )
          expect([text.split(id).length - 1 > 0, isNamed]).toContainEqual(true)
          const cannotMove = is_error && input.role === 'result' && isNamed
          if (input.grammar !== ownGrammar || !input.isSent || cannotMove) return
          const copies = [...objectsIn(request)].filter(
            (each) => JSON.stringify(each, unmarked) === JSON.stringify(part),
          )
          expect(copies).toHaveLength(1)
        },
      )
      fc.assert(property, { numRuns: RUNS })
    },
  )

  it.for(Object.entries(GRAMMARS))(
    '%s: the request is valid with any part, and the texts around it keep their order',
    ([, { write, validate }]) => {
      const positions = fc.constantFrom('user' as const, 'result' as const)
      const property = fc.property(
        fc.array(fc.oneof(openPart, wrongPart()), { minLength: 1, maxLength: 3 }),
        positions,
        fc.boolean(),
        (parts, position, is_error) => {
          const messages = holding(parts, position, is_error)
          const before = JSON.stringify(messages)
          const request = write(messages)
          expect(validate(request)).toEqual([])
          expect(JSON.stringify(messages)).toBe(before)
          expect(JSON.stringify(write(messages))).toBe(JSON.stringify(request))
          const text = JSON.stringify(request)
          expect(text.indexOf('before')).toBeLessThan(text.indexOf('behind'))
          expect(text).toContain('before')
        },
      )
      fc.assert(property, { numRuns: RUNS })
    },
  )

  it('no request silently omits a part of a log', () => alwaysOnLogs(checkParts))
})
