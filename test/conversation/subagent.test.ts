/** Subagents: conversations of their own that a tool call starts and whose reply is its result. */

import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createEngine } from '../../src/conversation/engine.ts'
import type { Step } from '../../src/conversation/run/step.ts'
import { listWorkingCalls } from '../../src/state/read.ts'
import { executeCalls } from '../../src/steps/step-of.ts'
import { background, subagent, type StepTool, type SubagentOptions } from '../../src/steps/index.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { call, gate, logOf, says, script, startConversation } from './script.ts'
import { wrapStore } from './stores.ts'

const asksHelper = (id: string) =>
  call(id, 'helper', { action: { kind: 'helperAction', task: `task of ${id}` }, llm_response_id: `r-${id}` })

/** A step whose calls these tools execute. */
function stepWith(tools: readonly StepTool[], ...replies: Parameters<typeof script>[0]) {
  const known = new Map(tools.map((tool) => [tool.name, tool]))
  const { step, ...scripted } = script(replies, (input) => executeCalls(input, known, {}))
  const fullStep: Step = Object.assign(step.bind(null), {
    repeats: () => true,
    resume: ((action, task, { runChild, ...work }) =>
      Promise.resolve(
        known.get(action.tool_name)?.resume?.(task, {
          ...work,
          call: action,
          runChild: (request) => runChild(action.id, request),
        }),
      ).then((output) => ({
        content: typeof output === 'object' && output !== null && 'content' in output ? output.content : [],
      })) as never) satisfies Step['resume'],
  })
  return { ...scripted, step: fullStep }
}

const helper = (step: Step, more: Partial<SubagentOptions> = {}): StepTool =>
  subagent({ name: 'helper', description: 'Helps.', step, ...more })

describe('a subagent', () => {
  it.each([
    ['step', { step: undefined }],
    ['prompt', { prompt: 'Find it.' }],
  ])('with an invalid %s is rejected when it is made: %j', (_, invalid) => {
    const options = { name: 'a', description: '', step: () => [], ...invalid } as never
    expect(() => subagent(options)).toThrow(expect.objectContaining({ code: 'invalid_argument' }))
  })

  it('is a conversation whose reply is the result of the call', async () => {
    const { engine, conversation } = await startConversation()
    const child = script([[says('found it')]])
    const { step, requests } = stepWith([helper(child.step)], [asksHelper('a')], [says('thanks')])
    await conversation.run(step)
    const [record] = await conversation.children()
    expect(record).toMatchObject({ parentConversationId: 'c', title: 'helper', status: 'finished' })
    expect(record?.metadata).toEqual({ subagent: { action_id: 'a', depth: 1 } })
    const opened = await engine.open(String(record?.id))
    expect((await logOf(opened)).filter((line) => !line.startsWith('='))).toEqual([
      'user: task of a',
      'agent: found it',
    ])
    expect(requests[1]?.messages.at(-1)).toMatchObject({
      role: 'tool',
      content: [{ text: 'found it' }],
      is_error: false,
    })
    expect(await conversation.delete()).toBe(true)
    await expect(engine.open(String(record?.id))).rejects.toMatchObject({ code: 'unknown_conversation' })
    await engine.close()
  })

  it.each(['before', 'after'])('does not remain if its parent is deleted %s it is created', async (when) => {
    const store = memoryStore()
    const child = script([])
    const { conversation } = await startConversation(
      'hello',
      wrapStore(store, {
        async createConversation(record) {
          if (record.id === 'c') return store.createConversation(record)
          // Another process deletes the parent, and has seen no child.
          if (when === 'before') await store.deleteConversation('c')
          const created = await store.createConversation(record)
          if (when === 'after') await store.deleteConversation('c')
          return created
        },
      }),
    )
    const { step } = stepWith([helper(child.step)], [asksHelper('a')])
    await expect(conversation.run(step)).rejects.toMatchObject({ code: 'unknown_conversation' })
    expect(child.requests).toEqual([])
    expect((await store.listConversations()).items).toEqual([])
  })

  it('that replies with an image of its provider tells the parent where the reply is', async () => {
    const { conversation } = await startConversation()
    const content: [] = []
    const parts = [{ other: { inlineData: { mimeType: 'image/png', data: 'AAAA' } } }]
    const llm_message = {
      role: 'assistant',
      content,
      reply: { grammar: 'google', parts, output: true },
    } as const
    const child = script([[{ kind: 'MessageEvent', source: 'agent', llm_message }]])
    await conversation.run(stepWith([helper(child.step)], [asksHelper('a')]).step)
    const [record] = await conversation.children()
    const result = (await conversation.messages()).find(({ role }) => role === 'tool')
    expect(result?.content).toMatchObject([
      { text: `The subagent has replied without a text. Its conversation is ${record?.id}.` },
    ])
  })

  it('is reused when another engine executes its call again', async () => {
    const store = memoryStore()
    const { engine, conversation } = await startConversation('hello', store)
    const stuck = gate()
    const child = script([
      async function* () {
        await stuck.pass()
        yield says('never said')
      },
    ])
    const run = conversation
      .run(stepWith([helper(child.step)], [asksHelper('a')]).step)
      .catch((error: unknown) => error)
    await stuck.reached
    // The state after the crash: the call is pending and the child is still active.
    const other = memoryStore()
    const events = await Promise.all(
      ['c', ...(await conversation.children()).map(({ id }) => id)].map(async (id) => {
        const record = await store.getConversation(id)
        return { record, log: await store.read(id, { limit: 100 }) }
      }),
    )
    for (const { record, log } of events) {
      if (record === null) continue
      await other.createConversation(record)
      await other.append(
        record.id,
        log.map(({ fact }) => fact),
        { mode: 'import' },
      )
    }
    const next = createEngine({ store: other })
    const again = await next.open('c')
    const second = script([[says('found at last')]])
    const { step } = stepWith([helper(second.step)], [says('done')])
    expect(await again.run(step)).toMatchObject({ status: 'finished' })
    const children = await again.children()
    expect(children).toHaveLength(1)
    const lines = await logOf(await next.open(String(children[0]?.id)))
    expect(lines.filter((line) => line === 'user: task of a')).toHaveLength(1)
    expect(lines).toContain('agent: found at last')
    await next.close()
    stuck.open()
    await engine.close()
    await run
  })

  it('has the same prompt whether its call is executed or resumed', async () => {
    const { engine, conversation } = await startConversation()
    const stuck = gate()
    const child = script([
      async function* () {
        await stuck.pass()
        yield says('found it')
      },
    ])
    const parameters = z.object({ city: z.string().default('Rome') })
    const tool = helper(child.step, { background: true, parameters })
    const action = call('a', 'helper', { action: { kind: 'helperAction' }, llm_response_id: 'r-a' })
    await conversation.run(stepWith([tool], [action], [says('started')]).step)
    await stuck.reached
    const runChild = async ({ text }: { readonly text: string }) => {
      const [record] = await conversation.children()
      const lines = await logOf(await engine.open(String(record?.id)))
      expect(lines).toContain(`user: ${text}`)
      return { conversationId: 'child', status: 'finished' as const, content: [] }
    }
    const { signal } = new AbortController()
    await tool.resume?.({}, { signal, call: { ...action, id: 'a' }, runChild })
    expect.assertions(1)
    stuck.open()
    await engine.close()
  })

  it('works in the background, and is interrupted when its call is cancelled', async () => {
    const { engine, conversation } = await startConversation()
    const stuck = gate()
    const child = script([
      async function* () {
        await stuck.pass()
        yield says('never said')
      },
    ])
    const { step } = stepWith(
      [helper(child.step, { background: true })],
      [asksHelper('a')],
      [says('started')],
    )
    expect(await conversation.run(step)).toMatchObject({ status: 'finished' })
    await stuck.reached
    expect(listWorkingCalls(await conversation.state()).map(({ action }) => action.id)).toEqual(['a'])
    const [record] = await conversation.children()
    await expect
      .poll(async () => listWorkingCalls(await conversation.state()).map(({ task }) => task))
      .toEqual([{ subagent: record?.id }])
    await conversation.cancel('a')
    const opened = await engine.open(String(record?.id))
    await opened.waitFor('paused')
    stuck.open()
    await engine.close()
  })

  it('that is paused while its own call works ends the call of its parent with an error', async () => {
    const { engine, conversation, store } = await startConversation()
    const child = stepWith(
      [{ ...helper(script([]).step), execute: async () => background(new Promise(() => undefined)) }],
      [asksHelper('x')],
      [says('wait')],
    )
    const { step, requests } = stepWith([helper(child.step)], [asksHelper('a')], [says('thanks')])
    const run = conversation.run(step)
    await expect.poll(() => conversation.children()).toMatchObject([{ status: 'finished' }])
    const [record] = await conversation.children()
    const opened = await engine.open(String(record?.id))
    await expect.poll(() => store.getLease(opened.id)).toBeNull()
    await opened.pause()
    await run
    expect(requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', is_error: true })
    await engine.close()
  })

  it('completes its background call, and the parent receives its reply', async () => {
    const { engine, conversation } = await startConversation()
    const child = script([[says('found it')]])
    const { step, requests } = stepWith(
      [helper(child.step, { background: true })],
      [asksHelper('a')],
      [says('started')],
    )
    await conversation.run(step, { until: 'settled' })
    expect(JSON.stringify(requests.at(-1)?.messages)).toContain('found it')
    await engine.close()
  })

  it.each([
    ['without its own policy, executes its calls without confirmation', undefined, 'finished', ['x']],
    [
      'with its own policy, stops at a call that needs confirmation',
      () => true,
      'waiting_for_confirmation',
      [],
    ],
  ])('%s', async (_, policy, status, executed) => {
    const { engine, conversation } = await startConversation()
    const child = script([[call('x')], [says('found it')]])
    const { step, requests } = stepWith(
      [helper(child.step, { run: { ...(policy !== undefined && { policy }) } })],
      [asksHelper('a')],
      [says('done')],
    )
    expect(await conversation.run(step, { policy: () => true })).toMatchObject({
      status: 'waiting_for_confirmation',
    })
    await conversation.approve(['a'])
    await conversation.run(step, { policy: () => true })
    expect(child.executed).toEqual(executed)
    expect(await conversation.children()).toMatchObject([{ status }])
    expect(requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', is_error: status !== 'finished' })
    await engine.close()
  })

  it.each([{}, { task: '' }, { task: ' \n' }])('is not started without a task: %j', async (args) => {
    const { execute } = helper(script([]).step)
    await expect(execute(args, { runChild: () => expect.unreachable() } as never)).rejects.toThrow('no task')
    // A tool without parameters has the arguments of its call as the prompt, unless it has a `prompt`.
    const prompts: string[] = []
    const report = {
      runChild: ({ text }: { text: string }) => prompts.push(text) && new Promise(() => undefined),
    }
    void helper(script([]).step, { parameters: { type: 'object' } }).execute({}, report as never)
    expect(prompts).toEqual(['{}'])
  })

  it.each(['maxDepth', 'maxChildren'])('is not started if %s is not a number', async (name) => {
    const { conversation } = await startConversation()
    const tool = helper(script([[says('found it')]]).step, { [name]: Number.NaN })
    const { step, requests } = stepWith([tool], [asksHelper('a')], [says('thanks')])
    await conversation.run(step)
    expect(requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', is_error: true })
    expect(await conversation.children()).toEqual([])
  })

  it('is limited in depth and number', async () => {
    const { engine, conversation } = await startConversation()
    let depth = 0
    // A recursive helper.
    const nested: StepTool = helper(
      async function* (input) {
        if (input.approved.length > 0) {
          depth += 1
          yield* executeCalls(input, new Map([['helper', nested]]), {})
        } else if (input.state.branch.view.units.length === 1) yield asksHelper(`deep-${depth}`)
        else yield says('back')
      },
      { maxDepth: 3, maxChildren: 2 },
    )
    const { step } = stepWith(
      [nested],
      [asksHelper('a')],
      [asksHelper('b')],
      [asksHelper('d')],
      [says('done')],
    )
    expect(await conversation.run(step)).toMatchObject({ status: 'finished' })
    expect(depth).toBeLessThanOrEqual(6)
    expect(JSON.stringify(await conversation.messages())).toContain('at most 2 subagents')
    expect(await conversation.children()).toHaveLength(2)
    await engine.close()
  })
})
