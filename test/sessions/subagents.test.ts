/** Side chains and subagents of recorded sessions become child conversations, linked in both directions. */

import { describe, expect, it } from 'vitest'
import { recordsOf } from '../../properties/sessions/lines.ts'
import { readSession, type Session } from '../../src/sessions/index.ts'
import { createEngine } from '../../src/conversation/index.ts'
import { recordedSession } from '../recorded.ts'
import { colloquy, folder } from '../cli/run-command.ts'
import { withStore } from '../cli/database.ts'

const events = ({ facts }: Session) =>
  facts.map(({ fact }) => fact as object as Readonly<Record<string, unknown>>)

/** The children that results of a session refer to, by the event ids of the calls. */
const childrenIn = (session: Session): Record<string, unknown> =>
  Object.fromEntries(
    events(session).flatMap(({ kind, action_id, observation }) => {
      const { kind: result, conversation_id: id } = { ...(observation as object) } as Record<string, unknown>
      return kind === 'ObservationEvent' && result === 'SubagentObservation' ? [[String(action_id), id]] : []
    }),
  )

const line = (uuid: string, parentUuid: string | null, type: string, message: object, more: object = {}) => ({
  uuid,
  parentUuid,
  type,
  sessionId: 's',
  timestamp: '2026-01-01T00:00:00Z',
  message,
  ...more,
})

const call = (id: string, prompt: string) => ({
  id: `reply-${id}`,
  role: 'assistant',
  content: [{ type: 'tool_use', id, name: 'Task', input: { prompt } }],
  stop_reason: 'tool_use',
})

const result = (id: string) => ({
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: id, content: 'ok' }],
})

const output = (text: string) => ({ role: 'user', content: text })

const meta = (more: object) => ({ type: 'session_meta', payload: { id: 'thread', ...more } })

const step = (id: string, reference: object) => ({
  step_id: 1,
  source: 'agent',
  message: '',
  tool_calls: [{ tool_call_id: id, function_name: 'delegate', arguments: {} }],
  observation: { results: [{ source_call_id: id, content: 'ok', subagent_trajectory_ref: [reference] }] },
})

describe('reading subagents of Claude Code', () => {
  it('links a side chain by its prompt or by its agent id', () => {
    const side = { isSidechain: true }
    const session = readSession(
      recordsOf([
        line('m', null, 'user', output('go')),
        line('a', 'm', 'assistant', call('one', 'first task')),
        line('x', null, 'user', output('first task'), side),
        line('ra', 'a', 'user', result('one')),
        line('b', 'ra', 'assistant', call('two', 'second task')),
        line('y', null, 'user', output('rewritten task'), { ...side, agentId: 'agent2' }),
        line('rb', 'b', 'user', result('two'), { toolUseResult: { agentId: 'agent2' } }),
      ]),
      { from: 'claude-code' },
    )
    expect(session.children.map(({ id, parentId, subagent }) => [id, parentId, subagent])).toEqual([
      ['s-side-1', 's', { actionId: 'a', depth: 1 }],
      ['s-agent2', 's', { actionId: 'b', depth: 1 }],
    ])
    expect(childrenIn(session)).toEqual({ a: 's-side-1', b: 's-agent2' })
    expect(session.subagent).toBe(null)
  })

  it.each([
    ['an unknown prompt', output('another task')],
    ['content without text', { role: 'user', content: [null, 7] }],
    ['content that is an object', { role: 'user', content: { text: 'task' } }],
  ])('keeps a side chain with %s without a link', (_, message) => {
    const session = readSession(
      recordsOf([
        line('m', null, 'user', output('go')),
        line('a', 'm', 'assistant', call('one', 'task')),
        line('x', null, 'user', message, { isSidechain: true }),
        line('r', 'a', 'user', result('one'), { toolUseResult: { agentId: 7 } }),
      ]),
      { from: 'claude-code' },
    )
    expect(session.children.map(({ subagent }) => subagent)).toEqual([{ actionId: null, depth: 1 }])
    expect(childrenIn(session)).toEqual({})
  })
})

describe('reading subagents of Codex', () => {
  it('links a spawned thread in both directions', () => {
    const parent = readSession(
      recordsOf([
        meta({}),
        {
          type: 'response_item',
          payload: { type: 'function_call', name: 'spawn_agent', call_id: 'c', arguments: '{}' },
        },
        {
          type: 'event_msg',
          payload: { type: 'collab_agent_spawn_end', call_id: 'c', new_thread_id: 'child-thread' },
        },
        { type: 'response_item', payload: { type: 'function_call_output', call_id: 'c', output: 'started' } },
      ]),
      { from: 'codex' },
    )
    expect(Object.values(childrenIn(parent))).toEqual(['child-thread'])
    const spawn = { parent_thread_id: 'thread', depth: 2, agent_nickname: null }
    const child = readSession(recordsOf([meta({ source: { subagent: { thread_spawn: spawn } } })]), {
      from: 'codex',
    })
    expect([child.parentId, child.subagent]).toEqual(['thread', { actionId: null, depth: 2 }])
  })

  it.each([
    [{ subagent: 'review' }],
    [{ subagent: { other: 'x' } }],
    [{ subagent: { thread_spawn: { depth: -3 } } }],
  ])('reads the source %j as a subagent of depth 1', (source) => {
    const session = readSession(recordsOf([meta({ source, forked_from_id: 'f' })]), { from: 'codex' })
    expect([session.parentId, session.subagent]).toEqual(['f', { actionId: null, depth: 1 }])
  })

  it('does not treat a fork as a subagent', () => {
    const session = readSession(recordsOf([meta({ source: 'cli', forked_from_id: 'f' })]), { from: 'codex' })
    expect([session.parentId, session.subagent]).toEqual(['f', null])
  })
})

it('an ATIF trajectory links its subagents by their references, also nested ones', () => {
  const inner = { schema_version: 'ATIF-v1.7', session_id: 'inner', trajectory_id: 't2', steps: [] }
  const child = {
    schema_version: 'ATIF-v1.7',
    session_id: 'run',
    trajectory_id: 't1',
    steps: [step('d', { session_id: 'inner' })],
    subagent_trajectories: [inner],
  }
  const session = readSession(
    recordsOf([
      {
        schema_version: 'ATIF-v1.7',
        session_id: 'run',
        steps: [step('c', { trajectory_id: 't1' })],
        subagent_trajectories: [child],
      },
    ]),
  )
  const [first] = session.children
  expect([first?.id, first?.subagent?.depth, childrenIn(session)]).toEqual([
    't1',
    1,
    { [first?.subagent?.actionId ?? '']: 't1' },
  ])
  const [second] = first?.children ?? []
  expect([second?.id, second?.subagent]).toEqual(['inner', { actionId: 'step-1', depth: 2 }])
})

it('an import stores the link metadata that `subagent()` uses, and exports include the children', async () => {
  const file = [
    line('m', null, 'user', output('go')),
    line('a', 'm', 'assistant', call('one', 'task')),
    line('x', null, 'user', output('task'), { isSidechain: true }),
    line('r', 'a', 'user', result('one')),
  ]
  const path = folder({ 's.jsonl': file.map((each) => JSON.stringify(each)).join('\n') })
  expect((await colloquy(['import', path('s.jsonl'), '--db', path('x.db')])).code).toBe(0)
  await withStore(path('x.db'), async (store) => {
    const engine = createEngine({ store })
    const children = await (await engine.open('s')).children()
    expect(children).toMatchObject([
      { id: 's-side-1', parentConversationId: 's', metadata: { subagent: { action_id: 'a', depth: 1 } } },
    ])
    await engine.close()
  })
  const converted = [
    await colloquy(['convert', path('s.jsonl')]),
    await colloquy(['convert', '--db', path('x.db'), '--conversation', 's']),
  ].map(
    ({ out }) =>
      (JSON.parse(out) as { subagent_trajectories: { session_id: string }[] }).subagent_trajectories,
  )
  expect(converted.map((all) => all.map(({ session_id }) => session_id))).toEqual([
    ['s-side-1'],
    ['s-side-1'],
  ])
  const spans = await colloquy(['convert', '--to', 'otel', '--db', path('x.db'), '--conversation', 's'])
  expect(spans.out).toContain('"s-side-1"')
})

/** The calls of the children of the conversation `s` after these files were imported in order. */
async function callsAfter(files: readonly (readonly object[])[]): Promise<unknown[]> {
  const path = folder(
    Object.fromEntries(
      files.map((lines, n) => [`${n}.jsonl`, lines.map((one) => JSON.stringify(one)).join('\n')]),
    ),
  )
  for (const [n, lines] of files.entries())
    if (lines.length > 0)
      expect(await colloquy(['import', path(`${n}.jsonl`), '--db', path('x.db')])).toMatchObject({
        code: 0,
      })
  return withStore(path('x.db'), async (store) => {
    const engine = createEngine({ store })
    const tree = await (await engine.open('s')).tree()
    await engine.close()
    return tree.children.map(({ id, actionId }) => [id, actionId])
  })
}

describe('importing sessions that grow', () => {
  const whole = [
    line('m', null, 'user', output('go')),
    line('a', 'm', 'assistant', call('one', 'task')),
    line('x', null, 'user', output('task'), { isSidechain: true }),
    line('r', 'a', 'user', result('one')),
  ]
  const claudeParent = [
    line('m', null, 'user', output('go')),
    line('a', 'm', 'assistant', call('one', 'task')),
    line('r', 'a', 'user', result('one'), { toolUseResult: { agentId: 'x' } }),
  ]
  const claudeChild = ['x1', 'x2'].map((uuid, index) =>
    line(uuid, index === 0 ? null : 'x1', 'user', output(uuid), { isSidechain: true, agentId: 'x' }),
  )
  const codexParent = [
    meta({ id: 's' }),
    {
      type: 'response_item',
      payload: { type: 'function_call', name: 'spawn_agent', call_id: 'c', arguments: '{}' },
    },
    { type: 'event_msg', payload: { type: 'collab_agent_spawn_end', call_id: 'c', new_thread_id: 's-x' } },
    { type: 'response_item', payload: { type: 'function_call_output', call_id: 'c', output: 'started' } },
  ]
  const spawned = { subagent: { thread_spawn: { parent_thread_id: 's', depth: 1 } } }
  const codexChild = [
    meta({ id: 's-x', source: spawned }),
    { type: 'event_msg', payload: { type: 'user_message', message: 'task' } },
  ]

  it('links a side chain if any part of the file was imported before', async () => {
    const expected = await callsAfter([whole])
    expect(expected).toEqual([['s-side-1', 'a']])
    for (let cut = 1; cut < whole.length; cut += 1)
      expect(await callsAfter([whole.slice(0, cut), whole])).toEqual(expected)
  })

  it.each([
    ['Claude Code', claudeParent, claudeChild, 'a'],
    ['Codex', codexParent, codexChild, 'line-2'],
  ])(
    'links the files of %s in any order, if any part of the first was imported before',
    async (_, parent, child, action) => {
      for (const [first, second] of [
        [parent, child],
        [child, parent],
      ] as const)
        for (let cut = 0; cut <= first.length; cut += 1)
          expect(await callsAfter([first.slice(0, cut), second, first])).toEqual([['s-x', action]])
    },
  )

  it('keeps the first link of a child if another parent or call also refers to it', async () => {
    const elsewhere = codexParent.with(0, meta({ id: 'other' }))
    const again = [
      ...codexParent,
      ...codexParent
        .slice(1)
        .map((one) => JSON.parse(JSON.stringify(one).replaceAll('"c"', '"d"')) as object),
    ]
    expect(await callsAfter([codexParent, elsewhere, codexChild, elsewhere])).toEqual([['s-x', 'line-2']])
    expect(await callsAfter([codexParent.slice(0, 2), codexChild, elsewhere, again])).toEqual([
      ['s-x', 'line-2'],
    ])
  })
})

const MAIN = recordedSession('claude-code/ccl-worktrees-main.jsonl')
const SUBAGENT = recordedSession('claude-code/ccl-worktrees-subagent.jsonl')

if (MAIN !== null && SUBAGENT !== null)
  it('a recorded subagent has the id that the result in its parent refers to', () => {
    const [main, child] = [MAIN, SUBAGENT].map((text) =>
      readSession(
        recordsOf(
          text
            .trim()
            .split('\n')
            .map((raw) => JSON.parse(raw) as object),
        ),
      ),
    )
    expect(child?.parentId).toBe(main?.id)
    expect(Object.values(childrenIn(main as Session))).toContain(child?.id)
  })
