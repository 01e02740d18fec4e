/** A conversation with its subagents: states, timeline, usage, exports and live events. */

import { describe, expect, it } from 'vitest'
import { recordsOf } from '../../properties/sessions/lines.ts'
import { usageOfTree, usageTotals } from '../../src/context/index.ts'
import { createEngine } from '../../src/conversation/engine.ts'
import type { Step } from '../../src/conversation/run/step.ts'
import type { Event } from '../../src/event/types.ts'
import { toTreeTimeline } from '../../src/messages/index.ts'
import { readSession, type Session, sessionTree, toAtif, toSpans } from '../../src/sessions/index.ts'
import { evict } from '../../src/state/snapshot.ts'
import { replay, type StateTree } from '../../src/state/index.ts'
import { executeCalls } from '../../src/steps/step-of.ts'
import { subagent, type StepTool } from '../../src/steps/index.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { call, gate, says, startConversation } from './script.ts'
import { wrapStore } from './stores.ts'

const callTo = (id: string, tool: string) =>
  call(id, tool, { action: { kind: `${tool}Action`, task: `task of ${id}` }, llm_response_id: `r-${id}` })

/** A message with its token usage. */
const costing = (text: string, input: number): Event => {
  const content = [{ type: 'text' as const, text }]
  const llm_message = { role: 'assistant' as const, content, reply: { model: 'm', tokens: [input, 1] } }
  return { kind: 'MessageEvent', source: 'agent', llm_message }
}

/** A stateless model: its n-th reply in a conversation is the n-th in the list. */
const agent = (tools: readonly StepTool[], replies: (id: string) => readonly Event[]): Step => {
  const known = new Map(tools.map((tool) => [tool.name, tool]))
  return async function* (input) {
    if (input.approved.length > 0) yield* executeCalls(input, known, {})
    else {
      const reply = replies(input.state.conversationId)[input.state.branch.view.units.length - 1]
      if (reply !== undefined) yield reply
    }
  }
}

const expert = subagent({
  name: 'expert',
  description: 'Knows.',
  step: agent([], () => [costing('I know', 100)]),
})

const helper = (more: { readonly background?: boolean } = {}): StepTool =>
  subagent({
    name: 'helper',
    description: 'Helps.',
    step: agent([expert], (id) => [callTo(`deep-${id}`, 'expert'), costing('found it', 10)]),
    ...more,
  })

/** Calls a helper twice; each helper calls an expert. */
const parent = (tool = helper()): Step =>
  agent([tool], () => [callTo('a', 'helper'), callTo('b', 'helper'), costing('thanks', 1)])

const shape = ({ title, actionId, children }: StateTree): unknown => [title, actionId, children.map(shape)]

async function family(store?: Store) {
  const { engine, conversation } = await startConversation('hello', store)
  await conversation.run(parent(), { until: 'settled' })
  const tree = await conversation.tree()
  return { engine, conversation, tree, ids: tree.children.map(({ id }) => id) }
}

const spansOf = (tree: StateTree) =>
  toSpans(tree).resourceSpans.flatMap((resource) =>
    (resource['scopeSpans'] as unknown as { spans: Record<string, unknown>[] }[]).flatMap(
      ({ spans }) => spans,
    ),
  )

const conversationOf = ({ attributes }: Record<string, unknown>): unknown =>
  (attributes as { key: string; value: { stringValue?: string } }[]).find(
    ({ key }) => key === 'gen_ai.conversation.id',
  )?.value.stringValue

const text = (content: string): string => JSON.stringify([{ type: 'text', text: content }])

const output = (id: string): StateTree['state'] =>
  replay([{ kind: 'MessageEvent', id, source: 'user', llm_message: { role: 'user', content: [] } }])

describe('tree()', () => {
  it('opens the subagents at all depths, linked to their calls', async () => {
    const { engine, tree, ids } = await family()
    expect(shape(tree)).toEqual([
      null,
      null,
      [
        ['helper', 'a', [['expert', `deep-${ids[0]}`, []]]],
        ['helper', 'b', [['expert', `deep-${ids[1]}`, []]]],
      ],
    ])
    await engine.close()
  })

  it('loads the bodies of a conversation that was opened from a snapshot', async () => {
    const store = sqliteStore({ file: ':memory:' })
    const { engine, conversation } = await startConversation('hello', store)
    for (let index = 0; index < 1_100; index += 1) await conversation.append(says(`${index}`))
    await engine.close()
    const later = createEngine({ store })
    const tree = await (await later.open('c')).tree()
    expect(toTreeTimeline(tree)).toHaveLength(1_101)
    await later.close()
    await store.close()
  })

  it("ends if records are each other's parents", async () => {
    const { engine } = await startConversation()
    const tags = { subagent: 'true' }
    await engine.create({ id: 'x', tags, parentConversationId: 'y' })
    await engine.create({ id: 'y', tags, parentConversationId: 'x' })
    expect(shape(await (await engine.open('x')).tree())).toEqual([null, null, [[null, null, []]]])
    await engine.close()
  })
})

describe('functions of a tree', () => {
  it('toTreeTimeline() puts the items of a subagent after its call', async () => {
    const { engine, tree, ids } = await family()
    const lines = toTreeTimeline(tree).map(({ conversationId, depth, item }) => {
      const label = item.type === 'call' ? item.tool : item.type === 'message' ? item.content : item.type
      return [depth, conversationId === 'c' ? 0 : ids.indexOf(conversationId) + 1 || 3, JSON.stringify(label)]
    })
    const below = (index: number, name: string): unknown[] => [
      [1, index, text(`task of ${name}`)],
      [1, index, '"expert"'],
      [2, 3, text(`task of deep-${ids[index - 1]}`)],
      [2, 3, text('I know')],
      [1, index, text('found it')],
    ]
    expect(lines).toEqual([
      [0, 0, text('hello')],
      [0, 0, '"helper"'],
      ...below(1, 'a'),
      [0, 0, '"helper"'],
      ...below(2, 'b'),
      [0, 0, text('thanks')],
    ])
    await engine.close()
  })

  it('toTreeTimeline() puts a subagent whose call is not on the branch at the end', () => {
    const child = { id: 'k', title: null, actionId: 'gone', state: output('k'), children: [] }
    const tree = { id: 'c', title: null, actionId: null, state: output('m'), children: [child] }
    expect(toTreeTimeline(tree).map(({ item }) => item.id)).toEqual(['m', 'k'])
  })

  it('usageOfTree() counts usage with and without subagents', async () => {
    const { engine, tree } = await family()
    const { alone, withChildren } = usageOfTree(tree)
    expect(alone).toEqual(usageTotals(tree.state))
    expect([alone.prompt_tokens, withChildren.prompt_tokens, withChildren.completion_tokens]).toEqual([
      1, 221, 5,
    ])
    expect([...withChildren.by_model.keys()]).toEqual(['m'])
    const evicted = { ...tree, children: [{ ...tree, state: evict(tree.state) }] }
    expect(() => usageOfTree(evicted)).toThrow('is not in memory')
    await engine.close()
  })

  it('toAtif() writes the trajectories of subagents, and readSession() reads them', async () => {
    const { engine, tree, ids } = await family()
    const written = toAtif(tree)
    expect(written).toMatchObject({ schema_version: 'ATIF-v1.7', session_id: 'c', trajectory_id: 'c' })
    const results = written.steps.flatMap(
      (step) => (step['observation'] as { results: object[] } | undefined)?.results ?? [],
    )
    expect(results).toMatchObject(
      ids.map((id) => ({ subagent_trajectory_ref: [{ trajectory_id: id, session_id: id }] })),
    )
    expect(written.subagent_trajectories?.map(({ session_id }) => session_id)).toEqual(ids)
    const session = readSession(recordsOf([written]))
    const tools = (one: Session): unknown => [
      one.id,
      one.subagent?.depth ?? 0,
      one.subagent !== null && one.subagent.actionId !== null,
      one.children.map(tools),
    ]
    expect(tools(session)).toEqual([
      'c',
      0,
      false,
      tree.children.map(({ id, children }) => [
        id,
        1,
        true,
        children.map((child) => [child.id, 2, true, []]),
      ]),
    ])
    const again = sessionTree(session)
    expect(toTreeTimeline(again).map(({ depth, item }) => [depth, item.type])).toEqual(
      toTreeTimeline(tree).map(({ depth, item }) => [depth, item.type]),
    )
    await engine.close()
  })

  it('toSpans() writes one trace with the turns of a subagent below its call', async () => {
    const { engine, tree, ids } = await family()
    const spans = spansOf(tree)
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1)
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length)
    const names = new Map(spans.map(({ spanId, name }) => [spanId, name]))
    const turns = spans.filter(({ name }) => name === 'invoke_agent')
    expect(turns.map((span) => [conversationOf(span), names.get(span['parentSpanId'])])).toEqual([
      ['c', undefined],
      ...tree.children.flatMap(({ id, children }) => [
        [id, 'execute_tool helper'],
        [children[0]?.id, 'execute_tool expert'],
      ]),
    ])
    expect(ids).toHaveLength(2)
    await engine.close()
  })
})

describe('subscribeTree()', () => {
  it.each([{ background: false }, { background: true }])(
    'yields past and live events, a subagent after its call (background: $background)',
    async (options) => {
      const { engine, conversation } = await startConversation()
      const stuck = gate()
      const slow = subagent({
        name: 'helper',
        description: 'Helps.',
        step: async function* () {
          await stuck.pass()
          yield says('found it')
        },
        ...options,
      })
      const run = conversation.run(
        agent([slow], () => [callTo('a', 'helper'), says('thanks'), says('thanks again')]),
        { until: 'settled' },
      )
      await stuck.reached
      const seen: string[] = []
      for await (const { depth, item } of conversation.subscribeTree()) {
        if (item.type === 'event' && 'kind' in item.fact) seen.push(`${depth} ${item.fact.kind}`)
        // It follows a subagent that is still running.
        if (depth === 1 && item.type === 'caught_up') stuck.open()
        if (seen.at(-1) === '1 MessageEvent' && seen.filter((line) => line === '1 MessageEvent').length === 2)
          break
      }
      expect(seen.indexOf('0 ActionEvent')).toBeLessThan(seen.indexOf('1 MessageEvent'))
      expect(seen.filter((line) => line === '1 MessageEvent')).toHaveLength(2)
      await run
      await engine.close()
    },
  )

  it('follows a subagent that ends at once, and fails if the conversation is deleted', async () => {
    const { engine, conversation } = await startConversation()
    const seen: string[] = []
    const reading = (async () => {
      for await (const { depth, item } of conversation.subscribeTree())
        if (item.type === 'event' && 'kind' in item.fact && item.fact.kind === 'MessageEvent')
          seen.push(`${depth} ${item.fact.source}`)
    })()
    await conversation.run(parent())
    const ids = (await conversation.children()).map(({ id }) => id)
    await expect.poll(() => seen.filter((line) => line === '2 agent').length).toBe(2)
    expect(ids).toHaveLength(2)
    await engine.delete(ids[0] ?? '')
    await conversation.sendMessage('again')
    await expect.poll(() => seen.filter((line) => line === '0 user').length).toBe(2)
    await conversation.delete()
    await expect(reading).rejects.toMatchObject({ code: 'unknown_conversation' })
    await engine.close()
  })

  it('continues if a subagent is deleted while its children are listed', async () => {
    const inner = memoryStore()
    let isDeleted = false
    const store = wrapStore(inner, {
      async listConversations(query) {
        const page = await inner.listConversations(query)
        const isFirst = query?.parentConversationId === 'child' && !isDeleted
        isDeleted ||= isFirst
        if (isFirst) await engine.delete('child')
        return page
      },
    })
    const { engine, conversation } = await startConversation('hello', store)
    const tags = { subagent: 'true' }
    await engine.create({ id: 'child', parentConversationId: 'c', tags })
    const metadata = { subagent: { action_id: 'a' } }
    await engine.create({ id: 'grandchild', parentConversationId: 'child', tags, metadata })
    const seen: string[] = []
    for await (const { conversationId, item } of conversation.subscribeTree()) {
      if (item.type === 'caught_up') seen.push(conversationId)
      if (conversationId === 'child') await conversation.sendMessage('again')
      if (conversationId === 'c' && item.type === 'event' && item.seq === 1) break
    }
    expect(seen).toEqual(['c', 'child'])
    await engine.close()
  })

  it('ends when its signal is aborted', async () => {
    const { engine, conversation } = await startConversation()
    const ended = new AbortController()
    for await (const { item } of conversation.subscribeTree({ signal: ended.signal }))
      if (item.type === 'caught_up') ended.abort()
    await engine.close()
  })
})
