/** Sessions of Claude Code: subagent files, interruptions, rewinds, compactions, attachments and duplicate lines. */

import { describe, expect, it } from 'vitest'
import { usageTotals } from '../../src/context/index.ts'
import { replay } from '../../src/index.ts'
import { notesOf, read, summarize } from './session-summary.ts'

const line = (type: string, uuid: string, parentUuid: string | null, message: object) => ({
  type,
  uuid,
  parentUuid,
  isSidechain: false,
  sessionId: 'main',
  message,
})
const user = (uuid: string, parent: string | null, content: unknown) =>
  line('user', uuid, parent, { role: 'user', content })
const reply = (uuid: string, parent: string, block: object) =>
  line('assistant', uuid, parent, { id: 'msg', role: 'assistant', model: 'm', content: [block] })
const countedReply = (uuid: string, parent: string, id: string) =>
  line('assistant', uuid, parent, {
    id,
    role: 'assistant',
    content: [textBlock(id)],
    usage: { input_tokens: 10, output_tokens: 5 },
  })
const thinking = (signature: string) => ({ type: 'thinking', thinking: '', signature })
const call = { type: 'tool_use', id: 't', name: 'Bash', input: {} }
const textBlock = (text: string) => ({ type: 'text', text })

const end = (leafUuid: string) => ({ type: 'last-prompt', lastPrompt: 'hi', leafUuid, sessionId: 'main' })

const timed = (one: object, number: number) => ({ ...one, timestamp: `2026-07-01T10:00:0${number}Z` })
const attachmentLine = (uuid: string, parent: string, attachment: object, more: object = {}) => ({
  ...line('attachment', uuid, parent, {}),
  attachment,
  ...more,
})
const hook = (hookEvent: string) => ({ type: 'hook_success', hookEvent, exitCode: 0, content: 'ready' })

describe('reading a session of Claude Code', () => {
  it('detects a subagent file even if its last line is truncated', () => {
    const side = { isSidechain: true, agentId: 'abc' }
    const lines = [
      { ...user('1', null, 'task'), ...side },
      { ...reply('2', '1', { type: 'text', text: 'done' }), ...side },
    ]
    const mode = { type: 'mode', mode: 'normal', sessionId: 'main' }
    for (const file of [lines, [...lines, '{"parentUuid":"2","isSide'], [mode, ...lines]])
      expect(read(file)).toMatchObject({ id: 'main-abc', parentId: 'main' })
    expect(read([user('1', null, 'hi'), '{"parentUuid"'])).toMatchObject({ id: 'main', parentId: null })
  })

  it('keeps user text next to an interruption marker, and text that only mentions one', () => {
    const marker = { type: 'text', text: '[Request interrupted by user for tool use]' }
    const session = read([
      user('1', null, 'hi'),
      user('2', '1', [marker, { type: 'text', text: 'do it differently' }]),
      user('3', '2', '[Request interrupted by user] is what I saw'),
      user('4', '3', '[Request interrupted by user]'),
    ])
    expect(summarize(session)).toEqual([
      'user: hi',
      'interrupted',
      'user: do it differently',
      'user: [Request interrupted by user] is what I saw',
      'interrupted',
    ])
  })

  it.each([
    {
      label: 'the caveat of a command',
      front: [
        { ...user('c1', 'a1', 'Caveat: …'), isMeta: true },
        user('c2', 'c1', '<bash-input>ls</bash-input>'),
      ],
      texts: ['environment: Caveat: …', 'environment: <bash-input>ls</bash-input>'],
    },
    {
      label: 'an attachment',
      front: [{ ...line('attachment', 'c2', 'a1', {}), attachment: { type: 'edited_text_file' } }],
      texts: [],
    },
    {
      label: 'a system line',
      front: [{ ...line('system', 'c2', 'a1', {}), subtype: 'local_command' }],
      texts: [],
    },
    {
      label: 'a progress line and a system line',
      front: [line('progress', 'c1', 'a1', {}), line('system', 'c2', 'c1', {})],
      texts: [],
    },
    {
      label: 'a hook',
      front: [
        {
          ...line('attachment', 'c2', 'a1', {}),
          attachment: { type: 'hook_success', hookEvent: 'UserPromptSubmit', exitCode: 0 },
        },
      ],
      texts: [],
    },
  ])('follows a rewind to a prompt that is preceded by $label', ({ front, texts }) => {
    const session = read([
      user('u1', null, 'hi'),
      { ...reply('a1', 'u1', textBlock('yes')) },
      user('u2', 'a1', 'left'),
      {
        ...line('assistant', 'a2', 'u2', { id: 'm2', role: 'assistant', content: [textBlock('left, too')] }),
      },
      ...front,
      user('u3', 'c2', 'new'),
      { ...line('assistant', 'a3', 'u3', { id: 'm3', role: 'assistant', content: [textBlock('new, too')] }) },
    ])
    expect(summarize(session)).toEqual(['user: hi', 'agent: yes', ...texts, 'user: new', 'agent: new, too'])
  })

  it.each(['attachment', 'system'])('follows a rewind to the start through a line of type %s', (type) => {
    const session = read([
      user('u1', null, 'left'),
      reply('a1', 'u1', textBlock('left, too')),
      line(type, 'c', null, {}),
      user('u2', 'c', 'new'),
    ])
    expect(summarize(session)).toEqual(['user: new'])
  })

  it.each([
    { label: 'by uuid', kept: { preservedMessages: { anchorUuid: 's', uuids: ['u2', 'a2'] } } },
    {
      label: 'by first and last uuid',
      kept: { preservedSegment: { anchorUuid: 's', headUuid: 'u2', tailUuid: 'a2' } },
    },
    { label: 'before the summary', kept: { preservedMessages: { anchorUuid: 'b', uuids: ['u1', 'a1'] } } },
  ])('keeps the messages that a compaction preserves, $label', ({ label, kept: stored }) => {
    const boundary = line('system', 'b', null, {})
    const session = read([
      user('u1', null, 'one'),
      reply('a1', 'u1', textBlock('first')),
      user('u2', 'a1', 'two'),
      { ...line('assistant', 'a2', 'u2', { id: 'm2', role: 'assistant', content: [textBlock('second')] }) },
      { ...boundary, subtype: 'compact_boundary', logicalParentUuid: 'a2', compactMetadata: stored },
      { ...user('s', 'b', 'the summary'), isCompactSummary: true },
      user('u3', 's', 'go on'),
    ])
    expect(summarize(session, 'view')).toEqual(
      label === 'before the summary'
        ? ['user: one', 'agent: first', 'summary: the summary', 'user: go on']
        : ['summary: the summary', 'user: two', 'agent: second', 'user: go on'],
    )
  })

  it('uses the `leafUuid` of a last-prompt line as HEAD, unless another line follows', () => {
    const second = {
      ...line('assistant', 'a2', 'u2', { id: 'm2', role: 'assistant', content: [textBlock('so')] }),
    }
    const lines = [user('u1', null, 'hi'), reply('a1', 'u1', textBlock('yes')), user('u2', 'a1', 'then')]
    expect(summarize(read([...lines, second, end('a1')]))).toEqual(['user: hi', 'agent: yes'])
    const all = ['user: hi', 'agent: yes', 'user: then', 'agent: so']
    expect(summarize(read([...lines, second, end('a2')]))).toEqual(all)
    expect(summarize(read([...lines, end('a1'), second]))).toEqual(all)
  })

  it('includes attachments that the model has read, but not others', () => {
    const rendered = [{ content: '<system-reminder>Skills: one</system-reminder>' }]
    const added = { type: 'hook_additional_context', content: ['a', 'b'], hookName: 'PostToolUse:Bash' }
    const session = read([
      user('u1', null, 'hi'),
      attachmentLine('h1', 'u1', hook('SessionStart')),
      attachmentLine('h2', 'h1', hook('Stop')),
      attachmentLine('h3', 'h2', added),
      attachmentLine('h4', 'h3', { type: 'skill_listing', content: '- one' }, { rendered }),
      attachmentLine('h5', 'h4', { type: 'task_reminder', content: [] }),
      reply('a1', 'h5', textBlock('yes')),
    ])
    expect(summarize(session, 'view')).toEqual([
      'user: hi',
      'environment: SessionStart hook success: ready',
      'environment: PostToolUse:Bash hook additional context: a\nb',
      'environment: <system-reminder>Skills: one</system-reminder>',
      'agent: yes',
    ])
  })

  it('distinguishes commands that the client executes from prompts', () => {
    const name = '<command-name>/exit</command-name>'
    const command = '<command-message>review</command-message>\n<command-name>/review</command-name>'
    const session = read([
      user('u1', null, name),
      user('u2', 'u1', [{ type: 'text', text: '<local-command-stdout>Bye!</local-command-stdout>' }]),
      user('u3', 'u2', command),
      user('u4', 'u3', '<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>'),
      user('u5', 'u4', `what is ${name}?`),
    ])
    expect(summarize(session).map((one) => one.slice(0, one.indexOf(':')))).toEqual([
      'environment',
      'environment',
      'user',
      'environment',
      'user',
    ])
  })

  const notice = '<task-notification>\n<task-id>b1</task-id>\n</task-notification>'
  const peer = '<teammate-message teammate_id="x">\nhello\n</teammate-message>'
  it.each<[string, object, unknown, string]>([
    ['a prompt', {}, 'and then?', 'user'],
    ['a prompt with origin human', { origin: { kind: 'human' } }, 'and then?', 'user'],
    ['a message from a channel', { origin: { kind: 'channel', server: 'telegram' } }, 'and then?', 'user'],
    ['a prompt that quotes a notification', {}, `what is ${notice}?`, 'user'],
    ['a notification with its origin', { origin: { kind: 'task-notification' } }, 'it ended', 'environment'],
    ['a message from another session', { origin: { kind: 'peer', from: 'x' } }, 'hello', 'environment'],
    ['a message from the coordinator', { origin: { kind: 'coordinator' } }, 'go on', 'environment'],
    ['a notification of older versions', {}, notice, 'environment'],
    ['a notification in a content block', {}, [textBlock(notice)], 'environment'],
    ['a message from a teammate', {}, peer, 'environment'],
  ])('determines the source of %s', (_, origin, content, source) => {
    const text = typeof content === 'string' ? content : notice
    const alone = [user('u1', null, 'hi'), reply('a1', 'u1', textBlock('yes'))]
    const next = {
      ...line('assistant', 'a2', 'u2', { id: 'm2', role: 'assistant', content: [textBlock('ok')] }),
    }
    const queued = attachmentLine('u2', 'a1', { type: 'queued_command', prompt: content, ...origin })
    for (const sent of [{ ...user('u2', 'a1', content), ...origin }, queued])
      expect(summarize(read([...alone, sent, next]))).toEqual([
        'user: hi',
        'agent: yes',
        `${source}: ${text}`,
        'agent: ok',
      ])
    const mode = attachmentLine('u2', 'a1', {
      type: 'queued_command',
      prompt: text,
      commandMode: 'task-notification',
    })
    if (!('origin' in origin)) expect(summarize(read([...alone, mode])).at(-1)).toBe(`environment: ${text}`)
  })

  it('follows a rewind from a notification to the previous prompt', () => {
    const session = read([
      user('u1', null, 'hi'),
      reply('a1', 'u1', textBlock('yes')),
      user('n1', 'a1', notice),
      line('assistant', 'a2', 'n1', { id: 'm2', role: 'assistant', content: [textBlock('left')] }),
      user('u2', 'a1', 'new'),
    ])
    expect(summarize(session)).toEqual(['user: hi', 'agent: yes', 'user: new'])
  })

  it('uses the session that the lines were copied from as the parent of a fork', () => {
    const copied = { forkedFrom: { sessionId: 'first', messageUuid: '1' } }
    const lines = [{ ...user('1', null, 'hi'), ...copied }, user('2', '1', 'more')]
    expect(read(lines)).toMatchObject({ id: 'main', parentId: 'first', subagent: null })
    const side = { ...user('3', null, 'task'), ...copied, isSidechain: true, agentId: 'abc' }
    expect(read([side])).toMatchObject({ id: 'main-abc', parentId: 'main' })
  })

  it.each([undefined, null, {}, { input_tokens: 0, output_tokens: 5 }])(
    'counts the tokens of a reply whose last line has the usage %j',
    (usage) => {
      const call = {
        id: 'msg',
        role: 'assistant',
        content: [{ type: 'tool_use', id: 't', name: 'ls' }],
        usage,
      }
      const session = read([
        user('1', null, 'hi'),
        countedReply('2', '1', 'msg'),
        line('assistant', '3', '2', call),
      ])
      expect(usageTotals(replay(session.facts.map(({ fact }) => fact)))).toMatchObject({
        prompt_tokens: 10,
        completion_tokens: 5,
      })
    },
  )

  it('counts the tokens of a reply that a fork copied only in the session that was forked', () => {
    const copied = { forkedFrom: { sessionId: 'first', messageUuid: '1' } }
    const session = read([
      { ...user('1', null, 'hi'), ...copied },
      { ...countedReply('2', '1', 'old'), ...copied },
      user('3', '2', 'more'),
      countedReply('4', '3', 'new'),
    ])
    expect(summarize(session)).toEqual(['user: hi', 'agent: old', 'user: more', 'agent: new'])
    const tokens = session.facts.map(({ fact }) => JSON.stringify(fact).includes('"tokens"'))
    expect(tokens).toEqual([false, false, false, true])
    expect(notesOf(session)).toEqual({ 'tokens of a copied reply': 1 })
  })

  it.each([
    'file-history-delta',
    'frame-link',
    'atis-latch',
    'bridge-session',
    'cost-state',
    'worktree-state',
    'relocated',
    'fork-context-ref',
    'content-replacement',
    'task-summary',
    'artifact-comment-monitor',
    'artifact-autoreact-ledger',
    'attribution-snapshot',
    'continued-in',
  ])('stores a record of type %s as a state update, without a note', (type) => {
    const record = { type, sessionId: 'main', value: { a: 1 } }
    const session = read([record, user('u1', null, 'hi'), record, reply('a1', 'u1', textBlock('yes'))])
    expect(session).toMatchObject({ format: 'claude-code', notes: [] })
    expect(summarize(session)).toEqual(['user: hi', 'agent: yes'])
    const key = `claude-code.${type}`
    expect(session.facts.filter(({ fact }) => 'key' in fact && fact.key === key)).toHaveLength(2)
    expect(session.facts[0]?.fact).toMatchObject({ kind: 'ConversationStateUpdateEvent', value: record })
  })

  it('notes a record of an unknown type', () => {
    const session = read([user('u1', null, 'hi'), { type: 'future', sessionId: 'main' }])
    expect(notesOf(session)).toEqual({ 'unknown record type "future"': 1 })
  })

  it('ignores lines that are repeated before a compaction', () => {
    const lines = [
      user('u1', null, 'hi'),
      reply('a1', 'u1', textBlock('yes')),
      user('u2', 'a1', 'then'),
      { ...line('assistant', 'a2', 'u2', { id: 'm2', role: 'assistant', content: [textBlock('so')] }) },
    ].map(timed)
    // A line with the same name and time but other content is different.
    const other = timed(user('u1', 'u3', 'hello'), 0)
    const session = read([...lines, ...lines.slice(0, 3), user('u3', 'a2', 'on'), other])
    const all = ['user: hi', 'agent: yes', 'user: then', 'agent: so', 'user: on', 'user: hello']
    expect(summarize(session)).toEqual(all)
    expect(session.facts).toHaveLength(all.length)
    expect(notesOf(session)).toEqual({ 'written twice: a line': 3 })
  })

  it('reads a queued prompt on the branch of its parent', () => {
    const session = read([
      user('u1', null, 'hi'),
      reply('a1', 'u1', textBlock('yes')),
      user('u2', 'a1', 'left'),
      { ...line('attachment', 'q', 'a1', {}), attachment: { type: 'queued_command', prompt: 'new' } },
      { ...line('assistant', 'a3', 'q', { id: 'm3', role: 'assistant', content: [textBlock('new, too')] }) },
    ])
    expect(summarize(session)).toEqual(['user: hi', 'agent: yes', 'user: new', 'agent: new, too'])
  })

  it('keeps each different signature of thinking without text', () => {
    const blocks = [thinking('QQ=='), thinking('Qg=='), thinking('QQ=='), call]
    const session = read([
      user('0', null, 'hi'),
      ...blocks.map((block, index) => reply(`${index + 1}`, `${index}`, block)),
    ])
    const action = session.facts.find(({ fact }) => 'kind' in fact && fact.kind === 'ActionEvent')
    expect(action?.fact).toMatchObject({ thinking_blocks: [thinking('QQ=='), thinking('Qg==')] })
    expect(notesOf(session)).toEqual({ 'written twice: a block of a reply': 1 })
  })

  it('keeps strings and numbers in a reply or next to a result as text', () => {
    const text = line('assistant', '1', '0', { id: 'msg', role: 'assistant', content: ['bare', call, 7] })
    const result = { type: 'tool_result', tool_use_id: 't', content: 'ok' }
    const session = read([user('0', null, 'hi'), text, user('2', '1', [result, 'beside'])])
    expect(summarize(session)).toEqual([
      'user: hi',
      'agent: bare 7',
      'call t',
      'result t: ok',
      'user: beside',
    ])
  })

  it('notes tool result metadata, unless it is a string', () => {
    const content = [{ type: 'tool_result', tool_use_id: 't', content: 'done' }]
    const input = { ...user('2', '1', content), toolUseResult: { stdout: 'done' } }
    const session = read([user('0', null, 'hi'), reply('1', '0', call), input])
    expect(notesOf(session)).toEqual({ 'tool result metadata': 1 })
    expect(read([user('0', null, 'hi'), { ...input, toolUseResult: 'done' }]).notes).toEqual([])
  })

  it('makes the ids of 20,000 lines with the same uuid unique, without splitting a surrogate pair', () => {
    const uuid = `${'a'.repeat(179)}😀`
    const session = read(Array.from({ length: 20_000 }, () => user(uuid, null, 'hi')))
    const ids = session.facts.map(({ fact }) => ('kind' in fact ? fact.id : null))
    expect(new Set(ids).size).toBe(20_000)
    expect(ids.slice(0, 3)).toEqual([uuid, `${'a'.repeat(179)}~2`, `${'a'.repeat(179)}~3`])
  })

  it('notes a repeated rejection or error of a call', () => {
    const refused = "The user doesn't want to proceed with this tool use. Stop."
    const input = (uuid: string, content: string) =>
      user(uuid, '1', [{ type: 'tool_result', tool_use_id: 't', is_error: true, content }])
    const start = [user('0', null, 'hi'), reply('1', '0', call)]
    const refusal = read([...start, input('2', refused), input('3', refused)])
    expect(summarize(refusal).slice(2)).toEqual([`refused t: ${refused}`])
    expect(notesOf(refusal)).toEqual({ 'written twice: a refusal of a call': 1 })
    const failed = '<tool_use_error>no such tool</tool_use_error>'
    const error = read([...start, input('2', failed), input('3', failed)])
    expect(summarize(error).slice(2)).toEqual(['error t: no such tool'])
    expect(notesOf(error)).toEqual({ 'written twice: an error of a call': 1 })
  })
})

const item = (payload: object) => ({ type: 'response_item', payload })

describe('a call in a session file', () => {
  it('can be a custom tool call of Codex, with a later result', () => {
    const toolCall = item({ type: 'custom_tool_call', name: 'apply_patch', call_id: 'c', input: '*** Begin' })
    const start = [{ type: 'session_meta', payload: { id: 's' } }, toolCall]
    expect(summarize(read(start))).toEqual(['call c'])
    const output = item({ type: 'custom_tool_call_output', call_id: 'c', output: 'done' })
    expect(summarize(read([...start, output]))).toEqual(['call c', 'result c: done'])
  })

  it('gets its result even if an earlier call has the same id and result', () => {
    const toolCall = {
      role: 'assistant',
      tool_calls: [{ id: 'c', function: { name: 'sh', arguments: '{}' } }],
    }
    const input = { role: 'tool', tool_call_id: 'c', content: 'ok' }
    const session = read([{ role: 'user', content: 'a' }, toolCall, input, toolCall, input, input])
    expect(summarize(session, 'view')).toEqual([
      'user: a',
      'call c',
      'result c: ok',
      'call c',
      'result c: ok',
    ])
    expect(notesOf(session)).toEqual({ 'written twice: a tool result': 1 })
  })
})

const upperResult = (uuid: string, parent: string, id: string) =>
  user(uuid, parent, [{ type: 'tool_result', tool_use_id: id, content: id.toUpperCase() }])

const repliesWith = (requestIds: readonly (string | undefined)[], parents = ['u', 't0', 't1']) => {
  const blocks = [{ ...call, id: 'a' }, { ...call, id: 'b' }, textBlock('Both read.')]
  const [one, two, three] = blocks.map((block, index) => {
    const requestId = requestIds[index]
    const named = requestId === undefined ? {} : { requestId }
    return { ...reply(`r${index}`, parents[index] ?? '', block), ...named }
  })
  return [
    user('u', null, 'Look'),
    one,
    upperResult('t0', 'r0', 'a'),
    two,
    upperResult('t1', 'r1', 'b'),
    three,
  ]
}

describe('Claude Code replies with the same message id', () => {
  it('are separate replies if their request ids differ', () => {
    expect(summarize(read(repliesWith(['1', '2', '3'])))).toEqual([
      'user: Look',
      'call a',
      'result a: A',
      'call b',
      'result b: B',
      'agent: Both read.',
    ])
  })

  it('are separate replies if they have no request id and each follows a result', () => {
    expect(summarize(read(repliesWith([])))).toEqual(summarize(read(repliesWith(['1', '2', '3']))))
  })

  it('are one reply if their request ids are equal, or if each line follows the previous one', () => {
    const whole = summarize(read(repliesWith(['1', '1', '1'])))
    expect(whole).not.toEqual(summarize(read(repliesWith([]))))
    expect(summarize(read(repliesWith([], ['u', 'r0', 'r1'])))).toEqual(whole)
  })
})
