/** Parts whose fields have values of a wrong type: no writer throws, and every request is legal (law M6). */

import { describe, expect, it } from 'vitest'
import type { OpenPart } from '../../src/event/shapes.ts'
import { toUIMessages } from '../../src/messages/ui/write.ts'
import { replay } from '../../src/state/reduce.ts'
import { OPEN_PARTS } from '../../src/testing/content.ts'
import { GRAMMARS } from './grammars.ts'
import { WRONG_VALUES } from './wrong-parts.ts'

/** The part with each value in place of each of its fields, at any depth. */
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
  it.each(Object.entries(GRAMMARS))('%s', (__, { write, validate }) => {
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

  it('messages of the UI', () => {
    for (const wrong of wrongParts(part)) {
      const state = replay([
        { kind: 'MessageEvent', id: 'm', source: 'user', llm_message: { role: 'user', content: [wrong] } },
      ])
      expect(toUIMessages(state)).toHaveLength(1)
    }
  })
})
