/** M14: OpenAI Responses outputs are sent as items if their call is, otherwise as text. */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { OpenPart } from '../src/event/shapes.ts'
import type { Event } from '../src/event/types.ts'
import { toMessages } from '../src/messages/neutral.ts'
import { fromOpenAIResponses } from '../src/messages/openai-responses/read.ts'
import { toOpenAIResponses } from '../src/messages/openai-responses/write.ts'
import { placeholderOf } from '../src/messages/pieces.ts'
import { replay } from '../src/state/reduce.ts'
import { SETTLING, type Sample } from '../test/messages/user-parts.ts'
import { validateOpenAiResponses } from '../src/messages/openai-responses/rules.ts'
import { CLIENT_CALLS } from './replies/responses-parts.ts'
import { always } from './run.ts'
import { Tally } from './tally.ts'

const REQUESTS = {
  mcp_approval_response: (id: string) => ({
    type: 'mcp_approval_request',
    id,
    server_label: 'echo',
    name: 'echo',
    arguments: '{}',
  }),
  tool_search_output: (call_id: string) => ({
    type: 'tool_search_call',
    id: `tsc_${call_id}`,
    call_id,
    execution: 'client',
    status: 'completed',
    arguments: { query: 'ls' },
  }),
} as const

const [text, outputs] = [
  SETTLING.filter(({ role: position }) => position === 'user'),
  SETTLING.filter(({ role: position }) => position === 'result'),
] as const

const id = fc.constantFrom('mcpr_0', 'mcpr_1', 'mcpr_2')

const turn = fc.record({
  reasons: fc.constantFrom(null, 'gAAA', ''),
  requests: fc.uniqueArray(fc.tuple(fc.constantFrom(...Object.values(REQUESTS)), id), { maxLength: 3 }),
  replies: fc.array(
    fc.oneof(
      { weight: 4, arbitrary: fc.tuple(fc.constantFrom<Sample>(...text), id) },
      { weight: 1, arbitrary: fc.constant(null) },
    ),
    { minLength: 1, maxLength: 4 },
  ),
})

type Turn = typeof turn extends fc.Arbitrary<infer Of> ? Of : never

const user = (index: string, content: readonly object[]): Event => ({
  kind: 'MessageEvent',
  id: index,
  source: 'user',
  llm_message: { role: 'user', content: content as OpenPart[] },
})

const reasoning = (n: number, seal: string) => ({
  type: 'reasoning',
  id: `rs_${n}`,
  summary: [],
  ...(seal === '' ? {} : { encrypted_content: seal }),
})

const inputOf = (events: readonly Event[]) => {
  const request = toOpenAIResponses(toMessages(replay([user('u', [{ text: 'Hi.' }]), ...events])))
  expect(validateOpenAiResponses(request)).toEqual([])
  return request.input as readonly object[]
}

const timesIn = (items: readonly object[], item: object): number =>
  items.filter((each) => JSON.stringify(each) === JSON.stringify(item)).length

function eventsOf({ reasons, requests, replies }: Turn, n: number): Event[] {
  const output = [
    ...(reasons === null ? [] : [reasoning(n, reasons)]),
    ...requests.map(([make, of]) => make(of)),
    { type: 'message', content: [{ type: 'output_text', text: 'May I?' }] },
  ]
  const read = fromOpenAIResponses({ output }).events
  return [
    ...read.map((event) => ({ ...event, id: `r${n}` })),
    user(
      `u${n}`,
      replies.map((input) => (input === null ? { text: 'Well.' } : input[0].make(input[1]))),
    ),
  ]
}

describe('M14, items of OpenAI Responses that settle a request of the model', () => {
  it('are sent as items if they settle an open request, and by name otherwise', () => {
    const tally = new Tally<'sent' | 'named'>()
    always(fc.array(turn, { minLength: 1, maxLength: 3 }), (turns) => {
      const input = inputOf(turns.flatMap(eventsOf))
      const request = JSON.stringify(input)
      const value = turns.flatMap(({ replies }) => replies.flatMap((each) => (each === null ? [] : [each])))
      const names = value.map(([sample, of]) => placeholderOf(sample.make(of)))
      const named = [...new Set(names)].reduce((sum, name) => sum + request.split(name).length - 1, 0)
      const sent = input.filter((item) => text.some(({ kind }) => kind === Reflect.get(item, 'type')))
      expect(sent.length + named).toBe(value.length)
      for (const item of sent)
        expect(value.some(([sample, of]) => timesIn([item], sample.make(of)) === 1)).toBe(true)
      const [first] = turns
      const [settled] = first?.replies ?? []
      if (settled && first !== undefined && first.reasons !== '') {
        const [{ kind, make }, of] = settled
        const isRequested = first.requests.some(
          ([make, to]) => make === REQUESTS[kind as keyof typeof REQUESTS] && to === of,
        )
        expect(timesIn(inputOf(eventsOf(first, 0)), make(of))).toBe(isRequested ? 1 : 0)
      }
      tally.count([
        ...(sent.length > 0 ? (['sent'] as const) : []),
        ...(named > 0 ? (['named'] as const) : []),
      ])
    })
    tally.require(['sent', 'named'])
  })

  it('are sent as the result of a call of the same type if the result has no other content', () => {
    const tally = new Tally<'sent' | 'as_text'>()
    const call = fc.constantFrom(...CLIENT_CALLS)
    const results = fc.array(fc.tuple(call, fc.constantFrom<Sample>(...outputs), fc.boolean()), {
      minLength: 1,
      maxLength: 3,
    })
    always(results, (calls) => {
      const { events } = fromOpenAIResponses({ output: calls.map(([make], n) => make(n)) })
      const observed = calls.map(([, sample, isAlone], n): Event => ({
        kind: 'ObservationEvent',
        id: `o${n}`,
        tool_name: 'ls',
        tool_call_id: `call_${n}`,
        action_id: `r${n}`,
        observation: {
          kind: 'X',
          content: [...(isAlone ? [] : [{ text: 'Done.' }]), sample.make(`call_${n}`)] as OpenPart[],
        },
      }))
      const actions = events.filter(({ kind }) => kind === 'ActionEvent')
      const input = inputOf([...actions.map((event, n) => ({ ...event, id: `r${n}` })), ...observed])
      for (const [n, [make, sample, isAlone]] of calls.entries()) {
        const part = sample.make(`call_${n}`)
        const isSent = isAlone && sample.kind === `${make(n).type}_output`
        expect(timesIn(input, part)).toBe(isSent ? 1 : 0)
        if (!isAlone) expect(JSON.stringify(input)).toContain('Done.')
        tally.count([isSent ? 'sent' : 'as_text'])
      }
    })
    tally.require(['sent', 'as_text'])
  })
})
