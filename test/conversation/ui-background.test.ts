/** Background calls as the AI SDK's client sees them, live and after a reload. */

import type { UIMessage } from 'ai'
import { expect, it } from 'vitest'
import { plain } from '../../properties/checks/ui-chunks.ts'
import type { Conversation } from '../../src/conversation/conversation.ts'
import { createEngine } from '../../src/conversation/engine.ts'
import { toUIMessages } from '../../src/messages/ui/write.ts'
import { listWorkingCalls } from '../../src/state/read.ts'
import { executeCalls } from '../../src/steps/step-of.ts'
import { background, type StepTool } from '../../src/steps/index.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { call, result, says, script } from './script.ts'
import { PlainChat, server } from './ui-client.ts'

const shown = (messages: readonly { id: string; role: string; parts: readonly object[] }[]): object[] =>
  messages.map(({ id, role, parts }) => ({ id, role, parts: parts.flatMap(plain) }))

const load = async (conversation: Conversation): Promise<UIMessage[]> =>
  (await conversation.read(toUIMessages)) as UIMessage[]

/** The parts of the last message, without text and steps. */
const partsOf = (messages: readonly UIMessage[]): object[] =>
  (messages.at(-1)?.parts ?? []).filter(({ type }) => type !== 'text' && type !== 'step-start')

/** A chat whose `work` tool never ends by itself. */
async function begin(...replies: Parameters<typeof script>[0]) {
  const engine = createEngine({ store: memoryStore() })
  const conversation = await engine.create()
  const work: StepTool = {
    name: 'work',
    description: 'Works.',
    parameters: { type: 'object' },
    execute: async () => background(new Promise(() => undefined), { content: 'Started.', task: 'handle' }),
  }
  const { step } = script(replies, (input) => executeCalls(input, new Map([['work', work]]), {}))
  const { fetch, runs } = server(conversation, step, { until: 'settled' }, {}, 'settled')
  const seen: object[] = []
  const chat: PlainChat = new PlainChat({
    id: conversation.id,
    fetch,
    changed: () => void seen.push(...partsOf(structuredClone(chat.messages))),
  })
  return { engine, conversation, fetch, runs, chat, seen }
}

it('progress is preliminary output, and the completion is the final output', async () => {
  const { engine, conversation, runs, chat, seen } = await begin(
    [call('a')],
    [says('Soon.')],
    [says('It is done.')],
  )
  const sent = chat.sendMessage({ text: 'Work!' })
  await conversation.waitFor('finished')
  const part = { type: 'tool-work', toolCallId: 'a', state: 'output-available' }
  const sees = (output: object): Promise<void> =>
    expect.poll(() => seen).toContainEqual(expect.objectContaining({ ...part, output, preliminary: true }))
  await sees({ content: 'Started.' })
  await conversation.reportProgress('a', { progress: 0.5, task: 'handle 2' })
  await sees({ content: 'Started.', progress: 0.5 })
  await conversation.reportProgress('a', { content: 'Half.' })
  await sees({ content: 'Half.', progress: 0.5 })
  await conversation.complete('a', 'All.')
  await Promise.all([sent, ...runs])
  expect(JSON.stringify(seen)).not.toContain('handle')
  expect(partsOf(chat.messages)).toEqual([
    expect.objectContaining({ ...part, output: 'All.', preliminary: undefined }),
    {
      type: 'data-message',
      id: 'a-completion',
      data: { source: 'environment', text: 'All.', completes: 'a' },
    },
  ])
  expect(shown(chat.messages)).toEqual(shown(await load(conversation)))
  await engine.close()
})

it('progress on a call of an earlier reply is shown in the latest message', async () => {
  const { engine, conversation, fetch, runs, chat } = await begin(
    [call('a')],
    [says('Soon.')],
    [says('6')],
    [says('Done.')],
  )
  const sent = chat.sendMessage({ text: 'Work!' })
  await conversation.waitFor('finished')
  await Promise.all([chat.stop(), sent])
  const other = chat.sendMessage({ text: 'And 3 + 3?' })
  await conversation.waitFor('running')
  await conversation.waitFor('finished')
  await conversation.reportProgress('a', { progress: 0.1 })
  await conversation.reportProgress('a', { progress: 0.9, content: 'Nearly.' })
  const progress = {
    type: 'data-progress',
    id: 'a',
    data: { progress: 0.9, content: 'Nearly.' },
  }
  await expect.poll(() => partsOf(chat.messages)).toEqual([progress])
  // A page that is loaded now shows the same output and follows the call.
  const late = new PlainChat({ id: conversation.id, fetch })
  late.messages = await load(conversation)
  expect(late.messages[1]?.parts).toContainEqual(
    expect.objectContaining({ preliminary: true, output: { progress: 0.9, content: 'Nearly.' } }),
  )
  const resumed = late.resumeStream()
  await expect.poll(() => late.status).toBe('streaming')
  await conversation.cancel('a', 'Not needed.')
  await Promise.all([other, resumed, ...runs])
  const data = { source: 'environment', text: 'Not needed.', completes: 'a' }
  for (const { messages } of [chat, late])
    expect(partsOf(messages)).toEqual([progress, { type: 'data-message', id: 'a-completion', data }])
  expect(shown(chat.messages.slice(2))).toEqual(shown((await load(conversation)).slice(2)))
  expect((await load(conversation))[1]?.parts).toContainEqual(
    expect.objectContaining({ state: 'output-error', errorText: 'Not needed.' }),
  )
  await engine.close()
})

it('a lost call ends with an error', async () => {
  const { engine, conversation, chat } = await begin([call('a')], [says('Soon.')], [says('Lost.')])
  const sent = chat.sendMessage({ text: 'Work!' })
  await conversation.waitFor('finished')
  const [action] = listWorkingCalls(await conversation.state())
  const completes = { action_id: action?.action.id, tool_call_id: 'a', tool_name: 'work', outcome: 'lost' }
  await conversation.append({
    kind: 'MessageEvent',
    source: 'environment',
    llm_message: { role: 'user', content: [{ text: 'Gone.' }], completes } as never,
  })
  await sent
  expect(partsOf(chat.messages)[0]).toMatchObject({ state: 'output-error', errorText: 'Gone.' })
  expect(shown(chat.messages)).toEqual(shown(await load(conversation)))
  await engine.close()
})

it('a working call becomes preliminary only once the page tool next to it has a result', async () => {
  const engine = createEngine({ store: memoryStore() })
  const conversation = await engine.create()
  const message = {
    kind: 'MessageEvent',
    id: 'm',
    source: 'user',
    llm_message: { role: 'user', content: [{ text: 'Hi' }] },
  } as const
  const working = {
    kind: 'ObservationEvent',
    id: 'w',
    tool_name: 'work',
    tool_call_id: 'a',
    action_id: 'a',
    observation: { kind: 'WorkingObservation' },
  } as const
  const waiting = {
    kind: 'ConversationStateUpdateEvent',
    key: 'execution_status',
    value: 'waiting_for_confirmation',
  } as const
  await conversation.append([message, call('a'), call('b', 'locate'), working, waiting])
  const pageTools = ['locate']
  const tools = async (): Promise<object[]> =>
    partsOf((await conversation.read((state) => toUIMessages(state, { pageTools }))) as UIMessage[])
  const [first, second] = await tools()
  expect(first).not.toHaveProperty('preliminary')
  expect(second).toMatchObject({ state: 'input-available' })
  const [, b] = (await conversation.state()).log.entries.slice(1, 3)
  await conversation.append(result(b as Parameters<typeof result>[0]))
  expect((await tools())[0]).toMatchObject({ preliminary: true })
  await engine.close()
})
