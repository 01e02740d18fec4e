/** A reply streamed to the AI SDK's client equals the log in the end, despite disconnects (law O3). */

import * as fc from 'fast-check'
import type { UIMessage, UIMessageChunk } from 'ai'
import { describe, expect, it } from 'vitest'
import { plain } from '../../properties/checks/ui-chunks.ts'
import type { Conversation } from '../../src/conversation/conversation.ts'
import { createEngine } from '../../src/conversation/engine.ts'
import type { Step } from '../../src/conversation/run/step.ts'
import type { Event } from '../../src/event/types.ts'
import { receiveUIMessages, uiMessageStream } from '../../src/conversation/ui-messages.ts'
import { toAnthropic } from '../../src/messages/anthropic/write.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { fromUIMessage } from '../../src/messages/ui/read.ts'
import type { UIChunk } from '../../src/messages/ui/types.ts'
import { toUIMessages } from '../../src/messages/ui/write.ts'
import { replay } from '../../src/state/reduce.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { costOf } from '../growth.ts'
import { call, delta, gate, says, script } from './script.ts'
import { PlainChat, server } from './ui-client.ts'

/** Common form of the client's messages and the log's. */
const shown = (messages: readonly { id: string; role: string; parts: readonly object[] }[]): object[] =>
  messages.map(({ id, role, parts }) => ({ id, role, parts: parts.flatMap(plain) }))

const expectSame = async (chat: PlainChat, conversation: Conversation): Promise<void> =>
  expect(shown(chat.messages)).toEqual(shown(await conversation.read(toUIMessages)))

async function empty() {
  const engine = createEngine({ store: memoryStore() })
  return { engine, conversation: await engine.create() }
}

const fails: Step = () => {
  throw new Error('no network')
}

/** Streams text after its message. */
const trails: Step = async function* () {
  yield delta('Dra')
  yield says('Done.')
  yield delta('more')
}

const endless = (): Promise<void> => new Promise(() => undefined)

/** A reply: streamed text that its message may change, then up to two calls. */
const reply = fc.record({
  words: fc.array(fc.string({ minLength: 1 }), { maxLength: 3 }),
  changes: fc.boolean(),
  calls: fc.array(fc.constantFrom('works', 'fails'), { maxLength: 2 }),
})

describe('a reply to the AI SDK client', () => {
  it('equals the log after disconnects, approvals and rejections (O3)', async () => {
    const plan = fc.record({
      replies: fc.array(reply, { minLength: 1, maxLength: 3 }),
      cuts: fc.array(fc.nat({ max: 12 }), { maxLength: 3 }),
      decisions: fc.array(fc.boolean(), { maxLength: 3 }),
      confirms: fc.boolean(),
    })
    let cutCount = 0
    let decisionCount = 0
    await fc.assert(
      fc.asyncProperty(plan, async ({ replies, cuts, decisions, confirms }) => {
        const { engine, conversation } = await empty()
        const remaining = [...replies]
        let calls = 0
        const step: Step = async function* ({ approved, publish }) {
          if (approved.length > 0) {
            for (const { id, event } of approved) {
              await new Promise(setImmediate)
              const { tool_name, tool_call_id } = event
              const content = [{ type: 'text' as const, text: `of ${tool_call_id}` }]
              const observation = { kind: 'Observation', content, is_error: tool_name === 'fails' }
              yield { kind: 'ObservationEvent', tool_name, tool_call_id, action_id: id, observation }
            }
            return
          }
          const {
            words,
            changes,
            calls: tools,
          } = remaining.shift() ?? { words: ['ok'], changes: false, calls: [] }
          for (const word of words) {
            publish(delta(word))
            await new Promise(setImmediate)
          }
          const text = changes ? 'other words' : words.join('') || 'ok'
          const thought = [{ type: 'text' as const, text }]
          const response = `r${calls}`
          if (tools.length === 0) yield says(text)
          else
            yield tools.map((tool, index) =>
              call(`c${calls++}`, tool, { llm_response_id: response, thought: index === 0 ? thought : [] }),
            )
        }
        const { fetch, runs } = server(conversation, step, { policy: () => confirms })
        let until = cuts.shift() ?? Infinity
        const chat: PlainChat = new PlainChat({
          id: conversation.id,
          fetch,
          changed: () => {
            until -= 1
            if (until < 0) {
              until = Infinity
              cutCount += 1
              void chat.stop()
            }
          },
        })
        const settle = async (): Promise<void> => {
          while (cuts.length > 0) {
            until = cuts.shift() ?? Infinity
            await chat.resumeStream()
          }
          until = Infinity
          await Promise.all(runs)
          // A disconnected client resumes; a connected one sees the same.
          await chat.resumeStream()
        }
        await chat.sendMessage({ text: 'Hello' })
        await settle()
        for (let round = 0; round < 9; round += 1) {
          const requests = chat.messages
            .at(-1)
            ?.parts.flatMap((part) =>
              'approval' in part && part.state === 'approval-requested' ? [part.approval] : [],
            )
          if (requests === undefined || requests.length === 0) break
          for (const { id } of requests) {
            decisionCount += 1
            await chat.addToolApprovalResponse({ id, approved: decisions.shift() ?? true, reason: 'so' })
          }
          await chat.sendMessage()
          await Promise.all(runs)
        }
        expect(chat.error).toBe(undefined)
        expect((await conversation.state()).header.status).toBe('finished')
        await expectSame(chat, conversation)
        await engine.close()
      }),
      { numRuns: 30 },
    )
    expect(cutCount).toBeGreaterThan(10)
    expect(decisionCount).toBeGreaterThan(10)
  })

  it('is shown while it arrives, and continues when the client has left', async () => {
    const { engine, conversation } = await empty()
    const end = gate()
    const { step } = script([
      async function* ({ publish }) {
        publish(delta('Hel'))
        publish({ kind: 'StreamingDeltaEvent', reasoning_content: 'hm' })
        publish(delta('lo'))
        await end.pass()
        yield says('Hello!')
      },
    ])
    const { fetch, runs } = server(conversation, step)
    const seen: string[] = []
    const chat: PlainChat = new PlainChat({
      id: conversation.id,
      fetch,
      changed: () => {
        const text = chat.messages
          .at(-1)
          ?.parts.map((part) => ('text' in part ? part.text : ''))
          .join('')
        seen.push(text ?? '')
        if (text === 'Hellohm') void chat.stop()
      },
    })
    await chat.sendMessage({ text: 'Hi' })
    expect(seen).toContain('Hel')
    expect((await conversation.state()).header.status).toBe('running')
    const shownParts: unknown[] = []
    const late: PlainChat = new PlainChat({
      id: conversation.id,
      fetch,
      changed: () => {
        const parts = late.messages
          .at(-1)
          ?.parts.slice(1)
          .map((part) => ('text' in part ? part.text : ''))
        shownParts.push(parts)
        if (parts?.join('') === 'Hellohm') end.open()
      },
    })
    late.messages = chat.messages.slice(0, 1)
    await late.resumeStream()
    expect(shownParts).toContainEqual(['Hello', 'hm'])
    await Promise.all(runs)
    await chat.resumeStream()
    await expectSame(chat, conversation)
    await expectSame(late, conversation)
    await engine.close()
  })

  it('ends a stream that is joined while the run ends', async () => {
    const { engine, conversation } = await empty()
    await conversation.sendMessage('Go.')
    const first = uiMessageStream(conversation, { run: () => conversation.run(trails) })
    for await (const { type } of first) if (type === 'reset-step') break
    let last = ''
    for await (const { type } of uiMessageStream(conversation)) last = type
    expect(last).toBe('finish')
    await engine.close()
  })

  it('is replaced by a regeneration, and by an edit of its message', async () => {
    const { engine, conversation } = await empty()
    const { step, requests } = script([[says('one')], [says('two')], [says('three')]])
    const { fetch } = server(conversation, step)
    const chat = new PlainChat({ id: conversation.id, fetch })
    await chat.sendMessage({ text: 'Hi' })
    await chat.regenerate()
    await expectSame(chat, conversation)
    expect(requests).toHaveLength(2)
    const { id } = chat.messages[0] as UIMessage
    await chat.sendMessage({ text: 'Hey', messageId: id })
    const texts = toUIMessages(await conversation.state()).map(({ parts }) => parts.at(-1))
    expect(texts).toMatchObject([{ text: 'Hey' }, { text: 'three' }])
    expect(await conversation.branches()).toHaveLength(3)
    await engine.close()
  })

  it('reports an error of the run, and a HEAD that leaves the branch', async () => {
    const { engine, conversation } = await empty()
    const { fetch } = server(conversation, fails)
    const chat = new PlainChat({ id: conversation.id, fetch })
    await chat.sendMessage({ text: 'Hi' })
    expect(chat.error?.message).toContain('no network')
    await expectSame(chat, conversation)
    const chunks: UIChunk[] = []
    for await (const chunk of uiMessageStream(conversation, { run: endless })) {
      if (chunk.type === 'start') void conversation.navigate(null)
      chunks.push(chunk)
    }
    expect(chunks.at(-1)).toMatchObject({ type: 'error' })
    await engine.close()
  })
})

describe('a post of the AI SDK client', () => {
  it.each([
    ['null', null],
    ['an empty list of messages', { messages: [] }],
    ['messages that are not a list', { messages: 'Hi' }],
    ['a message that is not an object', { messages: [5] }],
  ])('is rejected: %s', async (_, posted) => {
    const { engine, conversation } = await empty()
    await expect(receiveUIMessages(conversation, posted)).rejects.toMatchObject({ code: 'invalid_argument' })
    await engine.close()
  })

  it('fails only its own stream, and approves no unknown call', async () => {
    const { engine, conversation } = await empty()
    await conversation.append([call('a'), call('b')])
    await conversation.sendMessage('Hi')
    const decided = { state: 'approval-responded', approval: { id: 'gone', approved: true } }
    const parts = [null, 5, { approval: 5, state: 'approval-responded' }, decided]
    const received = await receiveUIMessages(conversation, { messages: [{ role: 'assistant', parts }] })
    const errors: unknown[] = []
    const onError = (error: unknown): number => errors.push(error)
    const types: string[] = []
    for await (const { type } of uiMessageStream(conversation, { ...received, onError })) types.push(type)
    expect(types).toEqual(['start', 'error'])
    expect(errors).toHaveLength(1)
    expect((await conversation.state()).header.callStatuses).toEqual([])
    await engine.close()
  })
})

describe('AI SDK messages', () => {
  it('have the types of the package, and are equal after a round trip', async () => {
    const files = [
      { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,iVBORw0KGgo=' },
      {
        type: 'file',
        mediaType: 'application/pdf',
        filename: 'plan.pdf',
        url: 'https://example.com/plan.pdf',
      },
    ] as const
    const parts = [...files, { type: 'text' as const, text: 'See these.' }]
    const message: UIMessage = { id: 'm1', role: 'user', parts: [...parts, { type: 'step-start' }] }
    const back: UIMessage[] = toUIMessages(replay([fromUIMessage(message)]))
    expect(back).toEqual([{ id: 'm1', role: 'user', parts }])
    const chunks: UIMessageChunk[] = [] as UIChunk[]
    expect(chunks).toEqual([])
  })

  it('convert in linear time, with 20,000 replies in one turn', () => {
    const llm_message = { role: 'assistant', content: [{ text: 'a' }], reasoning_content: 'b' } as const
    const replies = Array.from({ length: 20_000 }, (_, index): Event => ({
      kind: 'MessageEvent',
      id: `e${index}`,
      source: 'agent',
      llm_message,
    }))
    const state = replay(replies)
    expect(costOf(() => toUIMessages(state))).toBeLessThan(2000)
    const [message] = toUIMessages(state)
    expect(message?.parts.filter(({ type }) => type === 'reasoning').at(-1)).toMatchObject({ id: '39998' })
  })

  it('send an SVG image as text', () => {
    const url = `data:image/svg+xml;base64,${btoa('<svg/>')}`
    const message = { id: 'm1', role: 'user', parts: [{ type: 'file', mediaType: 'image/svg+xml', url }] }
    const { messages } = toAnthropic(toMessages(replay([fromUIMessage(message)])))
    expect(messages).toEqual([{ role: 'user', content: [{ type: 'text', text: '<svg/>' }] }])
  })

  it.each([
    ['an assistant message', { role: 'assistant', parts: [] }],
    ['no parts', { role: 'user' }],
    ['blank parts', { role: 'user', parts: [{ type: 'text', text: '' }, null] }],
    ['a file without a URL', { role: 'user', parts: [{ type: 'file' }] }],
    ['null', null as never],
  ])('are rejected: %s', (_, message) => {
    expect(() => fromUIMessage(message)).toThrow(expect.objectContaining({ code: 'invalid_argument' }))
  })
})
