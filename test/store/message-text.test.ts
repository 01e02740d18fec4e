/** The text of events that a search covers. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { OpenPart } from '../../src/event/shapes.ts'
import type { Event } from '../../src/event/types.ts'
import { foldText, messageText } from '../../src/store/kit/query/message-text.ts'
import { eventText } from '../../src/store/kit/query/text-tokens.ts'
import { anyEvent } from '../../src/testing/index.ts'
import { character } from '../../src/testing/text.ts'

const text = (): fc.Arbitrary<string> => fc.string({ unit: character })

describe('folded text', () => {
  it('is well formed, contains no NUL, and is unchanged when folded again', () => {
    fc.assert(
      fc.property(text(), (input) => {
        const folded = foldText(input)
        expect(folded).not.toContain('\u0000')
        expect(folded).not.toMatch(/[\ud800-\udfff]/u)
        expect(foldText(folded)).toBe(folded)
      }),
    )
  })

  it('contains each folded substring', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme' }),
        fc.string({ unit: 'grapheme' }),
        fc.string({ unit: 'grapheme' }),
        (a, b, c) => {
          expect(foldText(a + b + c)).toContain(foldText(b))
          expect(foldText(`ab${'ΟΔΟΣ'}cd`)).toContain(foldText('οδος'))
        },
      ),
    )
  })
})

const message = (llm: object, more: object = {}): Event => ({
  kind: 'MessageEvent',
  source: 'user',
  llm_message: { role: 'user', ...llm },
  ...more,
})

describe('the searchable text of an event', () => {
  it('is null for events that are not messages', () => {
    fc.assert(
      fc.property(anyEvent(), (event) => {
        expect(messageText(event) === null).toBe(event.kind !== 'MessageEvent')
      }),
    )
    expect(messageText({ quarantined: true, raw: '{"kind":"MessageEvent"}', issues: [] })).toBeNull()
  })

  it('includes titles and plain text of documents and search results, but no base64', () => {
    const source = { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0x' }
    const plain = { type: 'text', media_type: 'text/plain', data: 'Forty-two.' }
    const content: OpenPart[] = [
      { type: 'document', title: 'Plan', source },
      { type: 'document', source: plain },
      { type: 'search_result', title: 'T', source: 'kb', content: [{ type: 'text', text: 'Found' }] },
      { type: 'video', url: 'https://example.com', constructor: 'none' },
    ]
    expect(messageText(message({ content }))).toBe('plan\nforty-two.\nt\nfound')
  })

  it('has one line per text part, without images', () => {
    expect(messageText(message({}))).toBe('')
    expect(messageText(message({ content: [] }, { extended_content: [{ text: 'X' }] }))).toBe('x')
    const content = [{ text: 'A' }, { type: 'image', image_urls: ['u'] }, { type: 'text', text: 'B' }]
    expect(messageText(message({ content, reasoning_content: 'R' }, { sender: 'S' }))).toBe('a\nb')
  })

  it('ignores malformed content of tool results', () => {
    const result = { kind: 'ObservationEvent', tool_name: 't', tool_call_id: 'c', action_id: 'a' }
    const texts = ['x', 7, null, {}, [null], [7], [[]], [{ text: 7 }], [{ text: null }], [{ type: 7 }]].map(
      (value) => [
        eventText({ ...result, observation: { kind: 'O', content: value } } as never),
        eventText({
          ...result,
          observation: { kind: 'O', content: [{ text: 'Hi' }] },
          extended_content: value,
        } as never)?.text,
      ],
    )
    for (const each of texts) expect(each).toEqual([null, 'Hi'])
  })
})
