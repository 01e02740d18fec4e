/** The transcript for resuming a conversation: cases V4 to V7, ordinary tool calls, and every limit. */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { resumeTranscript, type TranscriptOptions } from '../../src/context/transcript.ts'
import type { JsonValue } from '../../src/event/shapes.ts'
import type { ACPToolCallEvent, Event } from '../../src/event/types.ts'
import { replay } from '../../src/state/reduce.ts'
import { evict } from '../../src/state/snapshot.ts'
import { hostileLog } from '../../src/testing/index.ts'
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

const reports = (events: readonly Event[], options: TranscriptOptions = {}) =>
  resumeTranscript(replay(events), options)

const blocks = (...events: readonly Event[]) => reports(events, BARE)?.slice(MARKER.length + 2) ?? null

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

describe('V4 what is told', () => {
  it('of nothing is nothing', () => {
    expect(reports([])).toBe(null)
    expect(reports([system('s'), pause('p'), summary('x'), user('blank', ' ')])).toBe(null)
  })

  it('of a call that has only been announced is nothing', () => {
    expect(reports([acp('x', { status: 'pending' })])).toBe(null)
  })

  it('stands between marker and footer, in order', () => {
    const lines = (reports([user('u', 'Hello'), agent('a', 'Hi')]) ?? '').split('\n\n')
    expect(lines).toHaveLength(5)
    expect(lines[0]).toBe(MARKER)
    expect(lines.slice(2, 4)).toEqual(['[USER]: Hello', '[ASSISTANT]: Hi'])
    expect(reports([user('u')], { marker: '>>', header: 'before', footer: 'after' })).toBe(
      '>>\n\nbefore\n\n[USER]: u\n\nafter',
    )
    expect(reports([user('u')], { header: ' ', footer: '' })).toBe(`${MARKER}\n\n[USER]: u`)
  })

  it('of an ACP call is its status, what went in and what came out', () => {
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

  it('of a finish call is what it says', () => {
    expect(blocks(finish, observe('o', finish, 'All done.'))).toBe('[AGENT]: All done.')
  })
})

describe('ordinary tool calls', () => {
  it('are told with their results, where they were made', () => {
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

  it('are told by how they ended', () => {
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

  it('that could never run are told by their arguments', () => {
    expect(blocks(action('a', { action: null, tool: 'none', args: '{"x"' }))).toBe(
      '[TOOL USE: none] (no result)\n  input: {"x"',
    )
    expect(blocks(action('a'))).toBe('[TOOL USE: ls] (no result)')
  })

  it('of one id each have their own result', () => {
    const [a, b] = [run('a', { call: 'c' }), run('b', { call: 'c' })]
    const shown = blocks(a, fail('x', a, 'first'), b, fail('y', b, 'second'), fail('z', b, 'third')) ?? ''
    expect([...shown.matchAll(/output: (\w+)/g)].map(([, word]) => word)).toEqual(['first', 'second'])
  })

  it('show images by their number, and no secret', () => {
    const call = run('a')
    expect(blocks(call, observe('o', call, [text('See'), image('x')]))).toContain(
      'output:\n    See\n    [Image: 1 URL]',
    )
    const secret = run('s', { action: { kind: 'X', item: { encrypted_content: 'gAAA' } } })
    const shown = blocks(secret, observe('o', secret, '{"encrypted_content":"gBBB"}')) ?? ''
    expect(shown).not.toMatch(/gAAA|gBBB/)
  })

  it('are told though they were forgotten, and whatever branch they were not made on is not', () => {
    const log = [user('u'), ...pair('1'), user('v'), condensation('c', ['u', 'a1'])]
    expect(blocks(...log)).toBe('[USER]: u\n\n[TOOL USE: ls] (completed)\n  output: o1\n\n[USER]: v')
    expect(blocks(...log, moveHead('h', 'u'))).toBe('[USER]: u')
  })
})

describe('who is heard', () => {
  it('is the user, the agent, or the environment', () => {
    const nudge = user('n', 'Go on.', { source: 'environment' })
    expect(blocks(user('u'), agent('a'), nudge)).toBe('[USER]: u\n\n[ASSISTANT]: a\n\n[ENVIRONMENT]: Go on.')
  })

  it('V7 with what was added to a message', () => {
    expect(blocks(user('u', [text('a'), image('x'), text('b')], { extended_content: [text('c')] }))).toBe(
      '[USER]: a\nb\nc',
    )
  })
})

describe('V5 a call that is told several times', () => {
  const states = ['pending', 'in_progress', 'completed'].map((status) =>
    acp(status, { status, raw_output: status }),
  )

  it('is one block, from the last', () => {
    expect(blocks(...states)).toBe('[TOOL USE: Read file] (completed)\n  output: completed')
  })

  it('is two where a message stands between', () => {
    expect(blocks(states[0] as Event, agent('m'), states[2] as Event)).toBe(
      '[TOOL USE: Read file] (pending)\n  output: pending\n\n[ASSISTANT]: m\n\n[TOOL USE: Read file] (completed)\n  output: completed',
    )
  })

  it('is told by the last that says anything', () => {
    expect(blocks(...states, acp('x', { status: 'completed' }))).toContain('output: completed')
  })
})

describe('V6 limits', () => {
  const log = Array.from({ length: 40 }, (_, index) =>
    user(`u${index}`, `message ${index} ${'x'.repeat(index)}`),
  )

  it.each([24, 25, 26, 30, 50, 100, 200, 300, 500, 1000])('a transcript of %i units', (maxLength) => {
    const text = reports(log, { maxLength }) ?? ''
    expect(text.length).toBeLessThanOrEqual(maxLength)
    expect(text.startsWith(MARKER)).toBe(true)
    if (maxLength > 30) expect(text).toContain('x'.repeat(3))
  })

  it('below the marker there is none, at it there is the marker alone', () => {
    expect(reports(log, { maxLength: 23 })).toBe(null)
    expect(reports(log, { maxLength: 24 })).toBe(MARKER)
    expect(reports(log, { maxLength: 25 })).toBe(MARKER)
    expect(reports(log, { maxLength: 26 })).toBe(`${MARKER}\nx`)
    expect(reports(log, { marker: 'm', maxLength: 0 })).toBe(null)
  })

  it('without room for five units of the blocks, header and footer give way', () => {
    const options = { header: 'head', footer: 'foot' }
    const frame = `${MARKER}\n\nhead\n\n\n\nfoot`.length
    expect(reports(log, { ...options, maxLength: frame + 4 })).toBe(
      `${MARKER}\n${'x'.repeat(frame + 4 - 25)}`,
    )
    expect(reports(log, { ...options, maxLength: frame + 5 })).toBe(`${MARKER}\n\nhead\n\n...\nx\n\nfoot`)
  })

  it('keeps the newest, and says where the oldest was cut', () => {
    const text = reports(log, { ...BARE, maxLength: 200 }) ?? ''
    expect(text).toHaveLength(200)
    expect(text.slice(MARKER.length + 2)).toMatch(/^\.\.\.\n/)
    expect(text.endsWith(`message 39 ${'x'.repeat(39)}`)).toBe(true)
    const whole = reports(log, BARE) ?? ''
    expect(reports(log, { ...BARE, maxLength: whole.length })).toBe(whole)
    expect(reports(log, { ...BARE, maxLength: whole.length - 1 })).toContain('\n\n...\n')
  })

  it.each([0, 1, 2, 3, 4, 50])('a message of at most %i units', (maxMessage) => {
    const text = reports([agent('a', 'y'.repeat(100))], { ...BARE, maxMessage })
    if (maxMessage === 0) expect(text).toBe(null)
    else expect(text?.slice(`${MARKER}\n\n[ASSISTANT]: `.length)).toHaveLength(maxMessage)
  })

  it.each([
    [7_999, 7_999],
    [8_000, 8_000],
    [8_001, 8_000],
  ])('a message of %i units is told in %i', (input, expected) => {
    expect(blocks(user('u', 'y'.repeat(input)))).toHaveLength(expected + '[USER]: '.length)
  })

  it.each([0, 1, 2, 3, 4, 50])('a tool call of at most %i units', (maxTool) => {
    const [call, result] = pair('1')
    const text = reports([call, result, acp('x', { raw_output: 'y'.repeat(99) })], { ...BARE, maxTool })
    if (maxTool === 0) expect(text).toBe(null)
    else
      for (const block of text?.split('\n\n').slice(1) ?? [])
        expect(block.length).toBeLessThanOrEqual(maxTool)
  })

  it('a tool call has 2,000 units, and 60,000 are told in all', () => {
    const call = action('a', { tool: 't' })
    const output = (length: number) => blocks(call, observe('o', call, 'y'.repeat(length)))?.length
    const frame = '[TOOL USE: t] (completed)\n  output: '.length
    expect([1_999, 2_000, 2_001].map((length) => output(length - frame))).toEqual([1_999, 2_000, 2_000])
    const long = Array.from({ length: 10 }, (_, index) => user(`u${index}`, 'y'.repeat(7_000)))
    expect(reports(long)).toHaveLength(60_000)
  })

  it.each(['maxLength', 'maxMessage', 'maxTool'])('%s is a whole number from 0', (name) => {
    for (const value of [-1, 1.5, Number.NaN, '7']) {
      expect(() => reports([user('u')], { [name]: value })).toThrow(
        expect.objectContaining({ code: 'invalid_argument', data: { field: name } }),
      )
    }
    expect(reports([user('u')], { ...BARE, [name]: Infinity })).toBe(`${MARKER}\n\n[USER]: u`)
  })
})

describe('V7 the content of an ACP call', () => {
  it('is a patch where there was a text before, else a write', () => {
    const expected = '[TOOL USE: Read file] (completed)\n  content:\n    [diff patch] a.ts\n    new'
    expect(withContent({ type: 'diff', path: 'a.ts', old_text: 'old', new_text: 'new' })).toBe(expected)
    expect(withContent({ type: 'diff', path: 'a.ts', oldText: '', newText: 'new' })).toBe(expected)
    expect(withContent({ type: 'diff', path: 'a.ts', oldText: null, newText: 'new' })).toContain(
      '[diff write] a.ts',
    )
    expect(withContent({ type: 'diff', path: 'a.ts', new_text: 'new' })).toContain('[diff write] a.ts')
  })

  it('is a text, bare or wrapped', () => {
    for (const block of [
      { type: 'text', text: 'words' },
      { type: 'content', content: { type: 'text', text: 'words' } },
    ]) {
      expect(withContent(block)).toBe('[TOOL USE: Read file] (completed)\n  content: words')
    }
  })

  it('is named where it cannot be told', () => {
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
  ])('of %j is none', (block) => {
    expect(withContent(block)).toBe(null)
  })

  it.each<JsonValue>([0, false, ''])('an output of %j is an output', (raw_output) => {
    expect(blocks(acp('x', { raw_output }))).toContain('\n  output: ')
  })
})

describe('of any log', () => {
  const lengths = fc.oneof(fc.nat(40), fc.nat(400), fc.constant(60_000))
  const limits = fc.record({ maxLength: lengths, maxMessage: lengths, maxTool: lengths })

  it('it is no longer than it may be, begins with the marker, and is the same twice', () => {
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

  it('no character is cut in two, wherever it is cut', () => {
    const face = '\u{1f600}'
    const call = action('a', { tool: face.repeat(9), action: { kind: 'X', what: face.repeat(30) } })
    const log = [user('u', face.repeat(30)), call, observe('o', call, `${face.repeat(30)}\n${face}`)]
    const property = fc.property(limits, (options) => {
      expect(reports(log, options)?.isWellFormed() ?? true).toBe(true)
      expect(reports(log, { ...options, ...BARE })?.isWellFormed() ?? true).toBe(true)
    })
    fc.assert(property, { numRuns: 200 })
  })
})

describe('a state that let go of bodies', () => {
  it('tells what it told before', () => {
    const log = [user('u'), ...pair('1'), pause('p'), agent('m'), action('open')]
    expect(resumeTranscript(evict(replay(log)))).toBe(reports(log))
  })

  it('is refused where something is missing that there is room for', () => {
    const log = [user('old'), user('new', 'n'.repeat(100)), condensation('c', ['old'])]
    const state = evict(replay(log))
    expect(() => resumeTranscript(state)).toThrow(expect.objectContaining({ code: 'evicted' }))
    // Events that do not fit are not read.
    expect(resumeTranscript(state, { ...BARE, maxLength: 100 })).toBe(
      reports(log, { ...BARE, maxLength: 100 }),
    )
  })
})
