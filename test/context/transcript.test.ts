/** The transcript for resuming a conversation: cases V4 to V7, ordinary tool calls, and every limit. */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { resumeTranscript, type TranscriptOptions } from '../../src/context/transcript.ts'
import { hasCode } from '../../src/event/errors.ts'
import type { JsonValue } from '../../src/event/shapes.ts'
import type { ACPToolCallEvent, Event } from '../../src/event/types.ts'
import { replay } from '../../src/state/reduce.ts'
import { evict } from '../../src/state/snapshot.ts'
import { hostileLog } from '../../src/testing/index.ts'
import { backgroundLog } from '../../properties/background-log.ts'
import {
  action,
  agent,
  condensation,
  fail,
  image,
  moveHead,
  observe,
  pair,
  pause,
  reject,
  summary,
  system,
  text,
  user,
} from '../build.ts'

const MARKER = '<<RESUMED CONVERSATION>>'
const BARE = { header: '', footer: '' }

const transcript = (events: readonly Event[], options: TranscriptOptions = {}) =>
  resumeTranscript(replay(events), options)

const blocks = (...events: readonly Event[]) => transcript(events, BARE)?.slice(MARKER.length + 2) ?? null

const acp = (id: string, more: Partial<ACPToolCallEvent> = {}): ACPToolCallEvent => ({
  kind: 'ACPToolCallEvent',
  id,
  tool_call_id: 'call',
  title: 'Read file',
  ...more,
})
const withContent = (...content: JsonValue[]) => blocks(acp('x', { content, tool_kind: 'read' }))

const finish = action('f', { tool: 'finish', action: { kind: 'FinishAction', message: 'All done.' } })

/** A terminal call. */
const run = (id: string, more = {}) =>
  action(id, { tool: 'terminal', action: { kind: 'Run', command: 'ls', timeout: null }, ...more })

describe('V4 resumeTranscript', () => {
  it('returns null for a log without calls and messages with text', () => {
    expect(transcript([])).toBe(null)
    expect(transcript([system('s'), pause('p'), summary('x'), user('blank', ' ')])).toBe(null)
  })

  it('returns null for a pending ACP call without content', () => {
    expect(transcript([acp('x', { status: 'pending' })])).toBe(null)
  })

  it('writes the marker, the header, the messages and the footer in order', () => {
    const lines = (transcript([user('u', 'Hello'), agent('a', 'Hi')]) ?? '').split('\n\n')
    expect(lines).toHaveLength(5)
    expect(lines[0]).toBe(MARKER)
    expect(lines.slice(2, 4)).toEqual(['[USER]: Hello', '[ASSISTANT]: Hi'])
    expect(transcript([user('u')], { marker: '>>', header: 'before', footer: 'after' })).toBe(
      '>>\n\nbefore\n\n[USER]: u\n\nafter',
    )
    expect(transcript([user('u')], { header: ' ', footer: '' })).toBe(`${MARKER}\n\n[USER]: u`)
  })

  it('writes the status, the input and the output of an ACP call', () => {
    const event = acp('x', { status: 'in_progress', raw_input: { path: 'a' }, raw_output: 'one\ntwo' })
    expect(blocks(event)).toBe(
      '[TOOL USE: Read file] (in_progress)\n  input: {"path":"a"}\n  output:\n    one\n    two',
    )
    expect(blocks(acp('x', { raw_output: 'ok', title: '', tool_kind: 'read' }))).toBe(
      '[TOOL USE: read] (completed)\n  output: ok',
    )
    expect(blocks(acp('x', { raw_output: 'ok', title: '' }))).toContain('[TOOL USE: tool] (completed)')
    expect(blocks(acp('x', { is_error: true, status: 'completed' }))).toBe('[TOOL USE: Read file] (failed)')
  })

  it('writes only the message of a finish call', () => {
    expect(blocks(finish, observe('o', finish, 'All done.'))).toBe('[AGENT]: All done.')
  })
})

describe('tool calls in a transcript', () => {
  it('appear with their results, at the position of the call', () => {
    const [a, b] = [run('a', { response: 'r', thought: 'Look.' }), run('b', { response: 'r' })]
    expect(blocks(user('u'), a, b, observe('ob', b, 'of b'), observe('oa', a, 'of a'), agent('m'))).toBe(
      [
        '[USER]: u',
        '[ASSISTANT]: Look.',
        '[TOOL USE: terminal] (completed)\n  input: {"command":"ls"}\n  output: of a',
        '[TOOL USE: terminal] (completed)\n  input: {"command":"ls"}\n  output: of b',
        '[ASSISTANT]: m',
      ].join('\n\n'),
    )
  })

  it('have the status of their result', () => {
    const call = run('a')
    const status = (...answer: Event[]) => /\((.*)\)/.exec(blocks(call, ...answer) ?? '')?.[1]
    expect(status()).toBe('no result')
    expect(status(observe('o', call))).toBe('completed')
    expect(status(observe('o', call, 'x', { observation: { kind: 'X', is_error: true } }))).toBe('failed')
    expect(status(fail('e', call))).toBe('failed')
    expect(status(reject('r', call))).toBe('rejected')
    expect(blocks(call, fail('e', call, 'no shell'))).toContain('output: no shell')
    expect(blocks(call, reject('r', call, { rejection_reason: 'not now' }))).toContain('not now')
  })

  it('appear with their raw arguments if they have no action', () => {
    expect(blocks(action('a', { action: null, tool: 'none', args: '{"x"' }))).toBe(
      '[TOOL USE: none] (no result)\n  input: {"x"',
    )
    expect(blocks(action('a'))).toBe('[TOOL USE: ls] (no result)')
  })

  it('each have their own result, even with equal ids', () => {
    const [a, b] = [run('a', { call: 'c' }), run('b', { call: 'c' })]
    const shown = blocks(a, fail('x', a, 'first'), b, fail('y', b, 'second'), fail('z', b, 'third')) ?? ''
    expect([...shown.matchAll(/output: (\w+)/g)].map(([, word]) => word)).toEqual(['first', 'second'])
  })

  it('show the number of images, and no encrypted content', () => {
    const call = run('a')
    expect(blocks(call, observe('o', call, [text('See'), image('x')]))).toContain(
      'output:\n    See\n    [Image: 1 URL]',
    )
    const secret = run('s', { action: { kind: 'X', item: { encrypted_content: 'gAAA' } } })
    const shown = blocks(secret, observe('o', secret, '{"encrypted_content":"gBBB"}')) ?? ''
    expect(shown).not.toMatch(/gAAA|gBBB/)
  })

  it('appear even if they were forgotten, but only if they are on the branch of HEAD', () => {
    const log = [user('u'), ...pair('1'), user('v'), condensation('c', ['u', 'a1'])]
    expect(blocks(...log)).toBe('[USER]: u\n\n[TOOL USE: ls] (completed)\n  output: o1\n\n[USER]: v')
    expect(blocks(...log, moveHead('h', 'u'))).toBe('[USER]: u')
  })
})

describe('messages in a transcript', () => {
  it('have the label of the user, the assistant or the environment', () => {
    const nudge = user('n', 'Go on.', { source: 'environment' })
    expect(blocks(user('u'), agent('a'), nudge)).toBe('[USER]: u\n\n[ASSISTANT]: a\n\n[ENVIRONMENT]: Go on.')
  })

  it('V7 include the extended content', () => {
    expect(blocks(user('u', [text('a'), image('x'), text('b')], { extended_content: [text('c')] }))).toBe(
      '[USER]: a\nb\nc',
    )
  })
})

describe('V5 an ACP call with several events', () => {
  const states = ['pending', 'in_progress', 'completed'].map((status) =>
    acp(status, { status, raw_output: status }),
  )

  it('is one block with the last status', () => {
    expect(blocks(...states)).toBe('[TOOL USE: Read file] (completed)\n  output: completed')
  })

  it('is two blocks if a message is between the events', () => {
    expect(blocks(states[0] as Event, agent('m'), states[2] as Event)).toBe(
      '[TOOL USE: Read file] (pending)\n  output: pending\n\n[ASSISTANT]: m\n\n[TOOL USE: Read file] (completed)\n  output: completed',
    )
  })

  it('shows the last event that has content', () => {
    expect(blocks(...states, acp('x', { status: 'completed' }))).toContain('output: completed')
  })
})

describe('V6 limits', () => {
  const log = Array.from({ length: 40 }, (_, index) =>
    user(`u${index}`, `message ${index} ${'x'.repeat(index)}`),
  )

  it.each([24, 25, 26, 30, 50, 100, 200, 300, 500, 1000])(
    'maxLength %i limits the transcript, which still starts with the marker',
    (maxLength) => {
      const text = transcript(log, { maxLength }) ?? ''
      expect(text.length).toBeLessThanOrEqual(maxLength)
      expect(text.startsWith(MARKER)).toBe(true)
      if (maxLength > 30) expect(text).toContain('x'.repeat(3))
    },
  )

  it('a transcript is null below the length of the marker, and the marker alone at it', () => {
    expect(transcript(log, { maxLength: 23 })).toBe(null)
    expect(transcript(log, { maxLength: 24 })).toBe(MARKER)
    expect(transcript(log, { maxLength: 25 })).toBe(MARKER)
    expect(transcript(log, { maxLength: 26 })).toBe(`${MARKER}\nx`)
    expect(transcript(log, { marker: 'm', maxLength: 0 })).toBe(null)
  })

  it('header and footer are omitted if fewer than five units remain for the blocks', () => {
    const options = { header: 'head', footer: 'foot' }
    const frame = `${MARKER}\n\nhead\n\n\n\nfoot`.length
    expect(transcript(log, { ...options, maxLength: frame + 4 })).toBe(
      `${MARKER}\n${'x'.repeat(frame + 4 - 25)}`,
    )
    expect(transcript(log, { ...options, maxLength: frame + 5 })).toBe(`${MARKER}\n\nhead\n\n...\nx\n\nfoot`)
  })

  it('a transcript ends with the newest message, and an ellipsis marks the cut at its start', () => {
    const text = transcript(log, { ...BARE, maxLength: 200 }) ?? ''
    expect(text).toHaveLength(200)
    expect(text.slice(MARKER.length + 2)).toMatch(/^\.\.\.\n/)
    expect(text.endsWith(`message 39 ${'x'.repeat(39)}`)).toBe(true)
    const whole = transcript(log, BARE) ?? ''
    expect(transcript(log, { ...BARE, maxLength: whole.length })).toBe(whole)
    expect(transcript(log, { ...BARE, maxLength: whole.length - 1 })).toContain('\n\n...\n')
  })

  it.each([0, 1, 2, 3, 4, 50])('maxMessage %i limits a message', (maxMessage) => {
    const text = transcript([agent('a', 'y'.repeat(100))], { ...BARE, maxMessage })
    if (maxMessage === 0) expect(text).toBe(null)
    else expect(text?.slice(`${MARKER}\n\n[ASSISTANT]: `.length)).toHaveLength(maxMessage)
  })

  it.each([
    [7_999, 7_999],
    [8_000, 8_000],
    [8_001, 8_000],
  ])('by default, a message of %i units has %i units in the transcript', (input, expected) => {
    expect(blocks(user('u', 'y'.repeat(input)))).toHaveLength(expected + '[USER]: '.length)
  })

  it.each([0, 1, 2, 3, 4, 50])('maxTool %i limits a tool call', (maxTool) => {
    const [call, result] = pair('1')
    const text = transcript([call, result, acp('x', { raw_output: 'y'.repeat(99) })], { ...BARE, maxTool })
    if (maxTool === 0) expect(text).toBe(null)
    else
      for (const block of text?.split('\n\n').slice(1) ?? [])
        expect(block.length).toBeLessThanOrEqual(maxTool)
  })

  it('by default, a tool call has at most 2,000 units and a transcript 60,000', () => {
    const call = action('a', { tool: 't' })
    const output = (length: number) => blocks(call, observe('o', call, 'y'.repeat(length)))?.length
    const frame = '[TOOL USE: t] (completed)\n  output: '.length
    expect([1_999, 2_000, 2_001].map((length) => output(length - frame))).toEqual([1_999, 2_000, 2_000])
    const long = Array.from({ length: 10 }, (_, index) => user(`u${index}`, 'y'.repeat(7_000)))
    expect(transcript(long)).toHaveLength(60_000)
  })

  it.each(['maxLength', 'maxMessage', 'maxTool'])('%s must be a whole number from 0, or Infinity', (name) => {
    for (const value of [-1, 1.5, Number.NaN, '7']) {
      expect(() => transcript([user('u')], { [name]: value })).toThrow(
        expect.objectContaining({ code: 'invalid_argument', data: { field: name } }),
      )
    }
    expect(transcript([user('u')], { ...BARE, [name]: Infinity })).toBe(`${MARKER}\n\n[USER]: u`)
  })
})

describe('V7 the content of an ACP call', () => {
  it('shows a diff as a patch if it has an old text, else as a write', () => {
    const expected = '[TOOL USE: Read file] (completed)\n  content:\n    [diff patch] a.ts\n    new'
    expect(withContent({ type: 'diff', path: 'a.ts', old_text: 'old', new_text: 'new' })).toBe(expected)
    expect(withContent({ type: 'diff', path: 'a.ts', oldText: '', newText: 'new' })).toBe(expected)
    expect(withContent({ type: 'diff', path: 'a.ts', oldText: null, newText: 'new' })).toContain(
      '[diff write] a.ts',
    )
    expect(withContent({ type: 'diff', path: 'a.ts', new_text: 'new' })).toContain('[diff write] a.ts')
  })

  it('shows a text block, bare or wrapped', () => {
    for (const block of [
      { type: 'text', text: 'words' },
      { type: 'content', content: { type: 'text', text: 'words' } },
    ]) {
      expect(withContent(block)).toBe('[TOOL USE: Read file] (completed)\n  content: words')
    }
  })

  it('shows other blocks by their type', () => {
    expect(withContent({ type: 'image', data: 'AAAA' })).toContain('content: [image]')
    expect(withContent({ type: 'terminal', terminalId: 't1' })).toContain('content: [terminal t1]')
    expect(withContent({ type: 'terminal', terminal_id: 't1' })).toContain('content: [terminal t1]')
    expect(withContent({ type: 'hologram' })).toContain('content: [hologram]')
  })

  it.each<JsonValue>([
    { type: 'text', text: ' ' },
    { type: 'content', content: null },
    { type: 'content', content: { type: 'content', content: { type: 'text', text: 'too deep' } } },
    null,
    7,
    '',
    [],
  ])('omits the block %j', (block) => {
    expect(withContent(block)).toBe(null)
  })

  it.each<JsonValue>([0, false, ''])('shows the output %j', (raw_output) => {
    expect(blocks(acp('x', { raw_output }))).toContain('\n  output: ')
  })
})

describe('transcripts of arbitrary logs', () => {
  const lengths = fc.oneof(fc.nat(40), fc.nat(400), fc.constant(60_000))
  const limits = fc.record({ maxLength: lengths, maxMessage: lengths, maxTool: lengths })

  it('respect the limit, start with the marker and are deterministic', () => {
    const property = fc.property(hostileLog(), limits, (facts, options) => {
      const state = replay(facts)
      const text = resumeTranscript(state, options)
      expect(resumeTranscript(replay(facts), options)).toBe(text)
      if (text === null) return
      expect(text.length).toBeLessThanOrEqual(options.maxLength)
      expect(text.startsWith(MARKER)).toBe(true)
    })
    fc.assert(property, { numRuns: 120 })
  })

  it('never split a character', () => {
    const face = '\u{1f600}'
    const call = action('a', { tool: face.repeat(9), action: { kind: 'X', what: face.repeat(30) } })
    const log = [user('u', face.repeat(30)), call, observe('o', call, `${face.repeat(30)}\n${face}`)]
    const property = fc.property(limits, (options) => {
      expect(transcript(log, options)?.isWellFormed() ?? true).toBe(true)
      expect(transcript(log, { ...options, ...BARE })?.isWellFormed() ?? true).toBe(true)
    })
    fc.assert(property, { numRuns: 200 })
  })
})

describe('a transcript of an evicted state', () => {
  it('equals the transcript before the eviction', () => {
    const log = [user('u'), ...pair('1'), pause('p'), agent('m'), action('open')]
    expect(resumeTranscript(evict(replay(log)))).toBe(transcript(log))
  })

  it('throws if an evicted event would fit into the limit, and only then', () => {
    const log = [user('old'), user('new', 'n'.repeat(100)), condensation('c', ['old'])]
    const state = evict(replay(log))
    expect(() => resumeTranscript(state)).toThrow(expect.objectContaining({ code: 'evicted' }))
    // Events that do not fit are not read.
    expect(resumeTranscript(state, { ...BARE, maxLength: 100 })).toBe(
      transcript(log, { ...BARE, maxLength: 100 }),
    )
  })

  it('never shows a completed call without its result', () => {
    const call = action('a')
    const working = observe('w', call)
    const completes = { action_id: 'a', tool_call_id: call.tool_call_id, tool_name: 'ls', outcome: 'done' }
    const done = user('d', 'Done.')
    const completion = {
      ...done,
      source: 'environment',
      llm_message: { ...done.llm_message, completes },
    } as const
    const observation = { ...working.observation, kind: 'WorkingObservation' }
    const log = [call, { ...working, observation }, condensation('c', ['w']), completion]
    expect(() => resumeTranscript(evict(replay(log)))).toThrow(expect.objectContaining({ code: 'evicted' }))
  })

  it('equals the transcript before the eviction, or throws', () => {
    let compared = 0
    const property = fc.property(fc.oneof(hostileLog(), backgroundLog()), (facts) => {
      const state = replay(facts)
      try {
        expect(resumeTranscript(evict(state))).toBe(resumeTranscript(state))
        compared += 1
      } catch (error) {
        if (!hasCode(error, 'evicted')) throw error
      }
    })
    fc.assert(property, { numRuns: 200 })
    expect(compared).toBeGreaterThan(10)
  })
})
