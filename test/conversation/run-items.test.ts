/** `for await` over a run yields its events and deltas once and in order, then ends or throws. */

import { afterEach, describe, expect, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import type { Conversation, Run, RunItem } from '../../src/conversation/conversation.ts'
import type { Event } from '../../src/event/types.ts'
import { memoryStore } from '../../src/store/memory/store.ts'

const engine = createEngine({ store: memoryStore() })
afterEach(async () => {
  for (const { id } of (await engine.store.listConversations()).items) await engine.delete(id)
})

const agent = (text: string): Event => ({
  kind: 'MessageEvent',
  source: 'agent',
  llm_message: { role: 'assistant', content: [{ type: 'text', text }] },
})
const delta = (content: string): Event => ({ kind: 'StreamingDeltaEvent', source: 'agent', content })

async function startConversation(): Promise<Conversation> {
  const conversation = await engine.create()
  await conversation.sendMessage('Earlier words.')
  return conversation
}

async function itemsOf(run: Run): Promise<RunItem[]> {
  const items: RunItem[] = []
  for await (const item of run) items.push(item)
  return items
}

const kindsOf = (items: readonly RunItem[]): string[] =>
  items.map((item) => (item.type === 'event' && 'kind' in item.fact ? item.fact.kind : item.type))

describe('a run', () => {
  it.each([0, 1, 7])('yields its events and %i deltas, and nothing from before the run', async (count) => {
    const conversation = await startConversation()
    const whole = Array.from({ length: count }, (_, index) => `${index} `).join('')
    const read = Promise.withResolvers<void>()
    if (count === 0) read.resolve()
    const run = conversation.run(async function* () {
      for (let index = 0; index < count; index += 1) yield delta(`${index} `)
      // The deltas are gone once their message is in the log.
      await read.promise
      yield agent(whole || 'Hi')
    })
    const items: RunItem[] = []
    let text = ''
    for await (const item of run) {
      items.push(item)
      if (item.type === 'delta') text += item.event.content ?? ''
      if (text === whole) read.resolve()
    }
    expect(text).toBe(whole)
    const { log } = await conversation.state()
    // The first event is the user's.
    expect(items.flatMap((item) => (item.type === 'event' ? [item.seq] : []))).toEqual(
      Array.from({ length: log.entries.length - 1 }, (_, index) => index + 1),
    )
    expect(kindsOf(items).at(-1)).toBe('MessageEvent')
    expect((await run).status).toBe('finished')
    expect(await itemsOf(run)).toEqual(items.filter(({ type }) => type === 'event'))
  })

  it('continues when its reader leaves', async () => {
    const conversation = await startConversation()
    const run = conversation.run(async function* () {
      yield agent('One.')
    })
    for await (const item of run) {
      expect(item.type).toBe('event')
      break
    }
    expect((await run).status).toBe('finished')
  })

  it('throws its error to each reader', async () => {
    const conversation = await engine.create()
    await expect(itemsOf(conversation.run(() => [agent('never')]))).rejects.toMatchObject({
      code: 'empty_view',
    })
    const run = conversation.run(() => [agent('never')])
    await expect(run).rejects.toMatchObject({ code: 'empty_view' })
    await expect(itemsOf(run)).rejects.toMatchObject({ code: 'empty_view' })
    await expect(itemsOf(conversation.run('no step' as never))).rejects.toMatchObject({
      code: 'invalid_argument',
    })
  })

  it('yields the error event of its step last', async () => {
    const conversation = await startConversation()
    const items = await itemsOf(
      conversation.run(() => {
        throw new Error('broken')
      }),
    )
    expect(kindsOf(items).at(-1)).toBe('ConversationErrorEvent')
  })

  it('can have several readers, also while it waits for another run', async () => {
    const conversation = await startConversation()
    const gate = Promise.withResolvers<void>()
    const first = conversation.run(async function* () {
      await gate.promise
      yield agent('One.')
    })
    const second = conversation.run(() => [agent('Two.')], { wait: true })
    const reads = [itemsOf(first), itemsOf(first), itemsOf(second)]
    await expect(itemsOf(conversation.run(() => []))).rejects.toMatchObject({ code: 'already_running' })
    gate.resolve()
    const [one, two, three] = await Promise.all(reads)
    expect(one).toEqual(two)
    expect(kindsOf(one ?? []).at(-1)).toBe('MessageEvent')
    // A reader also receives the events that another run appends.
    expect(three).toEqual(one)
  })
})
