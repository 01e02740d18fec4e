/** The AI SDK stream when its run fails, is paused or resumes. */

import { expect, it } from 'vitest'
import type { Conversation } from '../../src/conversation/conversation.ts'
import { uiMessageStream, type UIStreamOptions } from '../../src/conversation/ui-messages.ts'
import type { UIChunk } from '../../src/messages/ui/types.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { delta, gate, says, script, startConversation } from './script.ts'
import { wrapStore } from './stores.ts'
import { PlainChat, server } from './ui-client.ts'

const textOf = (chat: PlainChat): string =>
  (chat.messages.at(-1)?.parts ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('')

async function stream(conversation: Conversation, options: UIStreamOptions) {
  const errors: unknown[] = []
  const onError = (error: unknown): number => errors.push(error)
  const chunks: UIChunk[] = []
  for await (const chunk of uiMessageStream(conversation, { ...options, onError })) chunks.push(chunk)
  return {
    chunks,
    types: chunks.map(({ type }) => type),
    codes: errors.map((error) => (error as { code?: string }).code),
  }
}

it('the stream reports a run that rejects before it starts', async () => {
  const { engine, conversation } = await startConversation()
  const run = () => conversation.run(script([]).step, { leaseTtl: -1 })
  const { types, codes } = await stream(conversation, { run })
  expect(types).toEqual(['start', 'error'])
  expect(codes).toEqual(['invalid_argument'])
  await engine.close()
})

it('the stream reports a store that fails during a run', async () => {
  const inner = memoryStore()
  let fails = false
  const { engine, conversation } = await startConversation(
    'Hi',
    wrapStore(inner, {
      append: (...input) =>
        fails ? Promise.reject(Object.assign(new Error('away'), { code: 'x' })) : inner.append(...input),
    }),
  )
  const { step } = script([
    async function* ({ publish }) {
      publish(delta('Hel'))
      fails = true
      yield says('Hello')
    },
  ])
  const { types, codes } = await stream(conversation, { run: () => conversation.run(step) })
  expect(types.at(-1)).toBe('error')
  expect(codes).toHaveLength(1)
  fails = false
  await engine.close()
})

it('the stream reports already_running, and contains the reply of the other run if it is live', async () => {
  const { engine, conversation, store } = await startConversation()
  const lease = await store.acquireLease('c', 'another', 60_000)
  const startRun = () => conversation.run(script([]).step)
  const { types, codes } = await stream(conversation, { run: startRun })
  expect(types).toEqual(['start', 'error', 'finish'])
  expect(codes).toEqual(['already_running'])
  if (lease !== null) await store.releaseLease(lease)

  const end = gate()
  const { step } = script([
    async function* () {
      await end.pass()
      yield says('Hello')
    },
  ])
  const running = conversation.run(step)
  await end.reached
  const rejected = startRun().finally(() => end.open())
  const other = await stream(conversation, { run: () => rejected })
  expect(other.types).toEqual(['start', 'start-step', 'text-start', 'text-delta', 'text-end', 'finish'])
  expect(other.codes).toEqual(['already_running'])
  await running
  await engine.close()
})

it('onError receives the error of a run whose client has left', async () => {
  const { engine, conversation } = await startConversation()
  const report = Promise.withResolvers<unknown>()
  const run = () => conversation.run(script([]).step, { leaseTtl: -1 })
  const chunks = uiMessageStream(conversation, { run, onError: report.resolve })
  await chunks.next()
  await chunks.return()
  expect(await report.promise).toMatchObject({ code: 'invalid_argument' })
  await engine.close()
})

it('the stream continues with a reply that is paused and resumed', async () => {
  const { engine, conversation } = await startConversation()
  const seen: string[] = []
  const { step } = script([
    async function* ({ publish }) {
      publish(delta('one '))
      await conversation.pause()
      publish(delta('two '))
      await conversation.resume()
      publish(delta('three'))
      await expect.poll(() => seen).toContain('one two three')
      yield says('Otherwise.')
    },
  ])
  const { fetch } = server(conversation, step)
  const chat: PlainChat = new PlainChat({
    id: conversation.id,
    fetch,
    changed: () => seen.push(textOf(chat)),
  })
  await chat.sendMessage({ text: 'Hi' })
  expect(seen).toContain('one two three')
  expect(textOf(chat)).toBe('Otherwise.')
  await engine.close()
})
