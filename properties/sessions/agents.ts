/** Writes scripts as session files of other agents and of their versions. */

import { counter, time } from './lines.ts'
import type { Script } from './script.ts'

/** Claude Code: a line per block, and lines without content. */
export function claudeCode(all: Script): unknown[] {
  const lines: Record<string, unknown>[] = [
    { type: 'permission-mode', permissionMode: 'plan', sessionId: 's' },
  ]
  const uuid = counter('uuid-')
  const message = counter('msg_')
  const callId = counter('toolu_')
  let parent: string | null = null
  const add = (line: Record<string, unknown>): string => {
    const id = uuid()
    lines.push({
      parentUuid: parent,
      isSidechain: false,
      sessionId: 's',
      version: '2.1.114',
      uuid: id,
      timestamp: time(lines.length),
      ...line,
    })
    parent = id
    return id
  }
  const before: (string | null)[] = []
  for (const { back, user, replies, compacted, keeps, drift } of all) {
    if (back > 0) parent = before.splice(before.length - back, back)[0] ?? null
    before.push(parent)
    const ended = { type: 'last-prompt', lastPrompt: 'w', sessionId: 's', leafUuid: parent }
    if (drift[6] === true && parent !== null) lines.push(ended)
    // These lines follow the message that the user went back to.
    if (drift[1] === true) add({ type: 'system', subtype: 'local_command', content: 'ls' })
    if (drift[7] === true) add({ type: 'progress', data: { type: 'hook_progress' }, toolUseID: 't' })
    const from = lines.length
    // A message after stopping a reply may contain the interruption notice or quote it.
    const stopped = [
      { type: 'text', text: '[Request interrupted by user for tool use]' },
      { type: 'text', text: user },
    ]
    const content = drift[5] === true ? stopped : user
    add({ type: 'user', userType: 'external', message: { role: 'user', content } })
    // Repeats the previous `last-prompt` line.
    if (drift[3] === true && drift[6] === true) lines.push(ended)
    if (drift[0] === true) add({ type: 'progress', data: { type: 'hook_progress' }, toolUseID: 't' })
    for (const reply of replies) {
      const id = message()
      const callIds = reply.calls.map(() => callId())
      const blocks = [
        ...(reply.thinking === null
          ? []
          : [
              { type: 'thinking', thinking: reply.thinking, signature: 'c2ln' },
              // Newer models withhold thinking, but not its signature.
              ...(drift[6] === true
                ? ['YQ==', 'Yg=='].map((signature) => ({ type: 'thinking', thinking: '', signature }))
                : []),
            ]),
        { type: 'text', text: reply.text },
        ...reply.calls.map(({ name, input }, index) => ({
          type: 'tool_use',
          id: callIds[index],
          name,
          input,
        })),
      ]
      const result = (index: number): void => {
        const one = reply.calls[index]
        const block = {
          type: 'tool_result',
          tool_use_id: callIds[index],
          content: one?.result,
          is_error: one?.isError,
        }
        add({ type: 'user', message: { role: 'user', content: [block] }, toolUseResult: { stdout: 'x' } })
        const hook = {
          type: 'hook_additional_context',
          hookName: 'PostToolUse:Bash',
          content: ['by the way'],
        }
        if (drift[0] === true) add({ type: 'attachment', attachment: hook })
      }
      const isBetween = drift[1] === true
      let done = 0
      for (const [index, block] of blocks.entries()) {
        const isLast = index === blocks.length - 1
        const stop_reason =
          isLast || drift[2] === true ? (callIds.length > 0 ? 'tool_use' : 'end_turn') : null
        const usage = { input_tokens: 5, output_tokens: isLast ? 9 : 1 }
        const text = {
          id,
          type: 'message',
          role: 'assistant',
          model: 'claude',
          content: [block],
          stop_reason,
          usage,
        }
        add({ type: 'assistant', requestId: 'r', message: text })
        // Some lines are duplicated under other ids.
        if (drift[3] === true && index === 0) add({ type: 'assistant', requestId: 'r', message: text })
        if (block.type === 'tool_use' && isBetween) {
          result(done)
          done += 1
        }
      }
      for (; done < callIds.length; done += 1) result(done)
    }
    if (drift[4] === true) lines.push({ type: 'file-history-snapshot', messageId: 'm', snapshot: {} })
    if (compacted === null) continue
    const tail: string | null = parent
    // Newer versions list preserved messages, older ones only the first and last.
    const uuids = lines.slice(from).flatMap((line) => (line['uuid'] === undefined ? [] : [line['uuid']]))
    const preserved =
      drift[2] === true
        ? { preservedMessages: { uuids } }
        : { preservedSegment: { headUuid: uuids[0], tailUuid: tail } }
    parent = null
    const compactMetadata = keeps === true ? preserved : {}
    add({ type: 'system', subtype: 'compact_boundary', logicalParentUuid: tail, compactMetadata })
    add({ type: 'user', isCompactSummary: true, message: { role: 'user', content: compacted } })
    // Either the summary or the last preserved message is the parent.
    if (keeps === true && drift[7] === true) parent = tail
  }
  return lines
}

/** Codex CLI: a line per item, and events that repeat it. */
export function codex(all: Script): unknown[] {
  const lines: Record<string, unknown>[] = []
  const callId = counter('call_')
  const put = (type: string, payload: object): void => {
    lines.push({ timestamp: time(lines.length), type, payload })
  }
  put('session_meta', { id: 's', timestamp: time(0), cwd: '/', cli_version: '0.130' })
  put('response_item', {
    type: 'message',
    role: 'user',
    content: [{ type: 'input_text', text: '<environment_context/>' }],
  })
  let total = 0
  const count = (): void => {
    total += 1
    const info = {
      total_token_usage: { total_tokens: total },
      last_token_usage: { input_tokens: 7, output_tokens: 2 },
    }
    put('event_msg', { type: 'token_count', info })
    put('event_msg', { type: 'token_count', info })
  }
  for (const { back, user, replies, compacted, drift } of all) {
    if (back > 0) put('event_msg', { type: 'thread_rolled_back', num_turns: back })
    put('turn_context', { model: 'gpt', turn_id: 't' })
    const item = { type: 'message', role: 'user', content: [{ type: 'input_text', text: user }] }
    if (drift[0] === true) put('response_item', item)
    put('event_msg', { type: 'user_message', message: user })
    if (drift[0] !== true) put('response_item', item)
    for (const { thinking, text, calls } of replies) {
      const callIds = calls.map(() => callId())
      if (thinking !== null) {
        put('event_msg', { type: 'agent_reasoning', text: thinking })
        put('response_item', { type: 'reasoning', summary: [{ type: 'summary_text', text: thinking }] })
      }
      put('event_msg', { type: 'agent_message', message: text })
      put('response_item', { type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] })
      for (const [index, { name, input }] of calls.entries())
        put('response_item', {
          type: 'function_call',
          name,
          call_id: callIds[index],
          arguments: JSON.stringify(input),
        })
      if (drift[1] === true) count()
      for (const [index, { result }] of calls.entries()) {
        put('event_msg', { type: 'exec_command_end', call_id: callIds[index], stdout: result })
        put('response_item', { type: 'function_call_output', call_id: callIds[index], output: result })
      }
      if (drift[1] !== true) count()
    }
    put('event_msg', { type: 'task_complete', last_agent_message: null })
    if (compacted !== null) put('compacted', { message: compacted, replacement_history: [] })
  }
  return lines
}

/** pi: a tree of entries. Version 1 was a list, without branches. */
export function pi(all: Script, version: 1 | 3): unknown[] {
  const lines: object[] = [
    { type: 'session', version: version === 1 ? undefined : 3, id: 's', timestamp: time(0) },
  ]
  const entry = counter('e')
  const nextId = counter('c')
  let parentId: string | null = null
  const add = (fields: object): void => {
    const id = entry()
    lines.push({ ...(version === 1 ? {} : { id, parentId }), timestamp: time(lines.length), ...fields })
    parentId = id
  }
  const say = (message: object): void => add({ type: 'message', message })
  const before: (string | null)[] = []
  for (const { back, user, replies, compacted, drift } of all) {
    if (back > 0) parentId = before.splice(before.length - back, back)[0] ?? null
    before.push(parentId)
    if (drift[0] === true) add({ type: 'model_change', provider: 'p', modelId: 'm' })
    say({ role: 'user', content: [{ type: 'text', text: user }] })
    // A retry is a branch of its own.
    const prompt: string | null = parentId
    if (drift[4] === true && version === 3) {
      say({ role: 'assistant', content: [{ type: 'text', text: 'left' }], stopReason: 'stop' })
      parentId = prompt
    }
    for (const { thinking, text, calls } of replies) {
      const callIds = calls.map((_, index) => (drift[6] === true ? `call_${index}` : nextId()))
      say({
        role: 'assistant',
        content: [
          ...(thinking === null ? [] : [{ type: 'thinking', thinking }]),
          { type: 'text', text },
          ...calls.map(({ name, input }, index) => ({
            type: 'toolCall',
            id: callIds[index],
            name,
            arguments: input,
          })),
        ],
        api:
          drift[1] === true
            ? 'anthropic-messages'
            : drift[2] === true
              ? 'openai-responses'
              : 'openai-completions',
        stopReason: calls.length > 0 ? 'toolUse' : 'stop',
        usage: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 },
      })
      for (const [index, { name, result, isError }] of calls.entries())
        say({
          role: 'toolResult',
          toolCallId: callIds[index],
          toolName: name,
          content: [{ type: 'text', text: result }],
          isError,
        })
    }
    if (compacted === null) continue
    // Two forms; the preserved part may begin at an entry that no model sees.
    const isAside = version === 3 && drift[3] === true
    if (isAside) add({ type: 'thinking_level_change', thinkingLevel: 'high' })
    const firstKeptEntryId = isAside ? parentId : 'none'
    const next = version === 1 ? { firstKeptEntryIndex: lines.length + 1 } : { firstKeptEntryId }
    if (drift[5] === true && version === 3) {
      // The summary is on the branch that it summarises.
      const end = parentId
      parentId = before[0] ?? null
      say({ role: 'user', content: [{ type: 'text', text: 'elsewhere' }] })
      parentId = end
    }
    add({ type: 'compaction', summary: compacted, ...next })
  }
  return lines
}

/** ATIF: a reply and its results are one step. */
export function atif(all: Script): unknown[] {
  const callId = counter('c')
  const steps = all.flatMap(({ user, replies, drift }) => [
    { source: 'user', message: user },
    ...replies.map(({ thinking, text, calls }) => {
      const callIds = calls.map(() => callId())
      return {
        source: 'agent',
        message: drift[0] === true ? [{ type: 'text', text }] : text,
        ...(thinking === null ? {} : { reasoning_content: thinking }),
        ...(calls.length === 0
          ? {}
          : {
              tool_calls: calls.map(({ name, input }, index) => ({
                tool_call_id: callIds[index],
                function_name: name,
                arguments: input,
              })),
              observation: {
                results: calls.map(({ result, isError }, index) => ({
                  // Ids are often omitted if every call has a result.
                  ...(drift[1] === true ? { source_call_id: callIds[index] } : {}),
                  content: result,
                  ...(isError && { extra: { status: 'failed' } }),
                })),
              },
            }),
        metrics: { prompt_tokens: 3, completion_tokens: 1 },
      }
    }),
  ])
  const numbered = steps.map((step, index) => ({ step_id: index + 1, ...step }))
  return [
    { schema_version: 'ATIF-v1.7', session_id: 's', agent: { name: 'a', version: '1' }, steps: numbered },
  ]
}
