/** An edited message keeps its id in the AI SDK client, and the log has every version. */

import { expect, it } from 'vitest'
import type { Conversation } from '../../src/conversation/conversation.ts'
import { createEngine } from '../../src/conversation/engine.ts'
import type { Step } from '../../src/conversation/run/step.ts'
import { receiveUIMessages } from '../../src/conversation/ui-messages.ts'
import { toUIMessages } from '../../src/messages/ui/write.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { says } from './script.ts'
import { PlainChat, server } from './ui-client.ts'

const textsOf = (parts: readonly object[]): string[] =>
  parts.flatMap((part) => ('text' in part ? [String(part.text)] : []))

const userTexts = async (conversation: Conversation): Promise<string[]> =>
  (await conversation.read(toUIMessages)).flatMap(({ role, parts }) =>
    role === 'user' ? textsOf(parts) : [],
  )

/** Echoes its request, so that each reply shows what it replies to. */
const echo: Step = ({ messages }) => {
  const requests = messages.flatMap((message) => (message.role === 'user' ? textsOf(message.content) : []))
  return [says(`to ${requests.join(' ')}`)]
}

const posted = (text: string, more: object = {}) => ({
  messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text }] }],
  trigger: 'submit-message',
  ...more,
})
const edited = (text: string) => posted(text, { messageId: 'm1' })
const regenerated = (text: string) => posted(text, { trigger: 'regenerate-message' })

async function empty(cacheBytes?: number) {
  const engine = createEngine({ store: memoryStore(), ...(cacheBytes !== undefined && { cacheBytes }) })
  return { engine, conversation: await engine.create({ id: 'c' }) }
}

it('regenerate() replies to the latest text of an edited message', async () => {
  const { engine, conversation } = await empty()
  const { fetch } = server(conversation, echo)
  const chat = new PlainChat({ id: conversation.id, fetch })
  const shown = (): string[] => chat.messages.map(({ parts }) => textsOf(parts).join(''))
  await chat.sendMessage({ text: 'zero' })
  await chat.sendMessage({ text: 'one' })
  const messageId = chat.messages[2]?.id ?? ''
  for (const text of ['two', 'three', 'two']) {
    await chat.sendMessage({ text, messageId })
    expect(shown()).toEqual(['zero', 'to zero', text, `to zero ${text}`])
    await chat.regenerate()
    expect(shown()).toEqual(['zero', 'to zero', text, `to zero ${text}`])
    expect(chat.messages[2]?.id).toBe(messageId)
    expect(await userTexts(conversation)).toEqual(['zero', text])
  }
  // Earlier messages are unchanged.
  await chat.regenerate({ messageId: chat.messages[1]?.id ?? '' })
  expect(shown()).toEqual(['zero', 'to zero'])
  await engine.close()
})

it.each([
  ['with a cache', undefined],
  ['without a cache', 0],
])('an edit that is posted twice is appended once, %s', async (_, cacheBytes) => {
  const { engine, conversation } = await empty(cacheBytes)
  await receiveUIMessages(conversation, posted('old'))
  const twice = [edited('new'), edited('new')].map((edit) => receiveUIMessages(conversation, edit))
  const [first, second] = await Promise.all(twice)
  expect(second).toEqual(first)
  expect(await receiveUIMessages(conversation, edited('new'))).toEqual(first)
  expect(await conversation.branches()).toHaveLength(2)
  expect(await receiveUIMessages(conversation, regenerated('new'))).toEqual(first)
  expect(await userTexts(conversation)).toEqual(['new'])
  await engine.close()
})

it('a repeated edit returns to its branch, even after later messages', async () => {
  const { engine, conversation } = await empty()
  await receiveUIMessages(conversation, posted('old'))
  const first = await receiveUIMessages(conversation, edited('new'))
  await conversation.append(says('Hi'))
  await conversation.sendMessage('more')
  expect(await receiveUIMessages(conversation, edited('new'))).toEqual(first)
  expect(await userTexts(conversation)).toEqual(['new'])
  expect(await receiveUIMessages(conversation, edited('newer'))).not.toEqual(first)
  expect(await userTexts(conversation)).toEqual(['newer'])
  await engine.close()
})

it('an edit fails with already_running during a run, and appends a message that never arrived', async () => {
  const store = memoryStore()
  const engine = createEngine({ store })
  const conversation = await engine.create({ id: 'c' })
  await receiveUIMessages(conversation, posted('old'))
  await store.acquireLease('c', 'another', 60_000)
  await expect(receiveUIMessages(conversation, edited('new'))).rejects.toMatchObject({
    code: 'already_running',
  })
  expect(await userTexts(conversation)).toEqual(['old'])
  const unknown = { messages: [{ ...posted('x').messages[0], id: 'm9' }], messageId: 'm9' }
  // The post of the original message never arrived.
  expect(await receiveUIMessages(conversation, unknown)).toEqual({ to: 'm9' })
  await engine.close()
})

/** `sendMessage()` posts the last message again, with its id as `messageId`, as an edit does. */
it.each(['before its run', 'during its run', 'after its run', 'with an error of its run'])(
  'a retry of a post that failed %s is not an edit',
  async (moment) => {
    const { engine, conversation } = await empty()
    const isStarted = Promise.withResolvers<void>()
    const end = Promise.withResolvers<void>()
    let requests = 0
    const step: Step = async () => {
      requests += 1
      isStarted.resolve()
      if (moment === 'during its run') await end.promise
      if (moment === 'with an error of its run' && requests === 1) throw new Error('overloaded')
      return [says('Hello!')]
    }
    const { fetch, runs } = server(conversation, step)
    let isCut = false
    const cut: typeof fetch = async (url, init) => {
      if (isCut || moment === 'with an error of its run') return fetch(url, init)
      isCut = true
      if (moment === 'before its run') await receiveUIMessages(conversation, JSON.parse(String(init?.body)))
      else {
        const response = await fetch(url, init)
        if (moment === 'during its run') await isStarted.promise
        else await response.text()
      }
      throw new TypeError('network')
    }
    const chat = new PlainChat({ id: conversation.id, fetch: cut })
    await chat.sendMessage({ text: 'Hi' })
    expect(chat.error).toBeDefined()
    const again = chat.sendMessage()
    end.resolve()
    await again
    await Promise.all(runs)
    expect(chat.error).toBe(undefined)
    expect(chat.messages.map(({ parts }) => textsOf(parts).join(''))).toEqual(['Hi', 'Hello!'])
    expect(await userTexts(conversation)).toEqual(['Hi'])
    expect(await conversation.branches()).toHaveLength(1)
    expect(requests).toBe(moment === 'with an error of its run' ? 2 : 1)
    await engine.close()
  },
)
