/** The AG-UI adapter, tested with AG-UI's own client. */

import { type BaseEvent, HttpAgent, type RunAgentInput } from '@ag-ui/client'
import { type AGUIEvent, type ContentPart, EventType } from '@ag-ui/core'
import { EventSchemas } from '@ag-ui/core/schemas'
import { setTimeout as wait } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  agUiEvents,
  agUiMessages,
  type AgUiOptions,
  agUiResponse,
  receiveRunInput,
} from '../../src/adapters/ag-ui.ts'
import type { Conversation } from '../../src/conversation/conversation.ts'
import { createEngine } from '../../src/conversation/engine.ts'
import type { Step } from '../../src/conversation/run/step.ts'
import type { RunOptions } from '../../src/conversation/run/options.ts'
import { isColloquyError } from '../../src/event/errors.ts'
import { isToolResult } from '../../src/event/kinds.ts'
import type { Event } from '../../src/event/types.ts'
import { RUNS } from '../../properties/run.ts'
import { checkLog } from '../../src/laws/index.ts'
import { toAnthropic } from '../../src/messages/anthropic/write.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { pathTo } from '../../src/state/read.ts'
import { replay } from '../../src/state/reduce.ts'
import type { State } from '../../src/state/state.ts'
import { executeCalls } from '../../src/steps/step-of.ts'
import { subagent } from '../../src/steps/index.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { call, evictBodies, script } from '../conversation/script.ts'

const open = (): Promise<Conversation> => createEngine({ store: memoryStore() }).create()

const agentMessage = (text: string): Event => ({
  kind: 'MessageEvent',
  source: 'agent',
  llm_message: { role: 'assistant', content: [{ text }], reasoning_content: 'Hm.' },
})
const toolCall = (id: string): Event => ({
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
const toolResult = (id: string, text: string): Event => ({
  kind: 'ObservationEvent',
  action_id: id,
  tool_name: 'weather',
  tool_call_id: `call-${id}`,
  observation: { kind: 'WeatherObservation', content: [{ text }] },
})

const hasResult = (state: State): boolean =>
  pathTo(state).some(({ event }) => event !== null && isToolResult(event))

const policy = (): boolean => true

/** Calls a tool that another program executes. */
const callingStep: Step = async function* ({ state }) {
  if (hasResult(state)) yield agentMessage('Done.')
  else yield toolCall('a')
}

/** Replies in pieces, calls a tool, and replies again. */
const weatherStep: Step = async function* ({ state }) {
  if (hasResult(state)) {
    yield agentMessage('It is sunny in Rome.')
    return
  }
  for (const content of ['Let me ', 'look.']) yield { kind: 'StreamingDeltaEvent', content }
  yield [toolCall('a'), toolResult('a', 'sunny')]
}

const toolOf = (name: string, agentStep: Step) =>
  new Map([[name, subagent({ name, description: 'Helps.', step: agentStep })]])

/** A request handler for one conversation. */
function serverOf(
  conversation: Conversation,
  agentStep: Step,
  received: BaseEvent[] = [],
  options: RunOptions = {},
  more: Partial<AgUiOptions> = {},
) {
  return async (_url: string, { body }: RequestInit): Promise<Response> => {
    const input = await receiveRunInput(conversation, JSON.parse(String(body)))
    const response = agUiResponse(conversation, {
      ...more,
      input,
      run: () => conversation.run(agentStep, options),
    })
    let text = ''
    let position = 0
    for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += piece
      for (let end; (end = text.indexOf('\n\n', position)) !== -1; position = end + 2)
        received.push(JSON.parse(text.slice(position + 'data: '.length, end)))
    }
    return new Response(text, { headers: response.headers })
  }
}

const agentOf = (fetch: ReturnType<typeof serverOf>, id: string): HttpAgent =>
  new HttpAgent({ url: 'http://localhost/agent', threadId: id, fetch: fetch as never })

const subagentCall = (id: string, tool: string) =>
  call(id, tool, { action: { kind: `${tool}Action`, task: `task of ${id}` }, llm_response_id: 'r' })

const countingStep: Step = async function* () {
  yield { kind: 'ConversationStateUpdateEvent', source: 'agent', key: 'ag_ui.state', value: { count: 2 } }
  yield agentMessage('Counted.')
}

async function allOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

const byId = (a: { id: string }, b: { id: string }): number => (a.id < b.id ? -1 : 1)

const update = (key: string, value: object): Event => ({
  kind: 'ConversationStateUpdateEvent',
  source: 'agent',
  key,
  value: value as never,
})

const greetingStep: Step = async function* () {
  yield agentMessage('Welcome.')
}

const data = (mimeType: string, value: string) => ({ type: 'data', value, mimeType })

const url = (value: string) => ({ type: 'url', value })

const progressStep: Step = async function* ({ state }) {
  if (!hasResult(state)) {
    const observation = { kind: 'WorkingObservation', content: [{ text: 'Working.' }] }
    yield [toolCall('a'), { ...toolResult('a', ''), observation }]
    return
  }
  for (const progress of [0.25, 0.5, 0.75]) {
    yield update('call_progress', { action_id: 'a', progress, content: `at ${progress}` })
    await wait(5)
  }
  yield update('call_progress', { action_id: 'a', 'a/b~c': 'escaped' })
  yield agentMessage('Started.')
}

const laterProgressStep: Step = async function* () {
  yield update('call_progress', { action_id: 'a', progress: 0.9 })
  await wait(5)
  yield agentMessage('Still working.')
}

const imagesOf = (image_urls: string[]) => {
  const llm_message = { role: 'user' as const, content: [{ type: 'image' as const, image_urls }] }
  const [message] = agUiMessages(replay([{ kind: 'MessageEvent', id: 'm', source: 'user', llm_message }]))
  return ((message?.content ?? []) as ContentPart[]).map((part) => 'source' in part && part.source.value)
}

describe('the AG-UI adapter', () => {
  it('streams a run that leaves the AG-UI client with the messages of the log', async () => {
    const conversation = await open()
    const received: BaseEvent[] = []
    const agent = agentOf(serverOf(conversation, weatherStep, received), conversation.id)
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
    const types = received.map(({ type }) => String(type))
    expect(types.slice(0, 4)).toEqual([
      'RUN_STARTED',
      'MESSAGES_SNAPSHOT',
      'STEP_STARTED',
      'TEXT_MESSAGE_START',
    ])
    expect(types.slice(-2)).toEqual(['MESSAGES_SNAPSHOT', 'RUN_FINISHED'])
    expect(types).toEqual(
      expect.arrayContaining(['TOOL_CALL_START', 'TOOL_CALL_ARGS', 'TOOL_CALL_END', 'TOOL_CALL_RESULT']),
    )
    expect(types).toEqual(
      expect.arrayContaining(['REASONING_START', 'REASONING_MESSAGE_CONTENT', 'REASONING_END']),
    )
    for (const event of received) expect(EventSchemas.safeParse(event)).toMatchObject({ success: true })
  })

  it('appends a repeated input once, and sends missed messages to a client that reconnects', async () => {
    const conversation = await open()
    const input = { threadId: 't', runId: 'r', messages: [{ id: 'm1', role: 'user', content: 'Rome?' }] }
    await receiveRunInput(conversation, input)
    await receiveRunInput(conversation, input)
    // The client disconnects in the middle; the run continues.
    const run = (): Promise<unknown> => conversation.run(weatherStep)
    for await (const event of agUiEvents(conversation, { input, run }))
      if (event.type === 'TEXT_MESSAGE_CONTENT') break
    await expect.poll(async () => (await conversation.state()).header.status).toBe('finished')
    const again = await allOf(agUiEvents(conversation, { input }))
    expect(again.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' } })
    expect(again.find(({ type }) => type === 'MESSAGES_SNAPSHOT')).toEqual({
      type: 'MESSAGES_SNAPSHOT',
      messages: agUiMessages(await conversation.state()),
    })
  })

  it('sends valid events and the messages of the log for any events of a run', async () => {
    const piece = fc.oneof(
      fc.record({ kind: fc.constant('StreamingDeltaEvent'), content: fc.string({ minLength: 1 }) }),
      fc.record({ kind: fc.constant('StreamingDeltaEvent'), reasoning_content: fc.string({ minLength: 1 }) }),
      fc.constantFrom(
        'says',
        'call',
        'open call',
        'progress',
        'shared',
        'update',
        'message',
        'user',
        'condenses',
      ),
    )
    const plans = fc.array(fc.array(piece, { maxLength: 6 }), { minLength: 1, maxLength: 3 })
    const details = fc.subarray(['raw', 'updates', 'encrypted'] as const)
    await fc.assert(
      fc.asyncProperty(plans, details, fc.boolean(), async (plan, shown, hasEngine) => {
        const engine = createEngine({ store: memoryStore() })
        const conversation = await engine.create()
        const received: BaseEvent[] = []
        let calledIn = 0
        let count = 0
        const eventsOf = (name: string): Event[] => {
          const id = `e${(count += 1)}`
          const said = agentMessage(`said ${id}`)
          const content = [{ text: id }]
          const of = (source: 'environment' | 'user'): Event => ({
            kind: 'MessageEvent',
            source,
            llm_message: { role: 'user', content },
          })
          switch (name) {
            case 'call':
              return [
                toolCall(id),
                update('call_progress', { action_id: id, progress: 0.5 }),
                toolResult(id, id),
              ]
            case 'open call':
              return [toolCall(id)]
            case 'progress':
              return [update('call_progress', { action_id: 'unknown', a: [id] })]
            case 'shared':
              return [update('ag_ui.state', { id })]
            case 'update':
              return [update('other', { id })]
            case 'condenses':
              return [{ kind: 'Condensation', forgotten_event_ids: ['m1'], summary: id, llm_response_id: id }]
            case 'message':
            case 'user':
              return [of(name === 'user' ? 'user' : 'environment')]
            default:
              return [said]
          }
        }
        const agentStep: Step = async function* () {
          const pieces = plan[(calledIn += 1) - 1] ?? ['says']
          for (const each of pieces) yield typeof each === 'string' ? eventsOf(each) : (each as never)
          if (calledIn >= plan.length) yield eventsOf('says')
        }
        const agent = agentOf(
          serverOf(conversation, agentStep, received, {}, { details: shown, ...(hasEngine && { engine }) }),
          conversation.id,
        )
        agent.addMessage({ id: 'm1', role: 'user', content: 'Go.' })
        await agent.runAgent({ runId: 'r1' })
        for (const event of received) expect(EventSchemas.safeParse(event)).toMatchObject({ success: true })
        const messages = agUiMessages(await conversation.state())
        // A client keeps its progress and reasoning until a snapshot has an activity, or reasoning.
        const hasReasoning = messages.some(({ role }) => role === 'reasoning')
        const compared = agent.messages.filter(
          ({ id, role }) => !id.endsWith('-progress') && (role !== 'reasoning' || hasReasoning),
        )
        // It appends a result that is new in a later snapshot, wherever its call is.
        const [known, expected] = [compared, messages].map((all) => all.filter(({ role }) => role !== 'tool'))
        if (received.at(-1)?.type === 'RUN_FINISHED') {
          expect(known).toEqual(expected)
          expect(compared.toSorted(byId)).toEqual(messages.toSorted(byId))
        }
        await engine.close()
      }),
      { numRuns: Math.ceil(RUNS / 2) },
    )
  })

  it('brings a client to the messages of the log after any number of lost connections', async () => {
    const reply = fc.record({
      pieces: fc.array(fc.string({ minLength: 1 }), { maxLength: 3 }),
      isSlow: fc.boolean(),
    })
    const plans = fc.array(reply, { minLength: 1, maxLength: 3 })
    const cuts = fc.array(fc.nat(12), { maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(plans, cuts, async (plan, all) => {
        const conversation = await open()
        const planned: Step = async function* ({ state }) {
          const count = pathTo(state).filter(({ event }) => event?.kind === 'ActionEvent').length
          const { pieces = [], isSlow = false } = plan[count] ?? {}
          for (const content of pieces) {
            if (isSlow) await wait(1)
            yield { kind: 'StreamingDeltaEvent', content }
          }
          if (count >= plan.length - 1)
            yield agentMessage(pieces.join('').trim() === '' ? 'Done.' : pieces.join(''))
          else yield [toolCall(`c${count}`), toolResult(`c${count}`, 'sunny')]
        }
        const remaining = [...all]
        const runs: Promise<unknown>[] = []
        const fetch = async (_url: string, { body }: RequestInit): Promise<Response> => {
          const input = await receiveRunInput(conversation, JSON.parse(String(body)))
          const run = (): Promise<unknown> => {
            const running = conversation.run(planned, { wait: true })
            runs.push(running)
            return running
          }
          const events = agUiEvents(conversation, { input, run })
          const end = remaining.shift() ?? Infinity
          let sent = ''
          let count = 0
          for await (const event of events) {
            if ((count += 1) > end) break
            sent += `data: ${JSON.stringify(event)}\n\n`
          }
          return new Response(sent, { headers: { 'content-type': 'text/event-stream' } })
        }
        const agent = agentOf(fetch, conversation.id)
        agent.addMessage({ id: 'm1', role: 'user', content: 'Rome?' })
        for (let visit = 0; visit <= all.length; visit += 1)
          await agent.runAgent({ runId: `r${visit}` }).catch(() => undefined)
        await Promise.all(runs)
        const state = await conversation.state()
        expect(state.header.status).toBe('finished')
        expect(agent.messages).toEqual(agUiMessages(state))
        const { items } = await conversation.search({ limit: 100 })
        expect(items.filter(({ fact }) => 'source' in fact && fact.source === 'user').length).toBe(1)
        expect(checkLog(items.map(({ fact }) => fact))).toEqual([])
      }),
      { numRuns: Math.ceil(RUNS / 2) },
    )
  })

  it('streams a conversation and its subagents if forgotten events are no longer in memory', async () => {
    const engine = createEngine({ store: memoryStore() })
    const conversation = await engine.create()
    const child = await engine.create({ parentConversationId: conversation.id })
    for (const each of [conversation, child]) {
      await each.sendMessage('Forget this.')
      await each.append([agentMessage('Gladly.')])
      const forgotten_event_ids = pathTo(await each.state()).flatMap(({ id }) => id ?? [])
      await each.append({ kind: 'Condensation', forgotten_event_ids, llm_response_id: 'r' })
      await evictBodies(each)
    }
    const run = () =>
      conversation.run(async function* () {
        yield update('ag_ui.state', { count: 1 })
        yield agentMessage('Done.')
      })
    await conversation.sendMessage('Go on.')
    const events = agUiEvents(conversation, { input: { threadId: 't', runId: 'r' }, engine, run })
    const received = await allOf(events)
    expect(received.map(({ type }) => type)).toContain('STATE_DELTA')
    expect(received.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' } })
    await engine.close()
  })

  it('ends with RUN_ERROR for the status stuck or error', async () => {
    for (const status of ['stuck', 'error'] as const) {
      const conversation = await open()
      await conversation.sendMessage('Go.')
      await conversation.append({
        kind: 'ConversationStateUpdateEvent',
        key: 'execution_status',
        value: status,
      })
      const received = await allOf(agUiEvents(conversation, { input: { threadId: 't', runId: 'r' } }))
      expect(received.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: status })
    }
  })

  it('finishes the run if the client disconnects immediately', async () => {
    const conversation = await open()
    await conversation.sendMessage('Hello')
    const input = { threadId: 't', runId: 'r' }
    const run = (): Promise<unknown> => conversation.run(greetingStep)
    for await (const _ of agUiEvents(conversation, { input, run })) break
    await expect.poll(async () => (await conversation.state()).header.status).toBe('finished')
  })

  it('passes the files of a message to the client and the model', async () => {
    const conversation = await open()
    const content = [
      { type: 'text', text: 'Read these.' },
      { type: 'image', source: url('https://example.com/a.png') },
      { type: 'document', source: data('application/pdf', 'JVBERi0xLjQK') },
      { type: 'document', source: { ...url('https://example.com/a.pdf'), mimeType: 'application/pdf' } },
      { type: 'document', source: data('text/plain', btoa('All is well.')) },
      { type: 'document', source: { type: 'file', value: 'file_1', provider: 'anthropic' } },
      { type: 'audio', source: data('audio/wav', 'AAAA') },
      { type: 'video', source: data('video/mp4', 'AAAA') },
    ]
    const messages = [{ id: 'm', role: 'user', content }]
    await receiveRunInput(conversation, { threadId: 't', runId: 'r', messages })
    const state = await conversation.state()
    expect(agUiMessages(state)).toEqual(messages)
    const [request] = toAnthropic(toMessages(state)).messages
    expect(request?.content).toMatchObject([
      { text: 'Read these.' },
      { type: 'image' },
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0xLjQK' } },
      { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } },
      { text: expect.stringContaining('All is well.') as string },
      { type: 'document', source: { type: 'file', file_id: 'file_1' } },
      { text: expect.not.stringContaining('AAAA') as string },
      { text: expect.not.stringContaining('AAAA') as string },
    ])
    // An image with bytes returns as an address that contains them.
    const posted = { id: 'i', role: 'user', content: [{ type: 'image', source: data('image/png', 'iVBO') }] }
    await receiveRunInput(conversation, { threadId: 't', runId: 'r', messages: [posted] })
    expect(agUiMessages(await conversation.state()).at(-1)?.content).toEqual([
      { type: 'image', source: url('data:image/png;base64,iVBO') },
    ])
  })

  it.each<[object, object]>([
    [
      { mimeType: 'image/png', data: 'iVBO' },
      { type: 'image', source: url('data:image/png;base64,iVBO') },
    ],
    [
      { mimeType: 'image/png', url: 'https://a.b/c' },
      { type: 'image', source: url('https://a.b/c') },
    ],
    [
      { mimeType: 'application/pdf', data: 'JVBERi0xLjQK', filename: 'a.pdf' },
      { type: 'document', source: data('application/pdf', 'JVBERi0xLjQK') },
    ],
    [
      { mimeType: 'application/pdf', url: 'https://a.b/c' },
      { type: 'document', source: { ...url('https://a.b/c'), mimeType: 'application/pdf' } },
    ],
    [
      { mimeType: 'audio/wav', data: 'AAAA' },
      { type: 'audio', source: data('audio/wav', 'AAAA') },
    ],
  ])('converts a file in the format before AG-UI 1.0: %j', async (fields, content) => {
    const conversation = await open()
    const posted = { id: 'm', role: 'user', content: [{ type: 'binary', ...fields }] }
    await receiveRunInput(conversation, { threadId: 't', runId: 'r', messages: [posted] })
    expect(agUiMessages(await conversation.state()).at(-1)?.content).toEqual([content])
  })

  it.each<[object, object]>([
    [{ type: 'image', source: data('image/png', 'data:image/png;base64,iVBO') }, { type: 'image' }],
    [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' } }, { type: 'image' }],
    [{ type: 'file', data: 'JVBERi0xLjQK', mediaType: 'application/pdf' }, { type: 'document' }],
    [{ type: 'input_file', file_data: 'data:application/pdf;base64,JVBERi0xLjQK' }, { type: 'document' }],
    [{ type: 'image', source: data('image/svg+xml', btoa('<svg></svg>')) }, { text: '<svg></svg>' }],
  ])('passes a file to the model, whichever form it has: %j', async (part, block) => {
    const conversation = await open()
    const posted = { id: 'm', role: 'user', content: [part] }
    await receiveRunInput(conversation, { threadId: 't', runId: 'r', messages: [posted] })
    const [request] = toAnthropic(await conversation.messages()).messages
    expect(request?.content).toMatchObject([block])
  })

  it('shows a part that it cannot read by name, not as base64 text', () => {
    const content = [{ type: 'unknown', data: 'A'.repeat(100) }]
    const llm_message = { role: 'user' as const, content }
    const [message] = agUiMessages(replay([{ kind: 'MessageEvent', id: 'm', source: 'user', llm_message }]))
    expect(message?.content).toEqual([{ type: 'text', text: '[A part that cannot be shown here: unknown.]' }])
  })

  it.each([undefined, null, 5])('rejects a user message with the id %j', async (id) => {
    const messages = [{ id, role: 'user', content: 'Hello' }]
    await expect(
      receiveRunInput(await open(), { threadId: 't', runId: 'r', messages }),
    ).rejects.toMatchObject({
      code: 'invalid_argument',
    })
  })

  it('returns every image of a part', () => {
    for (const urls of [[], ['a'], ['a', 'b', 'c']]) expect(imagesOf(urls)).toEqual(urls)
  })

  it('sends one result for a call with progress, and the progress as an activity', async () => {
    const conversation = await open()
    const received: BaseEvent[] = []
    const agent = agentOf(serverOf(conversation, progressStep, received), conversation.id)
    agent.addMessage({ id: 'm1', role: 'user', content: 'Go.' })
    await agent.runAgent({ runId: 'r1' })
    const results = received.filter(({ type }) => type === EventType.TOOL_CALL_RESULT)
    expect(results).toMatchObject([{ toolCallId: 'a', content: 'Working.' }])
    expect(agent.messages.filter(({ role }) => role === 'tool')).toHaveLength(1)
    expect(agent.messages.find(({ id }) => id === 'a-progress')?.content).toEqual({
      toolCallId: 'a',
      progress: 0.75,
      content: 'at 0.75',
      'a/b~c': 'escaped',
    })
    // A client that reconnects already has the result.
    const again: BaseEvent[] = []
    await conversation.sendMessage('And now?')
    const back = agentOf(serverOf(conversation, laterProgressStep, again), conversation.id)
    back.addMessage({ id: 'm1', role: 'user', content: 'Go.' })
    await back.runAgent({ runId: 'r2' })
    expect(again.filter(({ type }) => type === EventType.TOOL_CALL_RESULT)).toEqual([])
    expect(back.messages.filter(({ role }) => role === 'tool')).toHaveLength(1)
  })

  it('interrupts for confirmation of a call, and resumes with the decision of the user', async () => {
    for (const [status, result] of [
      ['resolved', 'sunny'],
      ['cancelled', 'rejected'],
    ] as const) {
      // oxlint-disable-next-line no-await-in-loop
      const conversation = await open()
      const asking: Step = async function* ({ state, approved }) {
        if (approved.length > 0) yield approved.map(({ id }) => toolResult(id, 'sunny'))
        else if (hasResult(state)) yield agentMessage('Done.')
        else yield toolCall('a')
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

  /** CopilotKit also posts a decision as a result, and any client may repeat its input. */
  it.each([
    ['resolved', undefined, 'sunny'],
    ['resolved', null, 'sunny'],
    ['resolved', true, 'sunny'],
    ['resolved', { approved: true }, 'sunny'],
    ['resolved', false, 'rejected'],
    ['resolved', { approved: false }, 'rejected'],
    ['cancelled', undefined, 'rejected'],
  ])('applies a repeated decision once: %s with %j', async (status, payload, result) => {
    for (const hasResultToo of [false, true]) {
      // oxlint-disable-next-line no-await-in-loop
      const conversation = await open()
      let executions = 0
      const isStarted = Promise.withResolvers<void>()
      const end = Promise.withResolvers<void>()
      const asking: Step = async function* ({ state, approved }) {
        if (approved.length > 0) {
          executions += 1
          isStarted.resolve()
          await end.promise
          yield approved.map(({ id }) => toolResult(id, 'sunny'))
        } else if (hasResult(state)) yield agentMessage('Done.')
        else yield toolCall('a')
      }
      const server = serverOf(conversation, asking, [], { policy, wait: true })
      const post = async (more: object): Promise<string> => {
        const messages = [{ id: 'm1', role: 'user', content: 'Rome?' }, ...(more['messages' as never] ?? [])]
        const body = JSON.stringify({ threadId: 't', runId: 'r', ...more, messages })
        return (await server('http://localhost/agent', { body })).text()
      }
      const tool = { id: 'r1', role: 'tool', toolCallId: 'a', content: JSON.stringify(payload ?? status) }
      const messages = hasResultToo ? [tool] : []
      const resume = [{ interruptId: 'a', status, payload }]
      // oxlint-disable-next-line no-await-in-loop
      await post({})
      const resumed = post({ messages, resume })
      if (result === 'sunny') {
        // oxlint-disable-next-line no-await-in-loop
        await isStarted.promise
        // The server executes the call, so this result of the client is ignored.
        // oxlint-disable-next-line no-await-in-loop
        await receiveRunInput(conversation, { threadId: 't', runId: 'r', messages: [tool] })
      }
      end.resolve()
      // oxlint-disable-next-line no-await-in-loop
      await resumed
      // oxlint-disable-next-line no-await-in-loop
      const before = await conversation.record()
      // oxlint-disable-next-line no-await-in-loop
      await post({ messages, resume })
      // oxlint-disable-next-line no-await-in-loop
      expect((await conversation.record()).version).toBe(before.version)
      expect(executions).toBe(result === 'sunny' ? 1 : 0)
      // oxlint-disable-next-line no-await-in-loop
      const shown = agUiMessages(await conversation.state()).filter(({ role }) => role === 'tool')
      expect(shown).toHaveLength(1)
      expect(JSON.stringify(shown)).toContain(result)
      // oxlint-disable-next-line no-await-in-loop
      const { items } = await conversation.search()
      expect(checkLog(items.map(({ fact }) => fact))).toEqual([])
      const opposite = [{ interruptId: 'a', status: result === 'sunny' ? 'cancelled' : 'resolved' }]
      // oxlint-disable-next-line no-await-in-loop
      await expect(post({ resume: opposite })).rejects.toMatchObject({ code: 'unknown_call' })
    }
  })

  it.each([{}, { accepted: false }, { approved: 'false' }, { approved: null }, 'no', 0, []])(
    'rejects an unclear decision with invalid_argument, and appends nothing: %j',
    async (payload) => {
      const conversation = await open()
      await conversation.append([toolCall('a')])
      const messages = [{ id: 'm1', role: 'user', content: 'Hi' }]
      const resume = [{ interruptId: 'a', status: 'resolved', payload }]
      await expect(
        receiveRunInput(conversation, { threadId: 't', runId: 'r', messages, resume }),
      ).rejects.toMatchObject({ code: 'invalid_argument' })
      expect((await conversation.record()).version).toBe(1)
    },
  )

  it('sends the reason of a rejection to the model', async () => {
    const conversation = await open()
    await conversation.append([toolCall('a')])
    const payload = { approved: false, reason: 'Too far.' }
    const resume = [{ interruptId: 'a', status: 'resolved', payload }]
    await receiveRunInput(conversation, { threadId: 't', runId: 'r', messages: [], resume })
    expect(JSON.stringify(await conversation.messages())).toContain('Too far.')
  })

  it.each([
    ['of the client', ['weather'], [[]]],
    ['of the server', [], [['a']]],
    ['of another client', ['map'], [['a']]],
  ])(
    'leaves a waiting call to the client only if the client has the tool (tool %s)',
    async (_, names, interrupts) => {
      const conversation = await open()
      const received: BaseEvent[] = []
      const agent = agentOf(serverOf(conversation, callingStep, received, { policy }), conversation.id)
      const tools = names.map((name) => ({ name, description: 'Looks.', parameters: {} }))
      agent.addMessage({ id: 'm1', role: 'user', content: 'Rome?' })
      await agent.runAgent({ runId: 'r1', tools })
      expect([agent.pendingInterrupts.map(({ id }) => id)]).toEqual(interrupts)
      for (const event of received) expect(EventSchemas.safeParse(event)).toMatchObject({ success: true })
      if (agent.pendingInterrupts.length > 0) return
      expect(received.at(-1)).toMatchObject({ outcome: { type: 'success', pendingToolCallIds: ['a'] } })
      agent.addMessage({ id: 'r', role: 'tool', toolCallId: 'a', content: 'sunny' })
      await agent.runAgent({ runId: 'r2', tools })
      expect(received.at(-1)).toMatchObject({ outcome: { type: 'success' } })
      expect(agent.messages.filter(({ role }) => role === 'tool')).toHaveLength(1)
      expect(agent.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'Done.' })
      const messages = await conversation.messages()
      expect(messages.find(({ role }) => role === 'tool')).toMatchObject({ content: [{ text: 'sunny' }] })
      const { items } = await conversation.search()
      expect(checkLog(items.map(({ fact }) => fact))).toEqual([])
    },
  )

  it('interrupts only for valid calls that are not yet approved', async () => {
    const conversation = await open()
    await conversation.sendMessage('Rome?')
    const broken = { ...toolCall('c'), action: null } as Event
    const waits = { kind: 'ConversationStateUpdateEvent', key: 'execution_status' } as const
    await conversation.append([
      toolCall('a'),
      toolCall('b'),
      broken,
      { ...waits, value: 'waiting_for_confirmation' },
    ])
    await conversation.approve(['a'])
    const events = agUiEvents(conversation, { input: { threadId: 't', runId: 'r' } })
    expect((await allOf(events)).at(-1)).toMatchObject({
      type: 'RUN_FINISHED',
      outcome: { type: 'interrupt', interrupts: [{ id: 'b' }] },
    })
  })

  it('reports subagents while they run, and includes their messages', async () => {
    const engine = createEngine({ store: memoryStore() })
    const conversation = await engine.create()
    const received: BaseEvent[] = []
    const isReported = () =>
      received.some((event) => event.type === 'SUBAGENT_STARTED' && 'name' in event && event.name === 'good')
    const steps: Readonly<Record<string, Step>> = {
      good: async function* () {
        // The client must receive its start while it runs.
        await expect.poll(isReported).toBe(true)
        yield agentMessage('Found it.')
      },
      bad: async () => {
        throw new Error('no')
      },
    }
    const tools = new Map(
      Object.entries(steps).map(([name, agentStep]) => [
        name,
        subagent({ name, description: 'Helps.', step: agentStep }),
      ]),
    )
    const { step: agentStep } = script(
      [[subagentCall('a', 'good'), subagentCall('b', 'bad')], [agentMessage('Thanks.')]],
      (input) => executeCalls(input, tools, {}),
    )
    const agent = agentOf(serverOf(conversation, agentStep, received, {}, { engine }), conversation.id)
    agent.addMessage({ id: 'm1', role: 'user', content: 'Ask both.' })
    await agent.runAgent({ runId: 'r1' })
    const [good] = (await conversation.children()).filter(({ title }) => title === 'good')
    const ofGood = received.filter((event) => 'subagentRunId' in event && event.subagentRunId === good?.id)
    expect(ofGood.map(({ type }) => type)).toEqual([
      'SUBAGENT_STARTED',
      'STEP_STARTED',
      'REASONING_START',
      'REASONING_MESSAGE_START',
      'REASONING_MESSAGE_CONTENT',
      'REASONING_MESSAGE_END',
      'REASONING_END',
      'TEXT_MESSAGE_START',
      'TEXT_MESSAGE_CONTENT',
      'TEXT_MESSAGE_END',
      'STEP_FINISHED',
      'SUBAGENT_FINISHED',
    ])
    expect(ofGood[0]).toMatchObject({ name: 'good', parentToolCallId: 'a' })
    const types = received.map(({ type }) => String(type))
    expect(types).toContain('SUBAGENT_ERROR')
    // The client learns of the subagents before the call that waits for them has a result.
    expect(types.indexOf('SUBAGENT_STARTED')).toBeLessThan(types.indexOf('TOOL_CALL_RESULT'))
    for (const event of received) expect(EventSchemas.safeParse(event)).toMatchObject({ success: true })
    const messages = agent.messages.filter((message) => 'subagentRunId' in message)
    expect(messages.map(({ role }) => role)).toEqual(['user', 'reasoning', 'assistant', 'user', 'activity'])
    await engine.close()
  })

  it('ends the stream immediately if the client disconnects while a subagent runs', async () => {
    const engine = createEngine({ store: memoryStore() })
    const conversation = await engine.create()
    const { promise, resolve } = Promise.withResolvers<void>()
    const slow = subagent({
      name: 'slow',
      description: 'Takes long.',
      step: async function* () {
        await wait(300)
        yield [toolCall('b'), toolResult('b', 'sunny')]
        await promise
        yield agentMessage('Found.')
      },
    })
    const { step: agentStep } = script([[subagentCall('a', 'slow')], [agentMessage('Thanks.')]], (input) =>
      executeCalls(input, new Map([['slow', slow]]), {}),
    )
    await conversation.sendMessage('Go.')
    const run = () => conversation.run(agentStep)
    for await (const event of agUiEvents(conversation, { input: { threadId: 't', runId: 'r' }, run, engine }))
      if (event.type === 'TOOL_CALL_START' && event.toolCallId === 'b') break
    expect((await conversation.state()).header.status).toBe('running')
    resolve()
    await expect.poll(async () => (await conversation.state()).header.status).toBe('finished')
    await engine.close()
  })

  it('streams only later events of a subagent whose first step is in the snapshot', async () => {
    const engine = createEngine({ store: memoryStore() })
    const conversation = await engine.create()
    const { promise, resolve } = Promise.withResolvers<void>()
    const { step: lookStep } = script([[toolCall('b'), toolResult('b', 'sunny')], [agentMessage('Found.')]])
    const slow = subagent({
      name: 'slow',
      description: 'Takes long.',
      async *step(input) {
        if (hasResult(input.state)) await promise
        yield* await lookStep(input)
      },
    })
    const { step: agentStep } = script([[subagentCall('a', 'slow')], [agentMessage('Thanks.')]], (input) =>
      executeCalls(input, new Map([['slow', slow]]), {}),
    )
    await conversation.sendMessage('Go.')
    const run = conversation.run(agentStep)
    const resultOfChild = async () => {
      const [child] = await conversation.children()
      return child !== undefined && hasResult(await (await engine.open(child)).state())
    }
    await expect.poll(resultOfChild).toBe(true)
    const received: AGUIEvent[] = []
    for await (const event of agUiEvents(conversation, { input: { threadId: 't', runId: 'r' }, engine })) {
      received.push(event)
      if (event.type === 'SUBAGENT_STARTED') resolve()
    }
    await run
    const types = received.flatMap((event) => ('subagentRunId' in event ? [event.type] : []))
    expect(types).toContain('TEXT_MESSAGE_CONTENT')
    expect(types).not.toContain('TOOL_CALL_START')
    await engine.close()
  })

  it('includes the messages of nested subagents, in order', async () => {
    const engine = createEngine({ store: memoryStore() })
    const conversation = await engine.create()
    const received: BaseEvent[] = []
    const inner = toolOf('inner', async () => [agentMessage('Found by the inner one.')])
    const { step: outerStep } = script(
      [[subagentCall('b', 'inner')], [agentMessage('Found by the outer one.')]],
      (input) => executeCalls(input, inner, {}),
    )
    const outer = toolOf('outer', outerStep)
    const { step: agentStep } = script([[subagentCall('a', 'outer')], [agentMessage('Thanks.')]], (input) =>
      executeCalls(input, outer, {}),
    )
    const agent = agentOf(serverOf(conversation, agentStep, received, {}, { engine }), conversation.id)
    agent.addMessage({ id: 'm1', role: 'user', content: 'Ask.' })
    await agent.runAgent({ runId: 'r1' })
    const texts = agent.messages.flatMap((message) =>
      message.role === 'assistant' && typeof message.content === 'string' && message.content !== ''
        ? [message.content]
        : [],
    )
    expect(texts).toEqual(['Found by the inner one.', 'Found by the outer one.', 'Thanks.'])
    await engine.close()
  })

  it('synchronizes the shared state in both directions', async () => {
    const conversation = await open()
    const received: BaseEvent[] = []
    const agent = agentOf(serverOf(conversation, countingStep, received), conversation.id)
    agent.setState({ count: 1 })
    agent.addMessage({ id: 'm1', role: 'user', content: 'Count.' })
    await agent.runAgent({ runId: 'r1' })
    expect(agent.state).toEqual({ count: 2 })
    expect(received.filter(({ type }) => String(type).startsWith('STATE_'))).toEqual([
      { type: 'STATE_SNAPSHOT', snapshot: { count: 1 } },
      { type: 'STATE_DELTA', delta: [{ op: 'replace', path: '', value: { count: 2 } }] },
    ])
    await agent.runAgent({ runId: 'r2' })
    const updates = await conversation.search({ kinds: ['ConversationStateUpdateEvent'] })
    const shared = updates.items.filter(({ fact }) => 'key' in fact && fact.key === 'ag_ui.state')
    expect(shared.length).toBe(2)
  })

  it('can send all 28 event types of the protocol except chunks', async () => {
    const engine = createEngine({ store: memoryStore() })
    const conversation = await engine.create()
    const helper = subagent({
      name: 'helper',
      description: 'Helps.',
      step: async () => [agentMessage('Found.')],
    })
    const signed: Event = {
      kind: 'MessageEvent',
      source: 'agent',
      llm_message: {
        role: 'assistant',
        content: [{ text: 'Done.' }],
        thinking_blocks: [{ type: 'thinking', thinking: 'Hm.', signature: 'signed' }],
      },
    }
    const { step: agentStep } = script(
      [
        [
          update('ag_ui.state', { a: 1 }),
          call('a', 'helper', { action: { kind: 'helperAction', task: 'Find.' } }),
          update('call_progress', { action_id: 'a', progress: 0.5 }),
        ],
        [signed, { kind: 'MessageEvent', source: 'environment', llm_message: { role: 'user', content: [] } }],
      ],
      (input) => executeCalls(input, new Map([['helper', helper]]), {}),
    )
    const failing = subagent({
      name: 'helper',
      description: 'Fails.',
      step: async () => {
        throw new Error('no')
      },
    })
    const { step: fails } = script(
      [[call('b', 'helper', { action: { kind: 'helperAction', task: 'Fail.' } })]],
      (input) => executeCalls(input, new Map([['helper', failing]]), {}),
    )
    const received: AGUIEvent[] = []
    const streamOf = async (id: string, run: () => Promise<unknown>): Promise<void> => {
      const input = {
        threadId: 't',
        runId: id,
        messages: [{ id, role: 'user', content: 'Go.' }],
        state: { id },
      }
      await receiveRunInput(conversation, input)
      const details = ['encrypted', 'raw', 'updates'] as const
      for await (const event of agUiEvents(conversation, { input, run, engine, details }))
        received.push(event)
    }
    await streamOf('m1', () => conversation.run(agentStep))
    await streamOf('m2', () => conversation.run(fails))
    await streamOf('m3', () => Promise.reject(new Error('lost')))
    for (const event of received) expect(EventSchemas.safeParse(event)).toMatchObject({ success: true })
    // A chunk is shorthand for a start, a content and an end.
    const kinds = Object.values(EventType).filter((type) => !type.endsWith('_CHUNK'))
    expect(kinds.length).toBe(28)
    expect([...new Set(received.map(({ type }) => type))].toSorted()).toEqual(kinds.toSorted())
    await engine.close()
  })

  it('sends encrypted reasoning only on request', async () => {
    const conversation = await open()
    await conversation.sendMessage('Go.')
    const sealed = { id: 'i', summary: [], encrypted_content: 'sealed' }
    const llm_message = { role: 'assistant', content: [{ text: 'Done.' }], responses_reasoning_item: sealed }
    const run = () =>
      conversation.run(async function* () {
        yield [update('other', sealed), update('ag_ui.state', sealed)]
        yield { kind: 'MessageEvent', source: 'agent', llm_message } as Event
      })
    const input = { threadId: 't', runId: 'r' }
    const received = (options: Omit<AgUiOptions, 'input'>): Promise<AGUIEvent[]> =>
      allOf(agUiEvents(conversation, { input, ...options }))
    const details = ['raw', 'updates'] as const
    const events = [...(await received({ details, run })), ...(await received({ details }))]
    for (const type of ['RAW', 'CUSTOM', 'STATE_SNAPSHOT'])
      expect(events.map((event) => event.type)).toContain(type)
    expect(JSON.stringify(events)).not.toContain('sealed')
    await conversation.sendMessage('Again.')
    expect(JSON.stringify(await received({ details: ['encrypted'], run }))).toContain('sealed')
  })

  it('keeps the log valid and ignores a repeated input, for arbitrary input', async () => {
    const id = fc.oneof(fc.constantFrom('m1', 'm2', 'a'), fc.string({ unit: 'binary' }), fc.jsonValue())
    const message = fc.record(
      {
        id,
        role: fc.constantFrom('user', 'assistant', 'tool', 'system', 'reasoning', 'activity', 'other'),
        content: fc.oneof(fc.string({ unit: 'binary' }), fc.jsonValue()),
        toolCallId: id,
        error: fc.jsonValue(),
      },
      { requiredKeys: [] },
    )
    const posted = fc.record(
      {
        threadId: fc.constant('t'),
        runId: fc.constant('r'),
        messages: fc.oneof(fc.array(fc.oneof(message, fc.jsonValue()), { maxLength: 4 }), fc.jsonValue()),
        state: fc.jsonValue(),
        resume: fc.oneof(
          fc.array(fc.record({ interruptId: id, status: fc.constant('resolved') })),
          fc.jsonValue(),
        ),
      },
      { requiredKeys: ['threadId', 'runId'] },
    )
    await fc.assert(
      fc.asyncProperty(posted, async (input) => {
        const conversation = await open()
        await conversation.append([toolCall('a')])
        const receive = async (): Promise<unknown> =>
          receiveRunInput(conversation, input).catch((error: unknown) => {
            if (isColloquyError(error)) return error.code
            throw error
          })
        await receive()
        const { version } = await conversation.record()
        await receive()
        expect((await conversation.record()).version).toBe(version)
        const { items } = await conversation.search()
        expect(checkLog(items.map(({ fact }) => fact)).map(({ law }) => law)).toEqual([])
      }),
      { numRuns: 200 },
    )
  })

  it('rejects an input without required fields', async () => {
    await expect(
      receiveRunInput(await open(), { threadId: 't' } satisfies Partial<RunAgentInput>),
    ).rejects.toThrow('Pass AG-UI input with `threadId`, `runId` and `messages`.')
  })
})
