/**
 * A connection fails in the middle of a reply: the log contains what live readers saw, and the next run
 * continues.
 */

import { expect, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import { replyOf } from '../../src/event/reply.ts'
import { openaiChatStep } from '../../src/steps/index.ts'
import { memoryStore } from '../../src/store/memory/store.ts'

const chunk = (delta: object, finish_reason: string | null = null): object => ({
  id: 'c',
  choices: [{ index: 0, delta, finish_reason }],
  usage: { prompt_tokens: 5000, completion_tokens: 5 },
})

const CALL = {
  tool_calls: [{ index: 0, id: 'a', function: { name: 'bash', arguments: '{"cmd":"ls"}' } }],
}

it.each([
  ['after text', [chunk({ content: 'The causes are ' })]],
  ['after text and a call', [chunk({ content: 'The causes are ' }), chunk(CALL)]],
])('a reply that fails %s is logged, and the next run continues', async (_, chunks) => {
  const requests: { readonly messages: readonly object[] }[] = []
  async function* streamOf(isCut: boolean) {
    if (!isCut) return yield* [chunk({ content: 'rain.' }, 'stop')]
    yield* chunks
    throw new Error('socket hang up')
  }
  const create = async (request: { readonly messages: readonly object[] }) => {
    requests.push(request)
    return streamOf(requests.length === 1)
  }
  const executed: unknown[] = []
  const step = openaiChatStep({
    client: { chat: { completions: { create } } } as never,
    model: 'm',
    tools: [
      {
        name: 'bash',
        description: '',
        parameters: { type: 'object' },
        execute: (args: unknown) => String(executed.push(args)),
      },
    ],
  })
  const engine = createEngine({ store: memoryStore() })
  const conversation = await engine.create()
  await conversation.sendMessage('Why?')
  const first = await conversation.run(step).then(
    ({ status }) => status,
    (error: unknown) => String(error),
  )
  expect(first).toMatch(/error|hang up/)
  const { header, log } = await conversation.state()
  expect(header.status).toBe('error')
  const events = [...log.entries].flatMap(({ event }) => event ?? [])
  const reply = events.find((event) => replyOf(event) !== null)
  expect(reply === undefined ? null : replyOf(reply)).toMatchObject({
    outcome: 'broken_off',
    tokens: [5000, 5],
  })
  expect(JSON.stringify(events)).toContain('The causes are ')
  expect((await conversation.run(step)).status).toBe('finished')
  expect(JSON.stringify(requests[1]?.messages)).toContain('The causes are ')
  expect(executed).toEqual([])
  await engine.close()
})
