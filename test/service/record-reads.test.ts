import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/store/memory/store.ts'
import { spyStore } from '../conversation/stores.ts'
import { clientOver } from './client.ts'

const MESSAGE = {
  kind: 'MessageEvent',
  source: 'user',
  id: 'a',
  llm_message: { role: 'user', content: [{ type: 'text', text: 'Hello' }] },
} as const

const say = { content: [{ type: 'text', text: 'Hi' }], role: 'user' }
const C = '/api/conversations/c'

const headers = { 'content-type': 'application/json' }

it('a message to a conversation in memory reads no record, and gets 404 after a deletion', async () => {
  const reads: string[] = []
  const inner = memoryStore()
  const store = spyStore(inner, (name) => void (name === 'getConversation' && reads.push(name)))
  const { engine, send } = await clientOver(store)
  const post = () => send(`${C}/events`, { method: 'POST', headers, body: JSON.stringify(say) })
  expect((await post()).status).toBe(404)
  await engine.create({ id: 'c' })
  expect((await post()).status).toBe(200)
  reads.length = 0
  expect((await post()).status).toBe(200)
  expect(reads).toEqual([])
  await inner.deleteConversation('c')
  expect((await post()).status).toBe(404)
  // Created again, with the same id.
  await inner.createConversation({ id: 'c' })
  expect((await post()).status).toBe(200)
  expect((await inner.getConversation('c'))?.version).toBe(1)
  await engine.close()
})

describe('the record of a conversation', () => {
  it.each<[string, 'GET' | 'POST', string, object?]>([
    ['reading it', 'GET', C],
    ['reading it by ids', 'GET', '/api/conversations?ids=c'],
    ['a search of conversations', 'GET', '/api/conversations/search'],
    ['a message', 'POST', `${C}/events`, say],
    ['a pause', 'POST', `${C}/pause`],
    ['an interrupt', 'POST', `${C}/interrupt`],
    ['a confirmation policy', 'POST', `${C}/confirmation_policy`, { policy: { kind: 'AlwaysConfirm' } }],
    ['a search of events', 'GET', `${C}/events/search`],
    ['a count of events', 'GET', `${C}/events/count`],
    ['reading an event', 'GET', `${C}/events/a`],
    ['reading it as an app conversation', 'GET', '/api/v1/app-conversations?ids=c'],
  ])('is read at most once for %s', async (_, method, path, body) => {
    const reads: string[] = []
    const store = spyStore(memoryStore(), (name, [id]) => {
      if (name === 'getConversation') reads.push(String(id))
    })
    const { engine, send } = await clientOver(store)
    const conversation = await engine.create({ id: 'c' })
    await conversation.append(MESSAGE)
    reads.length = 0
    const init = body === undefined ? {} : { body: JSON.stringify(body) }
    const { status } = await send(path, { method, headers, ...init })
    expect(status).toBe(200)
    expect(reads.filter((id) => id === 'c').length).toBeLessThanOrEqual(1)
    await engine.close()
  })
})
