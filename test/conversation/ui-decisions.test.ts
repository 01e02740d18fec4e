/** Posts of AI SDK clients when calls wait: messages instead of decisions, late decisions, page tools and stops. */

import { lastAssistantMessageIsCompleteWithToolCalls, type UIMessage } from 'ai'
import { describe, expect, it } from 'vitest'
import type { Conversation } from '../../src/conversation/conversation.ts'
import { createEngine } from '../../src/conversation/engine.ts'
import { isImagePart, isTextPart } from '../../src/event/shapes.ts'
import { receiveUIMessages, type UIReceiveOptions } from '../../src/conversation/ui-messages.ts'
import { checkLog } from '../../src/laws/index.ts'
import { toUIMessages } from '../../src/messages/ui/write.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { call, delta, gate, says, script } from './script.ts'
import { PlainChat, server } from './ui-client.ts'

const confirmAll = { policy: () => true }

async function empty() {
  const engine = createEngine({ store: memoryStore() })
  return { engine, conversation: await engine.create({ id: 'c' }) }
}

const user = (id: string, text: string) => ({ id, role: 'user', parts: [{ type: 'text', text }] })

/** Messages of the page after these decisions by call id. */
const decided = async (
  conversation: Conversation,
  decisions: Readonly<Record<string, boolean>>,
): Promise<object[]> =>
  (await conversation.read(toUIMessages)).map((message) => ({
    ...message,
    parts: message.parts.map((part) =>
      'approval' in part && part.state === 'approval-requested' && decisions[part.approval.id] !== undefined
        ? {
            ...part,
            state: 'approval-responded',
            approval: { ...part.approval, approved: decisions[part.approval.id] },
          }
        : part,
    ),
  }))

/** Texts and call results in log order. */
const outcome = async (conversation: Conversation): Promise<string[]> => {
  const { log } = await conversation.state()
  return [...log.entries].flatMap(({ event }) => {
    if (event?.kind === 'MessageEvent') {
      const [part] = event.llm_message.content ?? []
      return [`${event.source}: ${part !== undefined && 'text' in part ? String(part.text) : ''}`]
    }
    if (event?.kind === 'ObservationEvent') return [`done ${event.action_id}`]
    if (event?.kind === 'AgentErrorEvent') return [`error ${event.tool_call_id}`]
    return event?.kind === 'UserRejectObservation' ? [`rejected ${event.action_id}`] : []
  })
}

/** A conversation with two calls that wait for confirmation. */
async function waiting(ui: UIReceiveOptions = {}) {
  const { engine, conversation } = await empty()
  const { step, executed } = script([[call('a'), call('b')], [says('Fine.')], [says('Again.')]])
  const { fetch, runs } = server(conversation, step, confirmAll, ui)
  const post = async (messages: readonly object[], more: object = {}): Promise<string> => {
    const body = JSON.stringify({ messages, trigger: 'submit-message', ...more })
    const text = await (await fetch('http://localhost', { method: 'POST', body })).text()
    await Promise.all(runs)
    return text
  }
  await post([user('m1', 'Go')])
  expect((await conversation.state()).header.status).toBe('waiting_for_confirmation')
  return { engine, conversation, post, executed }
}

describe('a user who sends a message while calls wait', () => {
  const CASES: readonly (readonly [
    string,
    Readonly<Record<string, boolean>>,
    readonly string[],
    readonly string[],
  ])[] = [
    ['decided nothing', {}, [], ['rejected a', 'rejected b', 'user: Well?']],
    ['approved one', { a: true }, ['a'], ['rejected b', 'user: Well?', 'done a']],
    ['rejected one', { a: false }, [], ['rejected a', 'rejected b', 'user: Well?']],
    ['approved both', { a: true, b: true }, ['a', 'b'], ['user: Well?', 'done a', 'done b']],
    ['approved an unknown call', { z: true }, [], ['rejected a', 'rejected b', 'user: Well?']],
  ]

  it.each(CASES)('gets a reply, having %s', async (_, decisions, executes, then) => {
    const { engine, conversation, post, executed } = await waiting()
    const messages = [...(await decided(conversation, decisions)), user('m2', 'Well?')]
    const text = await post(messages)
    expect(text).toContain('Fine.')
    expect((await outcome(conversation)).slice(1)).toEqual([...then, 'agent: Fine.'])
    expect(executed).toEqual(executes)
    // A duplicate post, as after a lost response, changes nothing.
    const before = await outcome(conversation)
    await post(messages)
    expect(await outcome(conversation)).toEqual(before)
    await engine.close()
  })

  it('sees why the calls were rejected', async () => {
    const { engine, conversation, post } = await waiting()
    await post([...(await conversation.read(toUIMessages)), user('m2', 'Well?')])
    const parts = (await conversation.read(toUIMessages))[1]?.parts ?? []
    const reasons = parts.flatMap((part) =>
      'approval' in part && 'reason' in part.approval ? [part.approval.reason] : [],
    )
    expect(reasons).toEqual([
      expect.stringContaining('sent a message instead'),
      expect.stringContaining('sent a message instead'),
    ])
    await engine.close()
  })

  it("leaves them waiting with `waiting: 'keep'`, and can decide in a later post", async () => {
    const { engine, conversation, post, executed } = await waiting({ waiting: 'keep' })
    await post([...(await conversation.read(toUIMessages)), user('m2', 'Well?')])
    expect((await conversation.state()).header.status).toBe('waiting_for_confirmation')
    await post([...(await decided(conversation, { a: true, b: false })), user('m3', 'So?')])
    expect(executed).toEqual(['a'])
    expect((await outcome(conversation)).at(-1)).toBe('agent: Fine.')
    await expect(
      receiveUIMessages(conversation, { messages: [user('m9', 'x')] }, { waiting: 'wait' as 'keep' }),
    ).rejects.toMatchObject({ code: 'invalid_argument' })
    await engine.close()
  })

  it('can decide in any message, even if an assistant message is the last one', async () => {
    const { engine, conversation, post, executed } = await waiting()
    const messages = await decided(conversation, { a: true, b: true })
    await post([...messages, { id: 'x', role: 'assistant', parts: [] }])
    expect(executed).toEqual(['a', 'b'])
    await engine.close()
  })
})

const NEVER: readonly (readonly [string, object])[] = [
  ['a regeneration', { trigger: 'regenerate-message', messageId: 'm1-reply' }],
  ['an edit', { trigger: 'submit-message', messageId: 'm1' }],
  ['a post', { trigger: 'submit-message' }],
]
it.each(NEVER)('%s of a message that never arrived appends it once', async (_, more) => {
  const { engine, conversation } = await empty()
  const posted = { messages: [user('m1', 'Hi')], ...more }
  expect(await receiveUIMessages(conversation, posted)).toEqual({ to: 'm1' })
  await receiveUIMessages(conversation, { messages: [user('m1', 'Hi')], trigger: 'submit-message' })
  expect(await outcome(conversation)).toEqual(['user: Hi'])
  await engine.close()
})

const PNG_DATA = `iVBORw0KGgo${'A'.repeat(65)}`
const PNG = `data:image/png;base64,${PNG_DATA}`

const partOfA = (messages: readonly UIMessage[]) =>
  messages.at(-1)?.parts.find((part) => 'toolCallId' in part && part.toolCallId === 'a')

describe('a tool that the page executes', () => {
  const ui: UIReceiveOptions = { pageTools: ['locate'] }
  const run = { policy: ({ tool_name }: { readonly tool_name: string }) => tool_name === 'locate' }

  const OUTPUTS: readonly (readonly [string, object, object])[] = [
    [
      'an object',
      { output: { city: 'Rome', at: [1, 2] } },
      { state: 'output-available', output: { city: 'Rome', at: [1, 2] } },
    ],
    ['a string', { output: 'Rome' }, { state: 'output-available', output: 'Rome' }],
    [
      'a string that looks like JSON',
      { output: '{"a":1}' },
      { state: 'output-available', output: '{"a":1}' },
    ],
    ['a number', { output: 0 }, { state: 'output-available', output: 0 }],
    ['null', { output: null }, { state: 'output-available', output: null }],
    ['an error', { state: 'output-error', errorText: 'No permission' }, { state: 'output-error' }],
  ]

  it.each(OUTPUTS)('returns %s, and the run continues', async (_, output, part) => {
    const { engine, conversation } = await empty()
    const { step, requests } = script([[call('a', 'locate'), call('b')], [says('You are there.')]])
    const { fetch, runs } = server(conversation, step, run, ui)
    const chat = new PlainChat({ id: conversation.id, fetch })
    await chat.sendMessage({ text: 'Where am I?' })
    await Promise.all(runs)
    expect(partOfA(chat.messages)).toMatchObject({ state: 'input-available' })
    const loaded = (await conversation.read((now) => toUIMessages(now, ui))) as UIMessage[]
    expect(partOfA(loaded)).toMatchObject({ state: 'input-available' })
    await chat.addToolOutput({ tool: 'locate', toolCallId: 'a', ...output } as never)
    expect(lastAssistantMessageIsCompleteWithToolCalls({ messages: chat.messages })).toBe(true)
    await chat.sendMessage()
    await Promise.all(runs)
    expect(chat.error).toBe(undefined)
    expect(partOfA(chat.messages)).toMatchObject(part)
    expect(partOfA((await conversation.read((now) => toUIMessages(now, ui))) as UIMessage[])).toMatchObject(
      part,
    )
    expect((await outcome(conversation)).at(-1)).toBe('agent: You are there.')
    expect(requests).toHaveLength(2)
    const { items } = await conversation.search()
    expect(checkLog(items.map(({ fact }) => fact))).toEqual([])
    await engine.close()
  })

  it('returns a failure, which the model sees as a failure', async () => {
    const { engine, conversation } = await empty()
    const { step } = script([[call('a', 'locate')], [says('Pity.')]])
    const { fetch, runs } = server(conversation, step, run, ui)
    const chat = new PlainChat({ id: conversation.id, fetch })
    await chat.sendMessage({ text: 'Where am I?' })
    await Promise.all(runs)
    const output = { content: [{ type: 'text', text: 'No permission.' }], isError: true }
    await chat.addToolOutput({ tool: 'locate', toolCallId: 'a', output } as never)
    await chat.sendMessage()
    await Promise.all(runs)
    expect(partOfA(chat.messages)).toMatchObject({ state: 'output-available', output })
    const loaded = (await conversation.read((now) => toUIMessages(now, ui))) as UIMessage[]
    expect(partOfA(loaded)).toMatchObject({ state: 'output-available', output })
    const result = (await conversation.messages()).find(({ role }) => role === 'tool')
    expect(result).toMatchObject({ is_error: true })
    expect(result?.content).toContainEqual({ type: 'text', text: 'No permission.' })
    await engine.close()
  })

  it.each([PNG, { screenshot: PNG }, [{ type: 'image', data: PNG_DATA, mimeType: 'image/png' }]])(
    'returns an image, which the model sees: %j',
    async (output) => {
      const { engine, conversation } = await empty()
      const { step } = script([[call('a', 'locate')], [says('I see.')]])
      const { fetch, runs } = server(conversation, step, run, ui)
      const chat = new PlainChat({ id: conversation.id, fetch })
      await chat.sendMessage({ text: 'Where am I?' })
      await Promise.all(runs)
      await chat.addToolOutput({ tool: 'locate', toolCallId: 'a', output } as never)
      await chat.sendMessage()
      await Promise.all(runs)
      expect(partOfA(chat.messages)).toMatchObject({ state: 'output-available', output })
      const result = (await conversation.messages()).find(({ role }) => role === 'tool')
      expect(result?.content.filter(isImagePart)).toMatchObject([{ image_urls: [PNG] }])
      expect(JSON.stringify(result?.content.filter(isTextPart))).not.toContain(PNG_DATA)
      await engine.close()
    },
  )

  it('is the only tool whose output a page can return', async () => {
    const { engine, conversation, post, executed } = await waiting(ui)
    const messages = (await conversation.read(toUIMessages)).map((message) => ({
      ...message,
      parts: message.parts.map((part) =>
        'toolCallId' in part ? { ...part, state: 'output-available', output: 'forged' } : part,
      ),
    }))
    await post(messages)
    expect((await conversation.state()).header.status).toBe('waiting_for_confirmation')
    expect(executed).toEqual([])
    expect(await outcome(conversation)).toEqual(['user: Go'])
    await engine.close()
  })
})

const plainParts = (parts: readonly { readonly type: string }[]): string[] =>
  parts.flatMap((part) =>
    'text' in part ? [String(part.text)] : part.type.startsWith('data-') ? [part.type] : [],
  )

it.each(['interrupt', 'pause'] as const)(
  'the %s marker follows the text that it stopped, in the stream and after a reload',
  async (verb) => {
    const { engine, conversation } = await empty()
    const [streamed, end] = [gate(), gate()]
    const { step } = script([
      async function* ({ publish, signal }) {
        publish(delta('Ha'))
        publish(delta('lf'))
        streamed.open()
        await Promise.race([end.pass(), new Promise((stop) => signal.addEventListener('abort', stop))])
        if (verb === 'pause') yield says('Half')
        else signal.throwIfAborted()
      },
    ])
    const { fetch, runs } = server(conversation, step)
    const seen: string[][] = []
    const chat: PlainChat = new PlainChat({
      id: conversation.id,
      fetch,
      changed: () => void seen.push(plainParts(chat.messages.at(-1)?.parts ?? [])),
    })
    const sending = chat.sendMessage({ text: 'Count' })
    await streamed.pass()
    await expect.poll(() => seen.at(-1)?.join()).toBe('Half')
    await conversation[verb]()
    end.open()
    await Promise.all(runs)
    await sending
    const mark = `data-${verb}`
    const loaded = (await conversation.read(toUIMessages)).at(-1)?.parts ?? []
    expect(plainParts(loaded)).toEqual(['Half', mark])
    expect(plainParts(chat.messages.at(-1)?.parts ?? [])).toEqual(['Half', mark])
    expect(loaded.map(({ type }) => type)).toEqual(['step-start', 'text', mark])
    expect(chat.messages.at(-1)?.parts.map(({ type }) => type)).toEqual(['step-start', 'text', mark])
    // The marker never precedes the text.
    expect(seen.some((parts) => parts[0] === mark)).toBe(false)
    await engine.close()
  },
)
