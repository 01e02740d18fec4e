/** What the run loop records of replies: their request position, and the partial text if interrupted (laws I2 and I4). */

import { describe, expect, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import { finalResponse } from '../../src/context/final-response.ts'
import { usageTotals } from '../../src/context/usage.ts'
import type { Conversation } from '../../src/conversation/conversation.ts'
import type { Step } from '../../src/conversation/run/step.ts'
import { isTurnOver } from '../../src/conversation/turn.ts'
import { replyOf } from '../../src/event/reply.ts'
import { fromAnthropic, collectAnthropic } from '../../src/messages/anthropic/read.ts'
import { cutPoints } from '../../src/state/read.ts'
import type { ActionEvent, Event, MessageEvent } from '../../src/event/types.ts'
import { GRAMMARS } from '../../src/messages/grammars.ts'
import type { EventEntry } from '../../src/log/entry.ts'
import { checkLog } from '../../src/laws/check-log.ts'
import { anthropicStep } from '../../src/steps/anthropic.ts'
import { call, delta, gate, logOf, result, says, script, startConversation } from './script.ts'

const messageFrom = (text: string, source: 'user' | 'environment' = 'environment'): Event => ({
  kind: 'MessageEvent',
  source,
  llm_message: { role: 'user', content: [{ type: 'text', text }] },
})

const PROMPT: Event = {
  kind: 'SystemPromptEvent',
  system_prompt: { type: 'text', text: 'Be brief.' },
  tools: [],
}

/** The current request as roles and texts. */
const sent = async (conversation: Conversation): Promise<string[]> =>
  (await conversation.messages()).map(
    ({ role, content }) => `${role}: ${content.map((part) => ('text' in part ? part.text : '')).join(' + ')}`,
  )

describe('the request position of a reply', () => {
  it.each([
    ['no message', false, 1],
    ['a message during the request', true, 2],
  ])(
    'is after the events of its own step, so the run continues only for a new message: %s',
    async (_, sendsMessage, iterations) => {
      const { conversation } = await startConversation('first')
      const result = await conversation.run(async function* ({ after }) {
        if (after === (await conversation.state()).log.entries.get(0)?.id) {
          if (sendsMessage) await conversation.sendMessage('second')
          yield [messageFrom('nudge'), says('done')]
        } else yield says('read')
      })
      expect(result).toMatchObject({ status: 'finished', iterations })
    },
  )

  it('is recorded in `after` of each event, unless the step sets it', async () => {
    const { conversation } = await startConversation('first')
    const { step, requests } = script([
      async function* ({ after }) {
        yield call('a')
        await conversation.sendMessage('second')
        yield call('b')
        expect(after).toBe((await conversation.state()).branch.lastUserMessage?.parent?.parent?.id)
      },
      [
        call('c', 'work', {
          tool_call: { ...call('c').tool_call, reply: { after: 'b', model: 'm' } },
        } as object),
      ],
    ])
    await conversation.run(step)
    const entries = [...(await conversation.state()).log.entries]
    const [a, b, c, last] = ['a', 'b', 'c', undefined].map((id) =>
      replyOf(
        entries.findLast((entry) =>
          id === undefined ? entry.event?.kind === 'MessageEvent' : entry.id === id,
        )?.event as Event,
      ),
    )
    expect(a?.after).toBe(true)
    expect(b?.after).toBe(entries[0]?.id)
    expect(c).toEqual({ after: 'b', model: 'm' })
    expect([last?.after, entries.at(-2)?.id]).toEqual([true, requests[2]?.after])
  })

  it('orders a message that arrives during the request after the reply', async () => {
    const { conversation } = await startConversation('first')
    const { step, requests } = script([
      async function* () {
        await conversation.sendMessage('second')
        yield says('to the first')
      },
      [says('to the second')],
    ])
    expect((await conversation.run(step)).status).toBe('finished')
    expect(requests).toHaveLength(2)
    expect(requests[1]?.messages.slice(0, 1)).toEqual(requests[0]?.messages)
    expect(await sent(conversation)).toEqual([
      'user: first',
      'assistant: to the first',
      'user: second',
      'assistant: to the second',
    ])
  })

  it.each([
    ['from the environment gets a reply', messageFrom('note'), 2],
    ['with a blank text gets none', messageFrom(' ', 'user'), 1],
    ['with a system prompt gets none', PROMPT, 1],
  ])('an event during the last request %s', async (_, event, times) => {
    const { conversation } = await startConversation('first')
    const { step, requests } = script([
      async function* () {
        await conversation.append([event])
        yield says('done')
      },
    ])
    expect((await conversation.run(step)).status).toBe('finished')
    expect(requests).toHaveLength(times)
    for (const { messages } of requests) expect(messages.at(-1)?.role).not.toBe('assistant')
  })

  it('an event that is yielded twice is appended once', async () => {
    const { conversation } = await startConversation('first')
    const { step, requests } = script([
      [{ ...says('done'), id: 'd' }, messageFrom('go on')],
      [
        { ...says('done'), id: 'd' },
        { ...says('more'), id: 'm' },
      ],
    ])
    expect((await conversation.run(step)).status).toBe('finished')
    expect(requests).toHaveLength(2)
    expect((await logOf(conversation)).filter((line) => line === 'agent: done')).toHaveLength(1)
  })
})

const textOfReply = (text: string, llm_response_id = 'r1') => ({ ...says(text), llm_response_id }) as Event

describe('a reply that a step yields as calls and texts with one id', () => {
  const a = call('a')
  const b = call('b')
  const [one, two] = [textOfReply('one'), textOfReply('two')]
  it.each([
    ['a text, then a call', [one, a], ['one']],
    ['a call, then a text', [a, one], ['one']],
    [
      'texts around calls',
      [one, { ...a, thought: [{ type: 'text', text: 'own' }] }, b, two],
      ['one', 'own', 'two'],
    ],
    ['texts, then a call', [one, two, a], ['one', 'two']],
  ] as [string, Event[], string[]][])(
    'is one reply in the log and in requests: %s',
    async (_, yielded, texts) => {
      const { conversation } = await startConversation('first')
      const { step, requests } = script([yielded])
      expect(await conversation.run(step)).toMatchObject({ status: 'finished', iterations: 2 })
      const [, reply, ...results] = requests[1]?.messages ?? []
      expect(reply?.content.map((part) => 'text' in part && part.text)).toEqual(texts)
      expect(results.every(({ role }) => role === 'tool')).toBe(true)
      for (const { write, rules } of GRAMMARS)
        expect(rules?.(write(requests[1]?.messages ?? [])) ?? []).toEqual([])
      const entries = [...(await conversation.state()).log.entries]
      expect(
        checkLog(
          entries.flatMap(({ event }) => event ?? []),
          { ended: true },
        ),
      ).toEqual([])
    },
  )

  it.each([
    ['yielded after its call', [[a], [one]]],
    ['with other content', [[a, { ...one, extended_content: [{ type: 'text', text: 'more' }] } as Event]]],
    ['with an id', [[{ ...one, id: 't' }, a]]],
    ['before and between calls', [[a], [one], [b]]],
  ])('is not ended by a text %s: the model reads the results', async (_, yields) => {
    const { conversation } = await startConversation('first')
    const { step, requests } = script([
      async function* () {
        yield* yields
      },
    ])
    expect(await conversation.run(step)).toMatchObject({ status: 'finished', iterations: 2 })
    const messages = requests[1]?.messages ?? []
    expect(messages.flatMap(({ content }) => content)).toContainEqual({ type: 'text', text: 'one' })
    expect(messages.filter(({ role }) => role === 'tool')).toHaveLength(
      yields.flat().filter(({ kind }) => kind === 'ActionEvent').length,
    )
    for (const { write, rules } of GRAMMARS) expect(rules?.(write(messages)) ?? []).toEqual([])
  })

  it.each([
    ['whose call has its result', [a, { ...result({ id: 'a', event: a } as EventEntry<ActionEvent>) }, one]],
    [
      'of another reply',
      [a, { ...result({ id: 'a', event: a } as EventEntry<ActionEvent>) }, textOfReply('one', 'r2')],
    ],
  ])('ends with a text %s', async (_, yielded) => {
    const { conversation } = await startConversation('first')
    const { step } = script([yielded])
    expect(await conversation.run(step)).toMatchObject({ status: 'finished', iterations: 1 })
    expect(finalResponse(await conversation.state())).toBe('one')
  })
})

it('a continuation that failed without content does not separate a paused reply from the next one', async () => {
  const { conversation } = await startConversation('search')
  const id = 'srvtoolu_1'
  const paused = fromAnthropic({
    stop_reason: 'pause_turn',
    content: [{ type: 'server_tool_use', id, name: 'web_search', input: {} }],
  } as never)
  const failed = collectAnthropic()
  failed.push({ type: 'message_start', message: { usage: { input_tokens: 9, output_tokens: 1 } } })
  failed.push({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } })
  const rest = fromAnthropic({
    stop_reason: 'end_turn',
    content: [
      { type: 'web_search_tool_result', tool_use_id: id, content: [] },
      { type: 'text', text: 'found' },
    ],
  } as never)
  const { step } = script([paused.events, failed.end().events, rest.events])
  expect((await conversation.run(step)).status).toBe('error')
  expect((await conversation.run(step)).status).toBe('finished')
  expect(cutPoints(await conversation.state())).toEqual([0, 1, 3])
})

/** A step that streams, waits and continues. */
const streaming = (passed: () => Promise<void>, how: 'yields' | 'publishes' | 'throws'): Step =>
  async function* ({ publish, signal }) {
    yield delta('discarded')
    yield call('a')
    for (const text of ['Hel', 'lo']) {
      if (how === 'publishes') publish(delta(text))
      else yield delta(text)
    }
    if (how === 'throws') {
      const stopped = new Promise((_, fail) =>
        signal.addEventListener('abort', () => fail(new Error('gone'))),
      )
      void passed()
      await stopped
    }
    await passed()
    yield says('Hello, world')
  }

describe('the partial text of an interrupted reply', () => {
  it.each([
    ['this engine', 'yields'],
    ['another engine', 'publishes'],
    ['the signal', 'throws'],
    ['the signal', 'publishes'],
  ] as const)('follows the InterruptEvent when %s stops a step that %s', async (who, how) => {
    const { conversation, store } = await startConversation('first')
    const other = await createEngine({ store }).open('c')
    const input = new AbortController()
    const thinking = gate()
    const running = conversation.run(streaming(thinking.pass, how), { signal: input.signal })
    await thinking.reached
    await other.sendMessage('second')
    if (who === 'the signal') input.abort()
    else await (who === 'this engine' ? conversation : other).interrupt()
    expect((await running).status).toBe('paused')
    thinking.open()
    expect((await logOf(conversation)).slice(-4)).toEqual([
      'user: second',
      'error a',
      'InterruptEvent',
      'agent: Hello',
    ])
    expect(await store.getLease('c')).toBe(null)
    const { log } = await conversation.state()
    const report = log.entries.last()?.event as Event
    expect(replyOf(report)).toEqual({
      after: log.entries.get(1)?.parent?.id ?? log.entries.get(0)?.id,
      interrupted: true,
    })
    expect((await sent(conversation)).slice(-2)).toEqual(['assistant: Hello', 'user: second'])
    expect(await conversation.interrupt()).toEqual([])
    const { step, requests } = script([])
    expect((await conversation.run(step)).status).toBe('finished')
    expect(requests).toHaveLength(1)
  })

  it('has the model and the token counts that arrived before', async () => {
    const { conversation } = await startConversation('first')
    const thinking = gate()
    const usage = { input_tokens: 5000, output_tokens: 1 }
    async function* stream() {
      yield { type: 'message_start', message: { id: 'm', model: 'a-model', content: [], usage } }
      yield { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hel' } }
      await thinking.pass()
    }
    const client = { messages: { create: async () => stream() } }
    const running = conversation.run(anthropicStep({ client, model: 'a-model', max_tokens: 9 }))
    await thinking.reached
    await conversation.interrupt()
    await running
    thinking.open()
    const state = await conversation.state()
    const report = state.log.entries.last()?.event as Event
    expect(replyOf(report)).toMatchObject({ model: 'a-model', tokens: [5000, 1], interrupted: true })
    expect(usageTotals(state).prompt_tokens).toBe(5000)
  })

  it('is not a final reply, so the next run calls the model', async () => {
    const { conversation } = await startConversation('first')
    const thinking = gate()
    const running = conversation.run(async function* () {
      yield delta('Hel')
      await thinking.pass()
    })
    await thinking.reached
    await conversation.interrupt()
    await running
    expect((await logOf(conversation)).at(-1)).toBe('agent: Hel')
    expect((await conversation.resume()).length).toBe(1)
    expect((await conversation.state()).header.status).toBe('idle')
    const { step, requests } = script([])
    expect((await conversation.run(step)).status).toBe('finished')
    expect(requests).toHaveLength(1)
  })

  it('is not logged if it is blank or already yielded', async () => {
    for (const text of ['', ' ', 'yielded']) {
      const { conversation } = await startConversation('first')
      const thinking = gate()
      const running = conversation.run(async function* () {
        yield delta(text)
        if (text === 'yielded') yield says(text)
        await thinking.pass()
      })
      await thinking.reached
      await conversation.interrupt()
      await running
      expect((await logOf(conversation)).at(-1)).toBe('InterruptEvent')
    }
  })
})

/** A message with a recorded outcome. */
const ended = (outcome: string, text = 'so far'): Event => ({
  kind: 'MessageEvent',
  source: 'agent',
  llm_message: { role: 'assistant', content: [{ text }], reply: { outcome } } as MessageEvent['llm_message'],
})

describe('a reply that ends early', () => {
  it.each([
    ['truncated', 'ReplyTruncated'],
    ['refused', 'ReplyRefused'],
    ['filtered', 'ReplyFiltered'],
  ])('fails the run for outcome %s with %s, and a later run continues', async (outcome, code) => {
    const { conversation } = await startConversation('first')
    const { step, requests } = script([[ended(outcome)]])
    expect((await conversation.run(step)).status).toBe('error')
    expect((await conversation.state()).header.error?.code).toBe(code)
    expect(requests).toHaveLength(1)
    expect((await conversation.run(step)).status).toBe('finished')
    expect(await sent(conversation)).toEqual(['user: first', 'assistant: so far', 'assistant: ok'])
  })

  it('continues in the same run if it is paused, and fails after three blank ones', async () => {
    const { conversation } = await startConversation('first')
    const { step } = script([[ended('paused')]])
    expect(await conversation.run(step)).toMatchObject({ status: 'finished', iterations: 2 })
    await conversation.sendMessage('second')
    const blank = script(Array.from({ length: 9 }, () => [ended('paused', ' ')]))
    expect(await conversation.run(blank.step)).toMatchObject({ status: 'error', iterations: 3 })
    expect((await conversation.state()).header.error?.code).toBe('NoReply')
  })

  it('fails the run with the explanation of the provider', async () => {
    const { conversation } = await startConversation('first')
    await conversation.run(async function* () {
      yield { events: [], outcome: { type: 'failed', explanation: 'overloaded' } }
    })
    const { error } = (await conversation.state()).header
    expect(error).toMatchObject({ code: 'ReplyFailed', detail: 'The provider failed to reply: overloaded' })
  })
})

/** Whole replies without text, by grammar, and whether they are final. */
const WITHOUT_TEXT: readonly (readonly [grammar: string, what: string, isFinal: boolean, reply: object])[] = (
  [
    ['google', 'an image', true, [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }]],
    [
      'google',
      'a blank text and a file',
      true,
      [{ text: '\n' }, { fileData: { mimeType: 'a/b', fileUri: 'gs://c' } }],
    ],
    ['google', 'a draft', false, [{ thought: true, inlineData: { mimeType: 'image/png', data: 'AAAA' } }]],
    ['google', 'code', false, [{ executableCode: { language: 'PYTHON', code: '1' } }]],
    [
      'openai-responses',
      'an image',
      true,
      [{ type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'AAAA' }],
    ],
    [
      'openai-responses',
      'no image',
      false,
      [{ type: 'image_generation_call', id: 'ig_1', status: 'failed', result: null }],
    ],
    [
      'openai-responses',
      'a request for approval',
      true,
      [{ type: 'mcp_approval_request', id: 'mcpr_1', server_label: 's', name: 'rm', arguments: '{}' }],
    ],
    [
      'openai-responses',
      'a search',
      false,
      [{ type: 'web_search_call', id: 'ws_1', status: 'completed', action: {} }],
    ],
    [
      'openai-chat',
      'audio',
      true,
      { audio: { id: 'audio_1', data: 'AAAA', transcript: 'Hello', expires_at: 1 } },
    ],
    [
      'openai-chat',
      'images',
      true,
      { images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] },
    ],
    ['openai-chat', 'reasoning', false, { reasoning_content: 'Let me see.' }],
    ['bedrock', 'an image', true, [{ image: { format: 'png', source: { bytes: new Uint8Array([1]) } } }]],
    [
      'interactions',
      'audio',
      true,
      [{ type: 'model_output', content: [{ type: 'audio', data: 'AAAA', mime_type: 'audio/wav' }] }],
    ],
    [
      'ai-sdk',
      'a request for approval',
      true,
      [
        { type: 'tool-call', toolCallId: 'c', toolName: 'rm', input: {}, providerExecuted: true },
        { type: 'tool-approval-request', approvalId: 'a', toolCall: { toolCallId: 'c' } },
      ],
    ],
    ['ai-sdk', 'a file', true, [{ type: 'file', file: { mediaType: 'image/png', base64: 'AAAA' } }]],
  ] as const
).map(([grammar, what, isFinal, parts]) => [grammar, what, isFinal, wholeReply(grammar, parts)])

function wholeReply(grammar: string, parts: object): object {
  switch (grammar) {
    case 'google':
      return { candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }] }
    case 'openai-responses':
      return { status: 'completed', output: parts }
    case 'openai-chat':
      return { choices: [{ finish_reason: 'stop', message: { role: 'assistant', content: null, ...parts } }] }
    case 'bedrock':
      return { output: { message: { role: 'assistant', content: parts } }, stopReason: 'end_turn' }
    case 'interactions':
      return { status: 'completed', steps: parts }
    default:
      return { content: parts, finishReason: 'stop' }
  }
}

describe('a reply without text', () => {
  it.each(WITHOUT_TEXT)('of %s with %s: final is %s', async (grammar, _, isFinal, raw) => {
    const { conversation } = await startConversation('Draw a cat.')
    let requests = 0
    const { status } = await conversation.run(async function* () {
      requests += 1
      const reply = GRAMMARS.find(({ name }) => name === grammar)?.reply(raw)
      if (reply !== undefined) yield reply
    })
    expect([status, requests]).toEqual(isFinal ? ['finished', 1] : ['error', 3])
    const { log } = await conversation.state()
    const [reply] = [...log.entries].filter(({ event }) => event?.source === 'agent')
    expect((await conversation.read(finalResponse)).trim()).toBe('')
    await conversation.eraseEvent(reply?.id ?? '')
    const { header, branch } = await conversation.state()
    expect([header.status, isTurnOver(branch)]).toEqual([status, isFinal])
  })

  it('with images in its message is final', async () => {
    const { conversation } = await startConversation('Draw a cat.')
    const content = [{ type: 'image' as const, image_urls: ['data:image/png;base64,AAAA'] }]
    const { step, requests } = script([
      [{ kind: 'MessageEvent', source: 'agent', llm_message: { role: 'assistant', content } }],
    ])
    expect((await conversation.run(step)).status).toBe('finished')
    expect(requests).toHaveLength(1)
  })
})
