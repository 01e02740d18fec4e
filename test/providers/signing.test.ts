/** A signing provider accepts the history that it signed, and rejects every changed history. */

import { describe, expect, it } from 'vitest'
import { MESSAGE_PARTS, refusals, seenText, sign, sightOf } from '../../src/messages/fake.ts'

const messageSight = sightOf('system', 'messages', MESSAGE_PARTS)

interface Block {
  readonly type: string
  readonly [field: string]: unknown
}

interface Message {
  readonly role: string
  readonly content: readonly Block[]
}

const text = (text: string): Block => ({ type: 'text', text: text })
const user = (...content: Block[]): Message => ({ role: 'user', content })
const system = [text('Be brief.')]
const tools = [{ name: 'ls' }]

/** A provider's reply: its thinking is signed over the request and its text so far. */
function replied(messages: readonly Message[], ...content: Block[]): Message {
  const texts: Block[] = []
  for (const block of content) {
    const seen = messageSight.see(
      { system, messages: [...messages, { role: 'assistant', content: texts }] },
      tools,
    )
    const signature = sign(seen, seenText(block))
    texts.push(block.type === 'thinking' ? { ...block, signature } : block)
  }
  return { role: 'assistant', content: texts }
}

const think = (thinking: string): Block => ({ type: 'thinking', thinking })
const one = [user(text('one'))]
const two = [
  ...one,
  replied(one, think('a'), text('b'), think('c'), { type: 'tool_use', id: 't', name: 'ls', input: { p: 1 } }),
  user({ type: 'tool_result', tool_use_id: 't', content: [text('files')] }, text('more')),
]
const history = [...two, replied(two, think('d'), text('e')), user(text('three'))]
const refusalsOf = (
  messages: readonly Message[],
  front: readonly Block[] = system,
  list: unknown = tools,
): string[] => refusals(messageSight.see({ system: front, messages }, list))

/** The history with the content of one message changed. */
const withContent = (position: number, change: (content: readonly Block[]) => readonly Block[]): Message[] =>
  history.map((message, index) =>
    index === position ? { ...message, content: change(message.content) } : message,
  )
const without = (position: number, ...removed: number[]) =>
  withContent(position, (content) => content.filter((_, index) => !removed.includes(index)))

describe('a signing provider', () => {
  it.each<readonly [string, readonly Message[]]>([
    ['the history that it signed', history],
    [
      'added cache marks',
      withContent(0, ([block]) => [{ ...block, type: 'text', cache_control: { type: 'ephemeral' } }]),
    ],
    [
      'a message split in two',
      [
        ...history.slice(0, 2),
        user(history[2]?.content[0] as Block),
        user(text('more')),
        ...history.slice(3),
      ],
    ],
    [
      'a history without thinking',
      history.map((message) => ({
        ...message,
        content: message.content.filter(({ type }) => type !== 'thinking'),
      })),
    ],
    ['a history without its first thinking block', without(1, 0)],
    ['another message at the end', [...history, user(text('four'))]],
  ])('accepts %s', (_, messages) => {
    expect(refusalsOf(messages)).toEqual([])
  })

  const altered = (position: number, block: number, fields: object) =>
    withContent(position, (content) =>
      content.map((each, index) => (index === block ? { ...each, ...fields } : each)),
    )

  it.each<readonly [string, readonly Message[]]>([
    ['an altered thought', altered(1, 0, { thinking: 'A' })],
    ['an altered signature', altered(1, 0, { signature: 'x' })],
    ['an empty signature', altered(3, 0, { signature: '' })],
    ['the signature of another block', altered(3, 0, { signature: history[1]?.content[0]?.['signature'] })],
    ['another question', altered(0, 0, { text: 'One' })],
    ['a space after a question', altered(0, 0, { text: 'one ' })],
    ['another text in a reply', altered(1, 1, { text: 'B' })],
    ['a trimmed text in a reply', altered(1, 1, { text: '' })],
    ['another input of a call', altered(1, 3, { input: { p: 2 } })],
    ['another id of a call', altered(1, 3, { id: 'u' })],
    ['another result', altered(2, 0, { content: [text('masked')] })],
    ['a result that became an error', altered(2, 0, { is_error: true })],
    ['a missing block in a question', without(2, 1)],
    ['a missing text between two thoughts', without(1, 1)],
    ['a missing second thought', without(1, 2)],
    ['a thought moved to the front', withContent(1, ([a, b, c, call]) => [a, c, b, call] as Block[])],
    ['two thoughts swapped', withContent(1, ([a, b, c, call]) => [c, b, a, call] as Block[])],
    [
      'a thought moved to another reply',
      [
        ...history.slice(0, 3),
        { role: 'assistant', content: [...(history[1]?.content.slice(0, 1) ?? []), text('e')] },
        ...history.slice(4),
      ],
    ],
    [
      'an inserted message',
      [...history.slice(0, 2), history[2] as Message, user(text('by the way')), ...history.slice(3)],
    ],
    ['a removed message', history.toSpliced(2, 1)],
    ['a summary at the front', [user(text('summary')), ...history.slice(2)]],
    ['a repeated reply', [...history.slice(0, 2), ...history.slice(1)]],
    ['two turns swapped', [history[0], history[3], history[2], history[1], history[4]] as Message[]],
    [
      'an inserted system message',
      [...history.slice(0, 3), { role: 'system', content: [text('new')] }, ...history.slice(3)],
    ],
  ])('rejects %s', (_, messages) => {
    expect(refusalsOf(messages)).not.toEqual([])
  })

  it('rejects another system prompt, another tool and an additional tool', () => {
    expect(refusalsOf(history, [text('Be long.')])).toHaveLength(3)
    expect(refusalsOf(history, system, [{ name: 'cat' }])).toHaveLength(3)
    expect(refusalsOf(history, system, [...tools, { name: 'cat' }])).toHaveLength(3)
  })
})
