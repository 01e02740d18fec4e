/**
 * Streamed replies, in any process, from the beginning or resumed (law B5). Leaving stops nothing; stopping
 * notifies the readers.
 */

import { afterEach, expect, it } from 'vitest'
import { createEngine, type Engine } from '../../src/conversation/engine.ts'
import type { Step } from '../../src/conversation/run/step.ts'
import { createService, type Service } from '../../src/service/service.ts'
import { memoryStore } from '../../src/store/memory/store.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

/** An engine and a service over a shared store. */
function processOver(store = memoryStore()): { readonly engine: Engine; readonly service: Service } {
  const engine = createEngine({ store, shareReplies: true })
  ends.push(() => engine.close())
  return { engine, service: createService({ engine }) }
}

interface Sent {
  readonly id: string
  readonly type: string
  readonly after_delta?: string
  readonly event: { readonly kind: string; readonly content?: string | null; readonly source?: string }
}

/** Listens like a browser until a match, then disconnects. */
async function listen(
  service: Service,
  until: (all: readonly Sent[]) => boolean,
  headers: Record<string, string> = {},
  query = '',
): Promise<readonly Sent[]> {
  const stop = new AbortController()
  const url = `http://localhost/api/conversations/c/events/stream?format=envelope${query}`
  const response = await service.fetch(new Request(url, { headers, signal: stop.signal }))
  expect(response.status).toBe(200)
  const sent: Sent[] = []
  let rest = ''
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) {
    const blocks = (rest + decoder.decode(chunk, { stream: true })).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const [, id, data] = /^id: (\S+)\ndata: (.*)$/.exec(block) ?? []
      if (data !== undefined) sent.push({ id: id ?? '', ...(JSON.parse(data) as Omit<Sent, 'id'>) })
    }
    if (until(sent)) break
  }
  stop.abort()
  return sent
}

const textOf = (sent: readonly Sent[]): string =>
  sent.flatMap(({ event }) => (event.kind === 'StreamingDeltaEvent' ? [event.content ?? ''] : [])).join('')
const hasText = (text: string) => (sent: readonly Sent[]) => textOf(sent).endsWith(text)
const isOver = (sent: readonly Sent[]): boolean =>
  sent.some(({ event }) => event.kind === 'MessageEvent' && event.source === 'agent')

/** A run whose step streams each text on request, then the whole message. */
async function startStreaming(engine: Engine, texts: readonly string[]) {
  const conversation = await engine.create({ id: 'c' })
  await conversation.sendMessage('Hi')
  const gates = texts.map(() => Promise.withResolvers<void>())
  const end = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const step: Step = async function* ({ publish, signal }) {
    begun.resolve()
    const stopped = new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(new Error('stopped')))
    })
    stopped.catch(() => undefined)
    for (const [i, content] of texts.entries()) {
      await Promise.race([gates[i]?.promise, stopped])
      publish({ kind: 'StreamingDeltaEvent', content })
    }
    await Promise.race([end.promise, stopped])
    yield {
      kind: 'MessageEvent',
      source: 'agent',
      llm_message: { role: 'assistant', content: [{ type: 'text', text: texts.join('') }] },
    }
  }
  const run = conversation.run(step)
  await begun.promise
  return { conversation, run, release: (i: number) => gates[i]?.resolve(), end: () => end.resolve() }
}

it.each(['the process of the run', 'another process'])(
  'a reader in %s gets the reply so far, and continues after its last id',
  async (where) => {
    const store = memoryStore()
    const [runner, other] = [processOver(store), processOver(store)]
    const { service } = where === 'another process' ? other : runner
    const { run, release, end } = await startStreaming(runner.engine, ['Hel', 'lo ', 'wor', 'ld', '!'])
    release(0)
    const first = await listen(service, hasText('Hel'))
    release(1)
    release(2)
    // A page opened mid-reply.
    const fresh = await listen(service, hasText('wor'))
    expect(textOf(fresh)).toBe('Hello wor')
    const again = await listen(service, hasText('wor'), { 'last-event-id': first.at(-1)?.id ?? '' })
    expect(textOf(again)).toBe('lo wor')
    release(3)
    // The same, from the envelope's position, as on a socket.
    const position = `&after=${first.at(-1)?.id.split(';')[0]}&after_delta=${again.at(-1)?.after_delta}`
    const rest = listen(service, isOver, {}, position)
    const later = listen(service, isOver)
    await listen(service, hasText('ld'))
    release(4)
    end()
    expect(textOf(await rest)).toBe('ld!')
    expect(textOf(await later)).toBe('Hello world!')
    expect((await run).status).toBe('finished')
    // The message is in the log now; deltas are not.
    const after = await listen(service, isOver, {}, '&resend_mode=all')
    expect(textOf(after)).toBe('')
  },
)

it('a reader that leaves stops nothing, and an interrupt appends the partial reply', async () => {
  const store = memoryStore()
  const [runner, other] = [processOver(store), processOver(store)]
  const { conversation, run, release } = await startStreaming(runner.engine, ['Hel', 'lo', ' never'])
  release(0)
  await listen(other.service, hasText('Hel'))
  expect((await conversation.state()).header.status).toBe('running')
  const reading = listen(other.service, isOver)
  await listen(other.service, hasText('Hel'))
  release(1)
  await listen(other.service, hasText('lo'))
  await (await other.engine.open('c')).interrupt()
  const sent = await reading
  expect(textOf(sent)).toBe('Hello')
  expect(sent.map(({ event }) => event.kind)).toContain('InterruptEvent')
  expect(sent.at(-1)?.event).toMatchObject({
    kind: 'MessageEvent',
    llm_message: { content: [{ text: 'Hello' }], reply: { interrupted: true } },
  })
  expect((await run).status).toBe('paused')
})

it('an invalid `after_delta` gets 422', async () => {
  const { engine, service } = processOver()
  await engine.create({ id: 'c' })
  const url = 'http://localhost/api/conversations/c/events/stream?after_delta=x'
  expect((await service.fetch(new Request(url))).status).toBe(422)
})

it('the pieces of a reply are removed from the store when it ends', async () => {
  const store = memoryStore()
  const [runner, other] = [processOver(store), processOver(store)]
  const { run, release, end } = await startStreaming(runner.engine, ['Hello'])
  release(0)
  await listen(other.service, hasText('Hello'))
  expect((await store.listItems('colloquy.reply_pieces')).items).toHaveLength(1)
  end()
  await run
  await runner.engine.close()
  for (const collection of ['colloquy.replies', 'colloquy.reply_pieces'])
    expect((await store.listItems(collection)).items).toEqual([])
})
