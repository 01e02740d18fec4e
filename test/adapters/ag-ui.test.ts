/** A conversation over AG-UI, as AG-UI's own client reads it. */

import { type BaseEvent, HttpAgent, type RunAgentInput } from '@ag-ui/client'
import type { AGUIEvent } from '@ag-ui/core'
import { EventSchemas } from '@ag-ui/core/schemas'
import { describe, expect, it } from 'vitest'
import { agUiEvents, agUiMessages, agUiResponse, receiveRunInput } from '../../src/adapters/ag-ui.ts'
import type { Conversation } from '../../src/conversation/conversation.ts'
import { createEngine } from '../../src/conversation/engine.ts'
import type { Step } from '../../src/conversation/run/step.ts'
import type { RunOptions } from '../../src/conversation/run/options.ts'
import { isToolResult } from '../../src/event/kinds.ts'
import type { Event } from '../../src/event/types.ts'
import { pathTo } from '../../src/state/read.ts'
import type { State } from '../../src/state/state.ts'
import { memoryStore } from '../../src/store/memory/store.ts'

const open = (): Promise<Conversation> => createEngine({ store: memoryStore() }).create()

const says = (text: string): Event => ({
  kind: 'MessageEvent',
  source: 'agent',
  llm_message: { role: 'assistant', content: [{ text }], reasoning_content: 'Hm.' },
})
const calls = (id: string): Event => ({
  kind: 'ActionEvent',
  id,
  source: 'agent',
  thought: [{ text: 'Let me look.' }],
  action: { kind: 'WeatherAction', city: 'Rome' },
  tool_name: 'weather',
  tool_call_id: `call-${id}`,
  tool_call: { id: `call-${id}`, name: 'weather', arguments: '{"city":"Rome"}', origin: 'completion' },
  llm_response_id: `reply-${id}`,
})
const ends = (id: string, text: string): Event => ({
  kind: 'ObservationEvent',
  action_id: id,
  tool_name: 'weather',
  tool_call_id: `call-${id}`,
  observation: { kind: 'WeatherObservation', content: [{ text }] },
})

const hasResult = (state: State): boolean =>
  pathTo(state).some(({ event }) => event !== null && isToolResult(event))

const policy = (): boolean => true

/** Speaks in pieces, calls a tool, and speaks again. */
const step: Step = async function* ({ state }) {
  if (hasResult(state)) {
    yield says('It is sunny in Rome.')
    return
  }
  for (const content of ['Let me ', 'look.']) yield { kind: 'StreamingDeltaEvent', content }
  yield [calls('a'), ends('a', 'sunny')]
}

/** A server of one conversation, as a handler would be written. */
function serverOf(conversation: Conversation, by: Step, seen: BaseEvent[] = [], options: RunOptions = {}) {
  return async (_url: string, { body }: RequestInit): Promise<Response> => {
    const input = await receiveRunInput(conversation, JSON.parse(String(body)))
    const response = agUiResponse(conversation, { input, run: () => conversation.run(by, options) })
    const text = await response.text()
    for (const line of text.split('\n\n')) if (line !== '') seen.push(JSON.parse(line.slice('data: '.length)))
    return new Response(text, { headers: response.headers })
  }
}

const agentOf = (fetch: ReturnType<typeof serverOf>, id: string): HttpAgent =>
  new HttpAgent({ url: 'http://localhost/agent', threadId: id, fetch: fetch as never })

describe('a conversation over AG-UI', () => {
  it('is read by the client of AG-UI, which ends with the messages of the log', async () => {
    const conversation = await open()
    const seen: BaseEvent[] = []
    const agent = agentOf(serverOf(conversation, step, seen), conversation.id)
    agent.addMessage({ id: 'm1', role: 'user', content: 'What is it like in Rome?' })
    await agent.runAgent({ runId: 'r1' })
    expect(agent.messages).toEqual(agUiMessages(await conversation.state()))
    expect(agent.messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'reasoning',
      'assistant',
    ])
    const types = seen.map(({ type }) => String(type))
    expect(types.slice(0, 3)).toEqual(['RUN_STARTED', 'MESSAGES_SNAPSHOT', 'TEXT_MESSAGE_START'])
    expect(types.slice(-2)).toEqual(['MESSAGES_SNAPSHOT', 'RUN_FINISHED'])
    expect(types).toEqual(
      expect.arrayContaining(['TOOL_CALL_START', 'TOOL_CALL_ARGS', 'TOOL_CALL_END', 'TOOL_CALL_RESULT']),
    )
    expect(types).toEqual(
      expect.arrayContaining(['REASONING_START', 'REASONING_MESSAGE_CONTENT', 'REASONING_END']),
    )
    for (const event of seen) expect(EventSchemas.safeParse(event)).toMatchObject({ success: true })
  })

  it('takes the same input once, and shows a client that comes back what it has missed', async () => {
    const conversation = await open()
    const input = { threadId: 't', runId: 'r', messages: [{ id: 'm1', role: 'user', content: 'Rome?' }] }
    await receiveRunInput(conversation, input)
    await receiveRunInput(conversation, input)
    // The client goes away in the middle; the run goes on.
    const run = (): Promise<unknown> => conversation.run(step)
    for await (const event of agUiEvents(conversation, { input, run }))
      if (event.type === 'TEXT_MESSAGE_CONTENT') break
    await expect.poll(async () => (await conversation.state()).header.status).toBe('finished')
    const again: AGUIEvent[] = []
    for await (const event of agUiEvents(conversation, { input })) again.push(event)
    expect(again.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' } })
    expect(again.find(({ type }) => type === 'MESSAGES_SNAPSHOT')).toEqual({
      type: 'MESSAGES_SNAPSHOT',
      messages: agUiMessages(await conversation.state()),
    })
  })

  it('interrupts for calls that wait for a user, and goes on as the user decides', async () => {
    for (const [status, result] of [
      ['resolved', 'sunny'],
      ['cancelled', 'rejected'],
    ] as const) {
      // oxlint-disable-next-line no-await-in-loop
      const conversation = await open()
      const asking: Step = async function* ({ state, approved }) {
        if (approved.length > 0) yield approved.map(({ id }) => ends(id, 'sunny'))
        else if (hasResult(state)) yield says('Done.')
        else yield calls('a')
      }
      const server = serverOf(conversation, asking, [], { policy })
      const agent = agentOf(server, conversation.id)
      agent.addMessage({ id: 'm1', role: 'user', content: 'Rome?' })
      // oxlint-disable-next-line no-await-in-loop
      await agent.runAgent({ runId: 'r1' })
      expect(agent.pendingInterrupts.map(({ id, reason }) => [id, reason])).toEqual([['a', 'tool_call']])
      // oxlint-disable-next-line no-await-in-loop
      await agent.runAgent({ runId: 'r2', resume: [{ interruptId: 'a', status }] })
      const tool = agent.messages.find(({ role }) => role === 'tool')
      expect(JSON.stringify(tool)).toContain(result)
    }
  })

  it('says what is missing from an input', async () => {
    await expect(
      receiveRunInput(await open(), { threadId: 't' } satisfies Partial<RunAgentInput>),
    ).rejects.toThrow('Pass an AG-UI input with threadId, runId and messages.')
  })
})
