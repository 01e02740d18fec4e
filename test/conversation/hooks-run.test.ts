/** Hooks in a run: their events in the log, and their effect on the run. */

import { describe, expect, it } from 'vitest'
import type { Conversation } from '../../src/conversation/conversation.ts'
import { createEngine } from '../../src/conversation/engine.ts'
import type { HookInput } from '../../src/conversation/run/hooks.ts'
import type { Step } from '../../src/conversation/run/step.ts'
import { shellHook } from '../../src/conversation/shell/shell-hook.ts'
import { decodeEvent } from '../../src/event/decode.ts'
import type { HookEventType } from '../../src/event/types.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { agent, begin, branch, call, hook, hooked, names, run } from './agent.ts'

const types = async (conversation: Conversation) =>
  (await hooked(conversation)).map((event) => event.hook_event_type)

const fails: Step = () => {
  throw new Error('no model')
}

describe('shell hooks of all six types', () => {
  const EVENT_TYPES: readonly HookEventType[] = [
    'SessionStart',
    'UserPromptSubmit',
    'PreToolUse',
    'PostToolUse',
    'Stop',
    'SessionEnd',
  ]

  it('append one event each, with every field, in the order of the run', async () => {
    const conversation = await begin()
    const { step } = agent([call('a1')])
    const hooks = EVENT_TYPES.map((on) => shellHook({ on, command: `cat; echo "${on} was here" >&2` }))
    expect(await run(conversation, step, hooks)).toMatchObject({ status: 'finished', iterations: 2 })
    expect(names(await branch(conversation))).toEqual([
      'MessageEvent of user',
      'SessionStart',
      'UserPromptSubmit',
      'ActionEvent of agent',
      'PreToolUse',
      'ObservationEvent of environment',
      'PostToolUse',
      'MessageEvent of agent',
      'Stop',
      'SessionEnd',
    ])
    const [message] = await branch(conversation)
    const tool = { tool_name: 'terminal', tool_input: call('a1').action, action_id: 'a1' }
    const report: Record<string, object> = {
      UserPromptSubmit: { message: 'List the files.', message_id: message?.id },
      PreToolUse: tool,
      PostToolUse: { ...tool, tool_response: expect.objectContaining({ kind: 'TerminalObservation' }) },
      Stop: { stop_hook_active: false },
    }
    for (const event of await hooked(conversation)) {
      const input = {
        event_type: event.hook_event_type,
        conversation_id: conversation.id,
        ...report[event.hook_event_type],
      }
      expect(event).toMatchObject({
        source: 'hook',
        hook_command: `cat; echo "${event.hook_event_type} was here" >&2`,
        success: true,
        exit_code: 0,
        blocked: false,
        stderr: `${event.hook_event_type} was here\n`,
        reason: null,
        additional_context: null,
        error: null,
        tool_name: 'tool_input' in input ? 'terminal' : null,
        action_id: 'tool_input' in input ? 'a1' : null,
        message_id: 'message' in input ? message?.id : null,
        hook_input: input,
      })
      expect(JSON.parse(event.stdout ?? '')).toEqual(event.hook_input)
      expect(decodeEvent(event)).toMatchObject({ ok: true })
    }
  })

  it.each(EVENT_TYPES)('block with exit code 2: %s', async (on) => {
    const conversation = await begin()
    const { step, sent } = agent([call('a1')])
    // Blocks only once: a run whose Stop is always blocked would never end.
    const once = shellHook({ on, command: 'echo "not so" >&2; exit 2' })
    let times = 0
    const first = {
      ...once,
      run: (input: HookInput, signal: AbortSignal) => ((times += 1) === 1 ? once.run(input, signal) : {}),
    }
    const { status } = await run(conversation, step, [first])
    const events = await branch(conversation)
    const [event] = await hooked(conversation)
    expect(event).toMatchObject({
      hook_event_type: on,
      exit_code: 2,
      success: false,
      blocked: true,
      reason: 'not so',
      stderr: 'not so\n',
    })
    expect(status).toBe('finished')
    const rejected = events.find(({ kind }) => kind === 'UserRejectObservation')
    const later = sent.at(-1) ?? ''
    switch (on) {
      case 'PreToolUse':
        expect(rejected).toMatchObject({
          action_id: 'a1',
          rejection_reason: 'not so',
          rejection_source: 'hook',
          tool_call_id: 'call-a1',
        })
        expect(events.some(({ kind }) => kind === 'ObservationEvent')).toBe(false)
        break
      case 'UserPromptSubmit':
        expect(sent).toEqual([])
        expect(JSON.stringify(await conversation.messages())).not.toContain('List the files.')
        break
      case 'PostToolUse':
        expect(later).toContain('not so')
        break
      case 'Stop':
        expect(later).toContain('[Stop hook feedback] not so')
        expect(times).toBe(2)
        break
      case 'SessionStart':
      case 'SessionEnd':
        expect(sent).toHaveLength(2)
        break
      default:
        on satisfies never
    }
  })

  it('add context to the next request, except Stop and SessionEnd', async () => {
    const conversation = await begin()
    const { step, sent } = agent([call('a1')])
    const hooks = EVENT_TYPES.map((on) =>
      shellHook({ on, command: `echo '{"additionalContext":"told at ${on}"}'` }),
    )
    expect(await run(conversation, step, hooks)).toMatchObject({ status: 'finished' })
    const events = await hooked(conversation)
    expect(events.map(({ additional_context }) => additional_context)).toEqual(
      EVENT_TYPES.map((on) => `told at ${on}`),
    )
    for (const on of EVENT_TYPES.slice(0, 4)) expect(sent.at(-1)).toContain(`told at ${on}`)
    const { messages } = { messages: JSON.stringify(await conversation.messages()) }
    for (const on of EVENT_TYPES.slice(4)) expect(messages).not.toContain(`told at ${on}`)
  })

  it('send nothing to the model if their command cannot be started', async () => {
    const conversation = await begin()
    const { step, sent } = agent([call('a1')])
    const hooks = EVENT_TYPES.map((on) => shellHook({ on, command: ['there-is-no-such-program'] }))
    expect(await run(conversation, step, hooks)).toMatchObject({ status: 'finished', iterations: 2 })
    const events = await hooked(conversation)
    expect(events).toHaveLength(6)
    for (const event of events) {
      expect(event).toMatchObject({
        success: false,
        exit_code: -1,
        blocked: false,
        error: expect.stringContaining('ENOENT'),
      })
    }
    expect(sent.join('')).not.toContain('ENOENT')
  })
})

describe('stop_hook_active', () => {
  const noise = Array.from({ length: 1_500 }, () => ({
    kind: 'TokenEvent' as const,
    source: 'agent' as const,
    prompt_token_ids: [1],
    response_token_ids: [2],
  }))

  it('is true from the first block of a Stop hook to the next user message, also after evictions', async () => {
    const store = memoryStore()
    let engine = createEngine({ store })
    const { id } = await engine.create()
    const runs: [text: string | null, verdicts: string[], seen: boolean[], evict?: 'evict'][] = [
      ['one', ['block', 'block'], [false, true, true]],
      ['two', [], [false]],
      ['three', ['pause'], [false]],
      [null, ['block'], [true, true]],
      ['four', ['pause'], [false]],
      [null, ['block'], [true, true], 'evict'],
      ['five', ['block'], [false, true], 'evict'],
      ['six', [], [false]],
    ]
    for (const [text, verdicts, expected, evict] of runs) {
      let conversation = await engine.open(id)
      if (text === null) await conversation.resume()
      else await conversation.sendMessage(text)
      if (evict !== undefined) {
        await conversation.append(noise)
        await engine.close()
        engine = createEngine({ store })
        conversation = await engine.open(id)
        const { entries } = (await conversation.state()).log
        expect(entries.get(entries.length - 2)?.event).toBeNull()
      }
      const seen: unknown[] = []
      const stop = hook('Stop', async ({ stop_hook_active }) => {
        seen.push(stop_hook_active)
        const verdict = verdicts.shift()
        if (verdict === 'pause') await conversation.pause()
        return { blocked: verdict !== undefined, reason: 'not yet' }
      })
      await run(conversation, agent().step, [stop])
      expect(seen, `after ${text}`).toEqual(expected)
    }
    await engine.close()
  })
})

describe('session hooks', () => {
  const hooks = (['SessionStart', 'SessionEnd'] as const).map((on) => hook(on, () => undefined))

  it('do not run for a run that makes no request', async () => {
    const conversation = await begin()
    await run(conversation, agent().step, hooks)
    expect(await types(conversation)).toEqual(['SessionStart', 'SessionEnd'])
    await run(conversation, agent().step, hooks)
    expect(await types(conversation)).toEqual(['SessionStart', 'SessionEnd'])
    const paused = await begin()
    const running = run(paused, agent().step, hooks)
    await paused.pause()
    expect(await running).toMatchObject({ status: 'paused' })
    expect(await types(paused)).toEqual([])
  })

  it('run SessionEnd if the run fails', async () => {
    const conversation = await begin()
    expect(await run(conversation, fails, hooks)).toMatchObject({ status: 'error' })
    expect(await types(conversation)).toEqual(['SessionStart', 'SessionEnd'])
  })

  it.each(['hangs', 'fails', 'cleans up'])(
    'run SessionEnd after an interrupt without logging it, when the hook %s',
    async (what) => {
      const conversation = await begin()
      const ended: boolean[] = []
      const cleanup = hook('SessionEnd', async (_, signal: AbortSignal) => {
        ended.push(signal.aborted)
        if (what === 'hangs') await new Promise(() => undefined)
        if (what === 'fails') throw new Error('no')
        return { additionalContext: 'cleaned up' }
      })
      const interrupted: Step = async function* () {
        await conversation.interrupt()
        yield* []
      }
      expect(await run(conversation, interrupted, [cleanup])).toMatchObject({ status: 'paused' })
      expect(ended).toEqual([false])
      expect(names(await branch(conversation)).at(-1)).toBe('InterruptEvent of user')
      const { step } = agent()
      expect(await run(conversation, step, [])).toMatchObject({ status: 'finished' })
    },
  )

  it('do not cause another request if SessionEnd returns context', async () => {
    const conversation = await begin()
    const { step, sent } = agent()
    const pauses: Step = async function* (input) {
      await conversation.pause()
      yield* await step(input)
    }
    const withContext = [hook('SessionEnd', () => ({ additionalContext: 'goodbye', blocked: false }))]
    expect(await run(conversation, pauses, withContext)).toMatchObject({ status: 'paused' })
    await conversation.resume()
    expect(await run(conversation, pauses, withContext)).toMatchObject({ status: 'finished' })
    expect(sent).toHaveLength(1)
  })
})

describe('a hook in progress', () => {
  it('is killed by an interrupt, which ends the run', async () => {
    const conversation = await begin()
    const { step } = agent([call('a1')])
    const started = Promise.withResolvers<void>()
    const sleeps = shellHook({ on: 'PreToolUse', command: 'sleep 600' })
    const hooks = [
      {
        ...sleeps,
        run: (input: HookInput, signal: AbortSignal) => (started.resolve(), sleeps.run(input, signal)),
      },
    ]
    const running = run(conversation, step, hooks)
    await started.promise
    await conversation.interrupt()
    await running
    expect(names(await branch(conversation)).slice(-2)).toEqual([
      'AgentErrorEvent of environment',
      'InterruptEvent of user',
    ])
    while (process.getActiveResourcesInfo().includes('ProcessWrap'))
      await new Promise((resolve) => setTimeout(resolve, 10))
  })

  it('does not reject a call again that a user has rejected meanwhile', async () => {
    const conversation = await begin()
    const { step } = agent([call('a1')])
    const rejects = hook('PreToolUse', async () => {
      await conversation.reject(['a1'], 'I say no.')
      return { blocked: true, reason: 'no' }
    })
    expect(await run(conversation, step, [rejects])).toMatchObject({ status: 'finished' })
    const answers = (await branch(conversation)).filter(({ kind }) => kind === 'UserRejectObservation')
    expect(answers).toMatchObject([{ rejection_reason: 'I say no.', rejection_source: 'user' }])
  })
})
