/** OpenAI's async tools: the call is sent at once, its output when the call completes (law M18). */

import { describe, expect, it } from 'vitest'
import { completionMessage } from '../../src/event/completion.ts'
import type { ActionEvent, Event } from '../../src/event/types.ts'
import { fromOpenAIResponses, toAnthropic, toOpenAIResponses } from '../../src/messages/index.ts'
import { validateOpenAiResponses } from '../../src/messages/openai-responses/rules.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { decideNavigate } from '../../src/conversation/decide.ts'
import { reduce, replay } from '../../src/state/reduce.ts'
import type { State } from '../../src/state/state.ts'

const user = (id: string, text: string): Event => ({
  kind: 'MessageEvent',
  id,
  source: 'user',
  llm_message: { role: 'user', content: [{ type: 'text', text }] },
})

const fold = (state: State, ...events: readonly Event[]): State => events.reduce(reduce, state)

/** The state after a reply of reasoning, an async call and a message, and the action of the call. */
function replyState(): { readonly state: State; readonly action: ActionEvent & { readonly id: string } } {
  const state = replay([user('u1', 'Weather in Paris? And what is 2+2?')])
  const request = toOpenAIResponses(toMessages(state))
  const response = {
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    model: 'gpt-6-astra',
    output: [
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'AAAA' },
      {
        type: 'function_call',
        id: 'fc_1',
        call_id: 'call_1',
        name: 'get_weather',
        arguments: '{"city":"Paris"}',
        status: 'completed',
        async: true,
      },
      {
        type: 'message',
        id: 'msg_1',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: '2+2 is 4.', annotations: [] }],
      },
    ],
  }
  const { events } = fromOpenAIResponses(response as never, { request })
  const next = fold(state, ...events)
  const action = [...next.log.entries].find(({ event }) => event?.kind === 'ActionEvent')
  return { state: next, action: { ...(action?.event as ActionEvent), id: String(action?.id) } }
}

const workingResult = ({ id, tool_name, tool_call_id }: ActionEvent & { readonly id: string }): Event => ({
  kind: 'ObservationEvent',
  source: 'environment',
  action_id: id,
  tool_name,
  tool_call_id,
  observation: { kind: 'WorkingObservation', content: [{ type: 'text', text: 'Started.' }], task: 1 },
})

const completion = (action: ActionEvent & { readonly id: string }): Event =>
  completionMessage({ id: action.id, event: action }, [{ type: 'text', text: '22 C' }], 'done')

const inputOf = (state: State) => {
  const request = toOpenAIResponses(toMessages(state))
  expect(validateOpenAiResponses(request)).toEqual([])
  return request.input
}

const typesOf = (state: State): string[] => inputOf(state).map(({ type }) => type)

describe('an async call of OpenAI Responses', () => {
  it('is sent back unchanged, and its output follows once the call is completed', () => {
    const { state, action } = replyState()
    const working = fold(state, workingResult(action))
    const first = ['message', 'reasoning', 'function_call', 'message']
    expect(typesOf(working)).toEqual(first)
    expect(inputOf(working)[2]).toMatchObject({ call_id: 'call_1', async: true })
    const continued = fold(working, user('u2', 'And 3+3?'))
    expect(typesOf(continued)).toEqual([...first, 'message'])
    const done = fold(continued, completion(action))
    expect(typesOf(done)).toEqual([...first, 'message', 'function_call_output'])
    expect(inputOf(done).at(-1)).toEqual({ type: 'function_call_output', call_id: 'call_1', output: '22 C' })
    // The earlier items are unchanged.
    expect(JSON.stringify(inputOf(done).slice(0, -1))).toBe(JSON.stringify(inputOf(continued)))
    // A second completion is an ordinary message.
    const again = fold(done, { ...completion(action), id: 'again' })
    expect(inputOf(again).slice(-2)).toMatchObject([{ type: 'function_call_output' }, { type: 'message' }])
  })

  it('has its result as a text in other grammars, and once the call is forgotten', () => {
    const { state, action } = replyState()
    const done = fold(state, workingResult(action), user('u2', 'And?'), completion(action))
    const ids = [...done.log.entries].flatMap(({ id, event }) =>
      event?.kind === 'ActionEvent' ? [String(id)] : [],
    )
    const forgotten = fold(done, {
      kind: 'Condensation',
      source: 'environment',
      llm_response_id: 'c',
      forgotten_event_ids: ids,
    })
    expect(JSON.stringify(inputOf(forgotten))).toContain(
      '[The call call_1 of get_weather is done. Its result:]',
    )
    expect(JSON.stringify(inputOf(forgotten))).not.toContain('function_call_output')
    const { messages } = toAnthropic(toMessages(done))
    expect(JSON.stringify(messages)).toContain('Started.')
    expect(JSON.stringify(messages)).toContain('[The call call_1 of get_weather is done. Its result:]')
  })

  it('gets its output from the messages, also when a caller masked them', () => {
    const { state, action } = replyState()
    const messages = toMessages(fold(state, workingResult(action), completion(action)))
    const masked = JSON.parse(JSON.stringify(messages).replace('22 C', '***')) as typeof messages
    expect(toOpenAIResponses(masked).input.at(-1)).toMatchObject({ output: '***' })
    expect(JSON.stringify(toOpenAIResponses(masked))).not.toContain('22 C')
  })

  it('is sent without output after navigation to an event before its completion', () => {
    const { state, action } = replyState()
    const continued = fold(state, workingResult(action), user('u2', 'And?'))
    const done = fold(continued, completion(action))
    const back = fold(done, ...decideNavigate(done, 'u2'))
    expect(JSON.stringify(inputOf(back))).toBe(JSON.stringify(inputOf(continued)))
  })
})
