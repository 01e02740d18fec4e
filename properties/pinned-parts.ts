/** Pinned logs with unusual parts in messages and results: counterexamples of the laws. */

import type { GrammarName } from '../src/event/reply.ts'
import type { JsonValue } from '../src/event/shapes.ts'
import type { Event } from '../src/event/types.ts'
import { agent, call, type Pinned, result, user } from './pinned.ts'

const IMAGE = 'data:image/png;base64,iVBORw0KGgo='
const PROGRAM = { type: 'program', id: 'cm_1', call_id: 'p', code: 'ls()', fingerprint: 'f' }
const OUTPUT = { type: 'program_output', id: 'co_1', call_id: 'p', result: '1', status: 'completed' }
const SEARCH = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'oak' } }
const FOUND = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] }

const toolCall = (grammar: GrammarName, ...parts: readonly JsonValue[]) => ({
  tool_call: { id: 'c', name: 'ls', arguments: '{}', origin: 'completion', reply: { grammar, parts } },
})

/** Text after reasoning that cannot be sent without its seal. */
const text = (id: string, ...parts: readonly JsonValue[]) =>
  agent(id, {
    llm_message: {
      role: 'assistant',
      content: [{ text: id }],
      responses_reasoning_item: {
        id: 'rs_1',
        summary: [],
        content: null,
        encrypted_content: null,
        status: null,
      },
      reply: { grammar: 'openai-responses', parts },
    },
  } as Partial<Event>)

export const PART_CASES: readonly Pinned[] = [
  {
    title: 'R2 `reduce` accepts an image with a `text` field that is a number',
    facts: [
      agent('m', { llm_message: { role: 'assistant', content: [{ image_urls: [], text: 7 } as never] } }),
    ],
    view: ['m'],
    status: 'idle',
  },
  {
    title: 'T5 the `text` field of an image is not content, so the turn is not over',
    facts: [
      agent('m', {
        llm_message: { role: 'assistant', content: [{ image_urls: [], text: 'not said' } as never] },
      }),
    ],
    view: ['m'],
    status: 'idle',
  },
  {
    title: 'M17 a program and its output after reasoning that cannot be sent are both sent as text',
    facts: [
      user('u'),
      text('m', { other: PROGRAM }, { reasoning: 0 }, { other: OUTPUT }, { text: 0 }),
      user('u2'),
    ],
    view: ['u', 'm', 'u2'],
  },
  {
    title: 'M17 a program and its output in the continued reply are both sent as text',
    facts: [
      user('u'),
      call('a', 'c', 'r', toolCall('openai-responses', { other: PROGRAM }, { call: 0 }) as Partial<Event>),
      result('o', 'c', 'a'),
      text('m', { reasoning: 0 }, { other: OUTPUT }, { text: 0 }),
      user('u2'),
    ],
    view: ['u', 'a', 'o', 'm', 'u2'],
  },
  {
    title: 'M3 an image in a failed result does not separate a server tool call from its result',
    facts: [
      user('u'),
      call('a', 'c', 'r', toolCall('anthropic', { other: SEARCH }, { call: 0 }) as Partial<Event>),
      result('o', 'c', 'a', {
        observation: { kind: 'MyObservation', is_error: true, content: [{ image_urls: [IMAGE] }] },
      } as Partial<Event>),
      agent('m', {
        llm_message: {
          role: 'assistant',
          content: [{ text: 'm' }],
          reply: { grammar: 'anthropic', parts: [{ other: FOUND }, { text: 0 }] },
        },
      } as Partial<Event>),
      user('u2'),
    ],
    view: ['u', 'a', 'o', 'm', 'u2'],
  },
  {
    title: 'M1 a document in a result is sent after the results if these allow only text',
    facts: [
      user('u'),
      call('a', 'c', 'r'),
      result('o', 'c', 'a', {
        observation: {
          kind: 'MyObservation',
          content: [
            { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } },
          ],
        },
      } as Partial<Event>),
    ],
    view: ['u', 'a', 'o'],
  },
]
