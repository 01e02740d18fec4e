/** An engine with `blobs: 'refs'` keeps long strings out of memory. Its requests and its log are the same, byte for byte. */

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, describe, expect, it } from 'vitest'
import { createEngine, type EngineOptions } from '../../src/conversation/engine.ts'
import type { HookInput } from '../../src/conversation/run/hooks.ts'
import type { Event } from '../../src/event/types.ts'
import { toAnthropic, toMessages } from '../../src/messages/index.ts'
import type { StepTool } from '../../src/steps/index.ts'
import type { State } from '../../src/state/state.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { scripted, STEP_WIRES } from '../steps/wires.ts'
import { action, agent, image, observe, text, user } from '../build.ts'

type Mode = NonNullable<EngineOptions['blobs']>

const picture = (letter: string): string => `data:image/png;base64,${letter.repeat(80_000)}`
const long = (start: string): string => start.padEnd(70_000, ' x')
const bodies = ({ log }: State): string => JSON.stringify([...log.entries].map(({ event }) => event))

/** A request as text. Some clients receive an image as bytes, which are encoded here. */
const bytesOf = (request: unknown): string =>
  JSON.stringify(request, (_, value: unknown) =>
    value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value,
  )

const cleanups: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of cleanups.splice(0).toReversed()) await end()
})

/** An engine with reproducible ids and timestamps. */
function engineWith(blobs: Mode, store: Store = memoryStore()) {
  let ids = 0
  let now = 1_780_000_000_000_000n
  const engine = createEngine({
    store,
    blobs,
    newId: () => `id${String((ids += 1)).padStart(4, '0')}`,
    clock: () => (now += 1_000_000n),
  })
  cleanups.push(() => engine.close())
  return { engine, store }
}

const shoot: StepTool = {
  name: 'shoot',
  description: 'Takes a picture.',
  parameters: { type: 'object', properties: {} },
  execute: async () => [
    { type: 'text', text: long('The log: ') },
    { type: 'image', image_urls: [picture('B')] },
  ],
}

const SCRIPT = [
  { calls: [{ id: 'c1', name: 'shoot', args: JSON.stringify({ note: long('a note') }) }] },
  { text: 'I see.' },
  { text: 'Again.' },
]

describe.each(Object.values(STEP_WIRES))('a run of $name with references', (wire) => {
  it('sends the same requests and writes the same log as without references', async () => {
    const results = []
    for (const blobs of ['whole', 'refs'] as const) {
      const { engine, store } = engineWith(blobs)
      const conversation = await engine.create({ id: 'c' })
      const { step, requests } = scripted(wire, SCRIPT, { tools: [shoot], system: 'Be brief.' })
      const content = [text(`Look: colloquy:blob/${'0'.repeat(64)}`), image(picture('A'))]
      await conversation.sendMessage({ role: 'user', content }, { key: 'm' })
      expect(await conversation.run(step)).toMatchObject({ status: 'finished' })
      await conversation.sendMessage('And now?', { key: 'n' })
      expect(await conversation.run(step)).toMatchObject({ status: 'finished' })
      const state = await conversation.state()
      if (blobs === 'refs') {
        expect(bodies(state)).not.toContain('AAAA')
        expect(bodies(state)).not.toContain('BBBB')
        expect(bodies(state)).not.toContain('The log')
        expect(bodies(state)).toContain('a note')
      }
      expect(await conversation.messages()).toEqual(toMessages((await conversation.tree()).state))
      expect(requests).toHaveLength(3)
      for (const sent of requests) expect(bytesOf(sent)).toContain('AAAA')
      results.push([bytesOf(requests), JSON.stringify(await store.read('c'))])
    }
    expect(results[1]).toEqual(results[0])
  })
})

it('engines with and without references open the same snapshot and send the same messages', async () => {
  const store = sqliteStore({ file: ':memory:' })
  cleanups.push(() => store.close())
  const first = engineWith('refs', store)
  const conversation = await first.engine.create({ id: 'c' })
  await conversation.append([user('u', [image(picture('A'))]), agent('a')])
  await conversation.append(Array.from({ length: 1_500 }, (_, n) => user(`m${n}`, `${n}`)))
  await first.engine.close()
  expect(await store.loadSnapshot('c')).not.toEqual([])
  const states: State[] = []
  const sent: string[] = []
  for (const blobs of ['whole', 'refs'] as const) {
    const opened = await engineWith(blobs, store).engine.open('c')
    states.push(await opened.state())
    sent.push(JSON.stringify(toAnthropic(await opened.messages())))
    await opened.run(async function* ({ messages }) {
      sent.push(JSON.stringify(toAnthropic(messages)))
      yield agent(`reply-${blobs}`)
    })
    await opened.append(user(`more-${blobs}`))
  }
  expect(sent[0]).toContain('AAAA')
  expect(sent[2]?.startsWith(sent[0]?.slice(0, 100_000) ?? '?')).toBe(true)
  const [whole, refs] = states.map((state) => JSON.stringify(toMessages(state)))
  expect(whole).toContain('AAAA')
  expect(refs).not.toContain('AAAA')
})

it('events without an id have the same ids with references', async () => {
  const store = memoryStore()
  await store.createConversation({ id: 'c' })
  const { id: _, ...bare } = user('u', [image(picture('A'))])
  await store.append('c', [bare as Event, user('v')], { mode: 'import' })
  const ids = []
  for (const blobs of ['whole', 'refs'] as const) {
    const state = await (await engineWith(blobs, store).engine.open('c')).state()
    ids.push([...state.log.entries].map(({ id, parent }) => [id, parent?.id ?? null]))
  }
  expect(ids[1]).toEqual(ids[0])
})

it('subscribers receive whole events with their status, and a fork stores whole events', async () => {
  const { engine, store } = engineWith('refs')
  const conversation = await engine.create({ id: 'c' })
  const call = action('a')
  await conversation.append([
    user('u', [image(picture('A'))]),
    call,
    observe('o', call, [image(picture('B'))]),
    { kind: 'PauseEvent', id: 'p' },
    user('v', [image(picture('A'))]),
  ])
  const items = []
  for await (const item of conversation.subscribe()) {
    if (item.type === 'caught_up') break
    if (item.type === 'event') items.push([item.seq, item.fact, item.status])
  }
  const whole = await (await engineWith('whole', store).engine.open('c')).state()
  expect(items).toEqual([...whole.log.entries].map(({ seq, event, header }) => [seq, event, header.status]))
  const copy = await conversation.fork({ id: 'fork' })
  const facts = async (id: string) => (await store.read(id)).slice(0, 5).map(({ fact }) => fact)
  expect(await facts(copy.id)).toEqual(await facts('c'))
})

it('hooks, policies and condensers receive whole strings', async () => {
  const { engine } = engineWith('refs')
  const conversation = await engine.create({ id: 'c' })
  const seen: string[] = []
  const hook = (on: HookInput['event_type']) => ({
    on,
    name: on,
    run: (input: HookInput) => void seen.push(`${on} ${JSON.stringify(input)}`),
  })
  await conversation.append(user('u', [text(long('A long question')), image(picture('A'))]))
  const { step } = scripted(STEP_WIRES.anthropic, SCRIPT, { tools: [shoot] })
  await conversation.run(step, {
    hooks: [hook('UserPromptSubmit'), hook('PreToolUse'), hook('PostToolUse')] as never,
    policy: ({ tool_call }) => {
      seen.push(`policy ${tool_call.arguments}`)
      return false
    },
    condenser: {
      condense(state) {
        seen.push(`condense ${JSON.stringify(toMessages(state))}`)
        return { type: 'keep' }
      },
    },
  })
  const of = (name: string): string => seen.filter((one) => one.startsWith(name)).join('\n')
  expect(of('UserPromptSubmit')).toContain('A long question')
  expect(of('PreToolUse')).toContain('a note')
  expect(of('policy')).toContain('a note')
  expect(of('PostToolUse')).toContain('BBBB')
  expect(of('condense')).toContain('AAAA')
  expect(seen.join('\n')).not.toContain('colloquy:blob/')
})

it('an erased event is sent as [erased], and its image is neither sent nor stored', async () => {
  const { engine, store } = engineWith('refs')
  const conversation = await engine.create({ id: 'c' })
  await conversation.append([user('u', [image(picture('A'))]), agent('a'), user('v', [image(picture('B'))])])
  await conversation.eraseEvent('u')
  let sent = ''
  await conversation.run(async function* ({ messages }) {
    sent = JSON.stringify(toAnthropic(messages))
    yield agent('b')
  })
  expect(sent).toContain('[erased]')
  expect(sent).toContain('BBBB')
  expect(sent + JSON.stringify(await store.read('c'))).not.toContain('AAAA')
})

it('a message that arrives while blobs are read is in the request', async () => {
  const inner = memoryStore()
  let arrive: (() => Promise<unknown>) | null = null
  const store: Store = {
    ...inner,
    async getMany(...input) {
      const events = await inner.getMany(...input)
      const arrival = arrive
      arrive = null
      await arrival?.()
      return events
    },
  }
  const { engine } = engineWith('refs', store)
  const conversation = await engine.create({ id: 'c' })
  await conversation.append(user('u', [image(picture('A'))]))
  arrive = () => conversation.append(user('late', 'One more thing'))
  const sent: string[] = []
  await conversation.run(async function* ({ messages, after }) {
    sent.push(JSON.stringify(messages))
    expect(after).toBe('late')
    yield agent('a')
  })
  expect(sent).toHaveLength(1)
  expect(sent[0]).toContain('AAAA')
  expect(sent[0]).toContain('One more thing')
})

it('blobs are read only for requests that contain them', async () => {
  const inner = memoryStore()
  let reads = 0
  const getMany: Store['getMany'] = (...input) => {
    reads += 1
    return inner.getMany(...input)
  }
  const { engine } = engineWith('refs', { ...inner, getMany })
  const conversation = await engine.create({ id: 'c' })
  const { step } = scripted(STEP_WIRES.anthropic, [{ text: 'One' }, { text: 'Two' }, { text: 'Three' }])
  const counts: number[] = []
  for (const content of [[text('plain')], [image(picture('A'))], [text('plain')]]) {
    await conversation.sendMessage({ role: 'user', content })
    reads = 0
    await conversation.run(step)
    counts.push(reads)
  }
  expect(counts).toEqual([0, 1, 1])
})

it('images grow the heap less than half as much with references', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  // Collects garbage of earlier tests until the heap no longer shrinks.
  const heap = async (): Promise<number> => {
    for (let used = Infinity; ;) {
      await new Promise((resolve) => setTimeout(resolve, 20))
      collect()
      const now = process.memoryUsage().heapUsed / 2 ** 20
      if (now > used - 0.1) return now
      used = now
    }
  }
  const grown: Record<Mode, number> = { whole: 0, refs: 0 }
  for (const blobs of ['refs', 'whole'] as const) {
    const store = sqliteStore({ file: ':memory:' })
    const { engine } = engineWith(blobs, store)
    const conversation = await engine.create()
    let sent = 0
    const step = STEP_WIRES.anthropic.step(
      async (request) => {
        sent = JSON.stringify(request).length
        return STEP_WIRES.anthropic.whole({ text: 'I see.' }, 1)
      },
      { stream: false, system: 'Be brief.' },
    )
    // Loads the code of the step before the measurement.
    await conversation.sendMessage('Hello')
    await conversation.run(step)
    const before = await heap()
    for (let nth = 0; nth < 8; nth += 1) {
      const url = `data:image/png;base64,${String.fromCodePoint(65 + nth).repeat(500_000)}`
      await conversation.sendMessage({ role: 'user', content: [image(url)] })
      await conversation.run(step)
    }
    expect(sent).toBeGreaterThan(4_000_000)
    grown[blobs] = (await heap()) - before
    await engine.close()
    await store.close()
  }
  // 4 MB of images.
  expect(grown.whole, JSON.stringify(grown)).toBeGreaterThan(2.5)
  expect(grown.refs, JSON.stringify(grown)).toBeLessThan(grown.whole / 2)
})

it.each(['ref', true, {}, 1])('createEngine() rejects blobs: %j', (blobs) => {
  const options = { store: memoryStore(), blobs: blobs as Mode }
  expect(() => createEngine(options)).toThrow('blobs')
})
