/** Explanations of misplaced events: off HEAD's branch, before their call, forgotten too early. */

import { describe, expect, it } from 'vitest'
import { explain } from '../../src/explain/explain.ts'
import { findings } from '../../src/explain/findings.ts'
import type { FindingKind } from '../../src/explain/finding.ts'
import { completionMessage } from '../../src/event/completion.ts'
import type { Event } from '../../src/event/types.ts'
import { asksOf, differenceAt } from '../../src/inspector/model/request.ts'
import { replayed } from '../inspector/replayed.ts'
import { switchTo } from '../../src/state/at.ts'
import { replay } from '../../src/state/reduce.ts'
import { action, agent, condensation, moveHead, observe, system, user, users } from '../build.ts'
import { documentOf } from '../inspector/document.ts'

const call = action('call', { call: 'c1' })
const later = action('later', { call: 'c9' })

const verdict = (log: readonly Event[], id: string): string => explain(replay(log), id).verdict.text
const notes = (log: readonly Event[], id: string): string[] =>
  explain(replay(log), id).notes.map(({ text }) => text)
const findingTexts = (log: readonly Event[], kind: FindingKind): string[] =>
  findings(log).flatMap((one) => (one.kind === kind ? [one.text] : []))

const movedOff = (...events: readonly Event[]) => [user('a'), ...events, moveHead('h', 'a')]

describe('a background call', () => {
  const working = {
    ...observe('works', call),
    observation: { kind: 'WorkingObservation', content: [{ type: 'text', text: 'Started.' }] },
  } as Event
  const done = completionMessage({ id: 'call', event: call }, [{ type: 'text', text: 'Files.' }], 'done')
  const again = { ...done, id: 'again' }
  const log = [user('m'), call, working, agent('meanwhile'), done, again]

  it('is described as working or as completed in the notes of its events', () => {
    const open = log.slice(0, 4)
    for (const id of ['call', 'works']) {
      expect(notes(open, id)).toContain('its call is still working: no message has completed it')
      expect(notes(log, id)).toContain('the message "call-completion" has completed its call')
    }
    expect(notes(log, 'call-completion')).toEqual([
      'it completes the call "call", still working after its reply',
    ])
    expect(explain(replay(log), 'again').notes).toMatchObject([{ code: 'repaired', rule: 'U11', law: 'P12' }])
    expect(notes([...log, condensation('sum', ['call-completion'])], 'call')).toEqual(
      notes([user('m'), call, observe('works', call)], 'call'),
    )
  })

  it('is a finding until it is completed', () => {
    expect(findingTexts(log.slice(0, 4), 'working_call')).toEqual([
      '1 call works after the reply: "ls" waits for its completion',
    ])
    expect(findingTexts(log, 'working_call')).toEqual([])
  })
})

describe('a result and its call', () => {
  it('a dropped result names the later call, or the earlier result', () => {
    expect(verdict([user('m'), observe('early', call), call], 'early')).toBe(
      'its call "call" is later in the log',
    )
    const log = [
      user('m'),
      call,
      observe('first', call),
      { ...observe('second', call), action_id: 'later' },
      later,
      observe('last', later),
    ]
    expect(explain(replay(log), 'second')).toMatchObject({
      verdict: { text: 'the call "call" already has the result "first"', ids: ['call', 'first'] },
      removedBy: 'first',
    })
  })

  it('are paired, in both directions, if the call was forgotten before its result', () => {
    const log = [user('m'), call, condensation('sum', ['call']), observe('late', call)]
    expect(explain(replay(log), 'late').pairedWith).toEqual(['call'])
    expect(explain(replay(log), 'call').pairedWith).toEqual(['late'])
    expect(notes(log, 'call')).toEqual(['its result is "late", which arrived after the call was forgotten'])
    const remaining = [...log, user('n', 'n', { parent_id: 'm' })]
    expect(explain(replay(remaining), 'late').pairedWith).toEqual(['call'])
    expect(explain(replay(remaining), 'call').pairedWith).toEqual(['late'])
  })
})

describe('the note of a condensation', () => {
  it('counts the removed events without the pending batch and the summary', () => {
    const log = [
      user('m'),
      agent('a'),
      user('n'),
      call,
      condensation('sum', ['m', 'a', 'call'], 'the user said m', 0),
    ]
    expect(notes(log, 'sum')[0]).toBe(
      'it removed 2 events from the view, and forgot 1 event of a batch that waited for a result',
    )
    expect(findingTexts([...log, agent('b'), user('end')], 'cache_broken')).toEqual([
      expect.stringContaining('the condensation "sum" removed 2 events from content that was already sent'),
    ])
  })
})

const reply = (id: string, metadata: object): Event =>
  ({
    ...agent(id),
    llm_message: { role: 'assistant', content: [{ type: 'text', text: 'x' }], reply: { metadata } },
  }) as Event
const withheld = (reason: string) => ({
  input_transformations: [{ type: 'reasoning', id: 'rs_1', action: 'removed', reason }],
})

describe('reports of the provider about a request', () => {
  it.each([
    [withheld('prefix_mismatch'), 'it withheld the reasoning "rs_1" from the model (prefix_mismatch)', 1],
    [withheld('model_mismatch'), 'it withheld the reasoning "rs_1" from the model (model_mismatch)', 0],
    [
      { diagnostics: { cache_miss_reason: { type: 'messages_changed' } } },
      'it missed its cache (messages_changed)',
      1,
    ],
    [
      { prompt_cache_diagnostics: { type: 'cache_miss', reason: 'tools_changed' } },
      'it missed its cache (tools_changed)',
      0,
    ],
    [{ stop_details: { type: 'refusal', category: 'cyber', explanation: 'No.' } }, 'it refused (cyber)', 0],
  ])('are a note on the reply, and a finding if the prefix changed: %j', (metadata, text, count) => {
    const log = [user('m'), reply('a', metadata)]
    expect(notes(log, 'a')).toEqual([`the provider reported about its request: ${text}`])
    expect(findingTexts(log, 'signed_behind_change')).toEqual(
      count === 0 ? [] : [`the provider of this reply reports: ${text}`],
    )
    const document = replayed(documentOf(log))
    expect(differenceAt(document, asksOf(document), 1, 'openai-responses').reports).toEqual([text])
  })

  it('are not read from metadata of another shape', () => {
    for (const metadata of [
      { input_transformations: 'x' },
      { input_transformations: [null, 7] },
      { diagnostics: [], stop_details: 7 },
    ])
      expect(notes([user('m'), reply('a', metadata)], 'a')).toEqual([])
  })
})

describe('an event off the branch of HEAD', () => {
  it('has a verdict that names the position or the move of HEAD', () => {
    const state = replay(users('a', 'b', 'c'))
    expect(explain(switchTo(state, 'b'), 'c').verdict.text).toBe('HEAD is before it')
    expect(explain(switchTo(state, null), 'c').verdict.text).toBe('HEAD is before it')
    expect(verdict([...users('a', 'b', 'c'), moveHead('h', 'b')], 'c')).toBe(
      'HEAD was moved before it by "h"',
    )
    const newRoot = [user('a'), agent('b'), user('c', 'c', { parent_id: '__root__' })]
    expect(verdict(newRoot, 'b')).toBe('HEAD went to another branch with "c", which starts a new root')
    expect(findingTexts(newRoot, 'lost_branch')).toEqual([expect.stringMatching(/: "c" starts a new root$/)])
  })

  it('has removedBy only if a single move of HEAD hides it', () => {
    expect(explain(replay(movedOff(user('b'))), 'b').removedBy).toBe('h')
    expect(explain(replay(movedOff(observe('stray', call))), 'stray').removedBy).toBe(null)
    // A second move, or an event that names its parent, also moves HEAD away.
    expect(explain(replay([...movedOff(user('b')), moveHead('i', 'a')]), 'b').removedBy).toBe(null)
    const named = user('c', 'c', { parent_id: 'a' })
    expect(explain(replay([...movedOff(user('b')), named]), 'b').removedBy).toBe(null)
  })

  it('has the notes of its own branch', () => {
    const log = [
      user('m'),
      system('one'),
      user('u'),
      { ...system('two'), parent_id: 'm' },
      user('w'),
      moveHead('h', 'u'),
    ]
    expect(notes(log, 'two')).toEqual([])
  })

  it('an event that two condensations forget has no removedBy', () => {
    const log = [user('m'), user('n'), condensation('k', ['m']), condensation('l', ['m'])]
    expect(explain(replay(log), 'm').removedBy).toBe(null)
    expect(explain(replay(log.slice(0, 3)), 'm').removedBy).toBe('k')
  })
})

const completion = (id: string, action_id: string): Event => ({
  kind: 'MessageEvent',
  id,
  source: 'environment',
  llm_message: { role: 'user', content: [{ text: 'done' }], completes: { action_id } } as never,
})

const progress = (id: string, action_id: string): Event => ({
  kind: 'ConversationStateUpdateEvent',
  id,
  key: 'call_progress',
  value: { action_id },
})

it.each([NaN, -1, 0.5, 1, Infinity])('the position %d of a log with one event is unknown', (position) => {
  const state = replay([user('u')])
  expect(() => explain(state, position)).toThrow(expect.objectContaining({ code: 'unknown_event' }))
})

it('a finding and a note explain why a completion or a progress update is ignored', () => {
  const working = {
    kind: 'ObservationEvent',
    id: 'w',
    tool_name: 'work',
    tool_call_id: 'a',
    action_id: 'a',
    observation: { kind: 'WorkingObservation' },
  } as const
  const log = [
    action('a', { call: 'a' }),
    progress('early', 'a'),
    working,
    progress('good', 'a'),
    completion('first', 'a'),
    completion('second', 'a'),
    progress('late', 'a'),
    completion('unknown', 'none'),
    progress('wrong', 'w'),
  ]
  const idleFindings = findings(log).filter(({ kind }) => kind.startsWith('idle'))
  const [done, early] = [
    'the message "first" has completed the call "a"',
    'the call "a" has no working result there',
  ]
  expect(idleFindings.map(({ kind, ids, text }) => [kind, ids, text.split(': ')[1]])).toEqual([
    ['idle_completion', ['second', 'a', 'first'], done],
    ['idle_completion', ['unknown'], 'no event has the id "none"'],
    ['idle_progress', ['early', 'a'], early],
    ['idle_progress', ['late', 'a', 'first'], done],
    ['idle_progress', ['wrong', 'w'], '"w" is not a call'],
  ])
  const idle = (id: string) =>
    explain(replay(log), id).notes.flatMap(({ code, text }) => (code === 'idle' ? text : []))
  expect(['good', 'early', 'late'].map(idle)).toEqual([
    [],
    [`its progress is ignored: ${early}`],
    [`its progress is ignored: ${done}`],
  ])
  expect(explain(replay(log), 'second').notes[0]).toMatchObject({
    code: 'repaired',
    text: `it completes no call: ${done}`,
  })
})

describe('findings about the repairs of a grammar', () => {
  it.each([
    'openai-chat',
    'openai-responses',
    'anthropic',
    'google',
    'interactions',
    'bedrock',
    'ai-sdk',
  ] as const)('report for %s that a user message is added in front', (grammar) => {
    const texts = findings([agent('hello'), user('hi')], { grammars: [grammar] }).map(({ text }) => text)
    expect(texts).toContain(
      `in the request for ${grammar}, a user message is added in front, because the request would start with a reply`,
    )
  })
})
