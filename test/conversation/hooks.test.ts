/** Hooks run in order up to the first block. Their events are limited in size and well-formed, and no error escapes. */

import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { type Hook, type HookInput, type HookOutcome, runHooks } from '../../src/conversation/run/hooks.ts'
import { decodeEvent } from '../../src/event/decode.ts'

const INPUT: HookInput = {
  event_type: 'PreToolUse',
  conversation_id: 'c',
  tool_name: 'terminal',
  tool_input: { kind: 'TerminalAction', command: 'ls' },
  action_id: 'a1',
}

const hook = (name: string, run: Hook['run'], more: Partial<Hook> = {}): Hook => ({
  on: 'PreToolUse',
  name,
  run,
  ...more,
})

/** Logs when a hook starts and ends. */
const output: string[] = []
const logging = (name: string, more: Partial<Hook> = {}): Hook =>
  hook(
    name,
    async () => {
      output.push(`${name} begins`)
      await new Promise((resolve) => setImmediate(resolve))
      output.push(`${name} ends`)
      return { additionalContext: name }
    },
    more,
  )

const throwingPredicate = (): boolean => {
  throw new Error('no test')
}

const never = new AbortController().signal
const run = (hooks: readonly Hook[], input: HookInput = INPUT, signal: AbortSignal = never) =>
  runHooks(hooks, input, signal)

/** The event of a hook that returns any value, as untyped callers can. */
async function eventFor(outcome: unknown) {
  const verdict = await run([hook('h', () => outcome as HookOutcome)])
  expect(verdict.events).toHaveLength(1)
  const [event] = verdict.events
  expect(decodeEvent(event)).toMatchObject({ ok: true })
  return { ...verdict, event }
}

describe('hooks of one type', () => {
  it('run one after another, without those of other types', async () => {
    const { events, blocked, context } = await run([logging('a'), logging('b', { on: 'Stop' }), logging('c')])
    expect(output).toEqual(['a begins', 'a ends', 'c begins', 'c ends'])
    expect(events.map(({ hook_command }) => hook_command)).toEqual(['a', 'c'])
    expect(blocked).toBeNull()
    expect(context).toEqual(['a', 'c'])
  })

  it('stop at the first block, which discards the context', async () => {
    const { events, blocked, context } = await run([
      hook('tells', () => ({ additionalContext: 'be careful' })),
      hook('blocks', () => ({ blocked: true, reason: 'no', additionalContext: 'and more' })),
      hook('too late', () => ({ additionalContext: 'never' })),
    ])
    expect(events.map(({ hook_command, blocked: blocks }) => [hook_command, blocks])).toEqual([
      ['tells', false],
      ['blocks', true],
    ])
    expect(events[1]).toMatchObject({ success: false, exit_code: 2, reason: 'no' })
    expect(blocked).toBe('no')
    expect(context).toEqual([])
  })

  it('run only for the tools that they select', async () => {
    const listens = hook('h', () => undefined, { tools: (name) => name === 'terminal' })
    expect((await run([listens])).events).toHaveLength(1)
    expect((await run([listens], { ...INPUT, tool_name: 'editor' })).events).toHaveLength(0)
    const prompt = {
      event_type: 'UserPromptSubmit',
      conversation_id: 'c',
      message: 'hi',
      message_id: 'm',
    } as const
    expect((await run([{ ...listens, on: 'UserPromptSubmit' }], prompt)).events).toHaveLength(1)
  })

  it('receive the same input, even if one of them tries to change it', async () => {
    const changes = hook('changes', (input) => {
      Object.assign(input, { tool_name: 'other' })
    })
    const seen: unknown[] = []
    const { events } = await run([changes, hook('reads', (input) => void seen.push({ ...input }))])
    expect(events[0]).toMatchObject({ success: false, tool_name: 'terminal' })
    expect(seen).toEqual([INPUT])
    expect(events[1]?.hook_input).toEqual(INPUT)
  })
})

describe('the event of a hook', () => {
  it('has every field if the hook returns nothing', async () => {
    const { event, blocked, context } = await eventFor(undefined)
    expect(event).toEqual({
      kind: 'HookExecutionEvent',
      source: 'hook',
      hook_event_type: 'PreToolUse',
      hook_command: 'h',
      success: true,
      exit_code: 0,
      blocked: false,
      stdout: '',
      stderr: '',
      reason: null,
      additional_context: null,
      error: null,
      tool_name: 'terminal',
      action_id: 'a1',
      message_id: null,
      hook_input: INPUT,
    })
    expect([blocked, context]).toEqual([null, []])
  })

  it.each([
    ['null', null],
    ['a string', 'aborted'],
    ['numbers for strings', { reason: 7, stdout: new Uint8Array([1]), exitCode: 1.5, success: 'yes' }],
    ['nulls', { blocked: null, reason: null, additionalContext: null, error: null, exitCode: null }],
    ['an infinite exit code', { exitCode: Infinity }],
    ['values without a string form', { stdout: Object.create(null), stderr: Symbol('s') }],
  ])('can be decoded if the hook returns %s', async (_, outcome) => {
    const { event, blocked } = await eventFor(outcome)
    expect(event).toMatchObject({ success: true, exit_code: 0, blocked: false })
    expect(blocked).toBeNull()
  })

  it('has a reason for every block', async () => {
    for (const outcome of [{ blocked: true }, { blocked: true, reason: ' ' }]) {
      const { event, blocked } = await eventFor(outcome)
      expect(blocked).toBe('Blocked by hook h.')
      expect(event).toMatchObject({ reason: blocked, exit_code: 2, success: false, blocked: true })
    }
  })

  it('derives `success` and `exit_code` from each other, also for a block', async () => {
    expect((await eventFor({ exitCode: 3 })).event).toMatchObject({ success: false, exit_code: 3 })
    expect((await eventFor({ success: false })).event).toMatchObject({ success: false, exit_code: 1 })
    expect((await eventFor({ blocked: true, exitCode: 0 })).event).toMatchObject({
      success: true,
      exit_code: 0,
    })
  })

  it('is limited in size and well-formed, as is the context for the model', async () => {
    const long = `${'x'.repeat(49_999)}${'😀'.repeat(30_000)}`
    const all = { stdout: long, stderr: long, reason: long, additionalContext: long, error: long }
    const { event, context } = await eventFor(all)
    const texts = [
      event?.stdout,
      event?.stderr,
      event?.reason,
      event?.additional_context,
      event?.error,
      ...context,
    ]
    expect(texts).toHaveLength(6)
    for (const text of texts) {
      // A surrogate pair at the limit is dropped whole.
      expect(text).toBe(`${'x'.repeat(49_999)}… (60000 more characters)`)
    }
    const lone = await eventFor({ stdout: 'a\uD800b', additionalContext: '\uDC00c' })
    expect(lone.event).toMatchObject({ stdout: 'a\uFFFDb', additional_context: '\uFFFDc' })
    expect(lone.context).toEqual(['\uFFFDc'])
    expect((await eventFor({ blocked: true, reason: long })).blocked).toHaveLength(
      49_999 + '… (60000 more characters)'.length,
    )
  })

  it('contains less than 60 kB of a tool input of 10 MB', async () => {
    const body = { kind: 'FileAction', text: 'y'.repeat(10_000_000) }
    const { events } = await run([hook('h', () => undefined)], { ...INPUT, tool_input: body })
    expect(JSON.stringify(events[0]).length).toBeLessThan(60_000)
    expect(events[0]?.hook_input).toMatchObject({ tool_name: 'terminal', action_id: 'a1' })
  })
})

describe('a failing hook', () => {
  const odd = Object.defineProperty(new Error('x'), 'message', {
    get() {
      throw new Error('no message')
    },
  })
  it.each<[string, unknown, string]>([
    ['an error', new Error('broken'), 'broken'],
    ['a string', 'broken', 'broken'],
    ['undefined', undefined, 'undefined'],
    ['a value without a string form', Object.create(null), 'a value without a text'],
    ['an error without a message', odd, 'a value without a text'],
    ['a lone surrogate', 'a\uD800', 'a\uFFFD'],
  ])('blocks nothing if it throws %s', async (_, thrown, error) => {
    const throws = hook('throws', () => {
      throw thrown
    })
    const rejects = hook('rejects', () => Promise.reject(thrown))
    const { events, blocked } = await run([throws, rejects, hook('goes on', () => undefined)])
    expect(blocked).toBeNull()
    for (const event of events.slice(0, 2)) {
      expect(event).toMatchObject({ success: false, exit_code: 1, blocked: false, error })
      expect(decodeEvent(event)).toMatchObject({ ok: true })
    }
    expect(events[2]).toMatchObject({ hook_command: 'goes on', success: true })
  })

  it.each<[unknown, string]>([
    [{ decision: 'block', reason: 'no' }, 'decision'],
    [{ hookSpecificOutput: { permissionDecision: 'deny' } }, 'hookSpecificOutput'],
    [{ block: true }, 'blocked'],
    [{ blocked: 'yes' }, 'blocked'],
    [false, 'result'],
    [true, 'result'],
    [[{ blocked: true }], 'Unknown option "0"'],
    [{ additionalContext: { text: 'no' } }, 'additionalContext'],
  ])('blocks nothing, and names the wrong field, if it returns %j', async (outcome, field) => {
    const { event, blocked } = await eventFor(outcome)
    expect(blocked).toBeNull()
    expect(event).toMatchObject({ success: false, exit_code: 1, blocked: false })
    expect(event?.error).toContain(field)
  })

  it('blocks if its result blocks and has another field', async () => {
    const { event, blocked } = await eventFor({ blocked: true, reason: 'no', decision: 'block' })
    expect(blocked).toBe('no')
    expect(event).toMatchObject({ exit_code: 2, blocked: true, error: null })
  })

  it('blocks nothing if its tool predicate or a getter of its result throws', async () => {
    const outcome = {
      get blocked(): boolean {
        throw new Error('no answer')
      },
    }
    const { events, blocked } = await run([
      hook('a', () => ({ blocked: true }), { tools: throwingPredicate }),
      hook('b', () => outcome),
    ])
    expect(events.map(({ error }) => error)).toEqual(['no test', 'no answer'])
    expect(blocked).toBeNull()
  })
})

describe('an interrupt', () => {
  it('does not wait for a running hook, starts no other, and leaves no listener', async () => {
    const interrupt = new AbortController()
    const done = hook('done', () => undefined)
    const hangs = hook('hangs', () => new Promise<void>(() => interrupt.abort()))
    const { events, blocked } = await run([done, hangs, done], INPUT, interrupt.signal)
    expect(events.map(({ hook_command }) => hook_command)).toEqual(['done'])
    expect(blocked).toBeNull()
    expect(getEventListeners(interrupt.signal, 'abort')).toHaveLength(0)
    expect((await run([done], INPUT, interrupt.signal)).events).toEqual([])
    const { signal } = new AbortController()
    await run([done, done], INPUT, signal)
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })

  it('ignores the later failure of a running hook', async () => {
    const interrupt = new AbortController()
    const fails = Promise.withResolvers<void>()
    const verdict = run([hook('h', () => fails.promise)], INPUT, interrupt.signal)
    interrupt.abort()
    expect((await verdict).events).toEqual([])
    // An unhandled rejection would fail the test run.
    fails.reject(new Error('too late'))
    await new Promise((resolve) => setImmediate(resolve))
  })
})
