/** Issues in FastAPI's format: plain text, stable types, and never a secret. */

import { describe, expect, it } from 'vitest'
import { decodeEvent } from '../../src/event/decode.ts'
import { type Issue, toIssues } from '../../src/event/issues.ts'
import { messageBody, secrets, tags } from '../../src/service/request-schema.ts'
import { sampleOf } from './samples.ts'

function issuesOf(
  kind: 'ActionEvent' | 'HookExecutionEvent' | 'Condensation' | 'MessageEvent',
  fields: object,
): readonly Issue[] {
  const decoded = decodeEvent({ ...sampleOf(kind).minimal, ...fields })
  return decoded.ok ? decoded.warnings : decoded.issues
}

const REASONING_LOC = ['responses_reasoning_item', 'encrypted_content']

describe('issues', () => {
  it.each<[Parameters<typeof issuesOf>, Issue]>([
    [
      ['HookExecutionEvent', { exit_code: undefined }],
      { loc: ['exit_code'], msg: 'Required and missing. Add an integer.', type: 'missing' },
    ],
    [
      ['HookExecutionEvent', { exit_code: '1' }],
      { loc: ['exit_code'], msg: 'Must be an integer, not a string.', type: 'int_type', input: '1' },
    ],
    [
      ['HookExecutionEvent', { hook_event_type: 'Start' }],
      {
        loc: ['hook_event_type'],
        msg: 'Must be one of "PreToolUse", "PostToolUse", "UserPromptSubmit", "SessionStart", "SessionEnd", "Stop".',
        type: 'enum',
        input: 'Start',
      },
    ],
    [
      ['HookExecutionEvent', { source: 'agent' }],
      { loc: ['source'], msg: 'Must be "hook".', type: 'literal_error', input: 'agent' },
    ],
    [
      ['HookExecutionEvent', { hook_input: [1] }],
      { loc: ['hook_input'], msg: 'Must be an object, not a list.', type: 'dict_type', input: [1] },
    ],
    [
      ['Condensation', { summary_offset: -1 }],
      { loc: ['summary_offset'], msg: 'Must be at least 0.', type: 'greater_than_equal', input: -1 },
    ],
    [
      ['Condensation', { forgotten_event_ids: ['a', 'a'] }],
      {
        loc: ['forgotten_event_ids'],
        msg: 'Must list each id once.',
        type: 'not_unique',
        input: ['a', 'a'],
      },
    ],
    [
      ['Condensation', { id: '' }],
      {
        loc: ['id'],
        msg: 'Must be 1 to 200 characters of well-formed Unicode, without control characters, and not "__root__".',
        type: 'string_pattern_mismatch',
        input: '',
      },
    ],
    [
      ['Condensation', { extra: 1 }],
      {
        loc: ['extra'],
        msg: 'Unknown field. Remove it, or check its spelling.',
        type: 'extra_forbidden',
        input: 1,
      },
    ],
    [
      ['ActionEvent', { action: { kind: 'VisionInspectAction', image_index: 0, question: '' } }],
      {
        loc: ['action', 'question'],
        msg: 'Must have at least 1 character(s).',
        type: 'string_too_short',
        input: '',
      },
    ],
  ])('describe the error in %j', (input, issue) => {
    expect(issuesOf(...input)).toEqual([issue])
  })

  it('report all errors at once', () => {
    const issues = issuesOf('ActionEvent', {
      thought: 'a',
      tool_name: 5,
      one: 1,
      two: 2,
    })
    const warnings = issuesOf('ActionEvent', { action: { kind: 'TerminalAction', reset: 'no' } })
    expect([...issues, ...warnings].map(({ loc, type }) => [loc.join('.'), type])).toEqual([
      ['thought', 'list_type'],
      ['tool_name', 'string_type'],
      ['one', 'extra_forbidden'],
      ['two', 'extra_forbidden'],
      ['action.command', 'missing'],
      ['action.reset', 'bool_type'],
    ])
  })

  it('contain an unknown kind of event, and the known ones', () => {
    const decoded = decodeEvent({ kind: 'Nonsense' })
    expect(decoded.ok || decoded.issues).toEqual([
      {
        loc: ['kind'],
        type: 'union_tag_invalid',
        msg: expect.stringContaining('TokenEvent') as string,
        input: 'Nonsense',
      },
    ])
  })
})

describe('a secret in an invalid event (law X)', () => {
  const SECRET = 'gAAA-secret'

  it.each<[string, object, readonly (string | number)[]]>([
    ['as the wrong type', { responses_reasoning_item: { encrypted_content: [SECRET] } }, REASONING_LOC],
    [
      'inside a value of the wrong type',
      { responses_reasoning_item: { encrypted_content: { deep: SECRET } } },
      REASONING_LOC,
    ],
    [
      'inside a list instead of an object',
      { responses_reasoning_item: [{ encrypted_content: SECRET }] },
      ['responses_reasoning_item'],
    ],
    ['deep in an unknown field', { zebra: { a: [{ encrypted_content: SECRET }] } }, ['zebra']],
    ['as an unknown field', { encrypted_content: SECRET }, ['encrypted_content']],
    ['in JSON text', { thought: JSON.stringify({ encrypted_content: SECRET }) }, ['thought']],
    ['in a text that is not JSON', { thought: `encrypted_content=${SECRET}` }, ['thought']],
    [
      'in a published action',
      { action: { kind: 'TerminalAction', command: { encrypted_content: SECRET } } },
      ['action', 'command'],
    ],
    ['in a kind that is an object', { kind: { encrypted_content: SECRET } }, ['kind']],
  ])('is not in the issues: %s', (_, fields, loc) => {
    const issues = issuesOf('ActionEvent', fields)
    expect(issues.map((issue) => issue.loc)).toContainEqual(loc)
    expect(JSON.stringify(issues)).not.toContain(SECRET)
  })

  it('is not in the issues if the value is not an object', () => {
    const decoded = decodeEvent([{ encrypted_content: SECRET }])
    expect(decoded.ok).toBe(false)
    expect(JSON.stringify(decoded)).not.toContain(SECRET)
  })
})

describe('issues of a union', () => {
  it.each([
    [secrets, { A: { kind: 'StaticSecret' } }, 'A.value: Required and missing. Add a string.'],
    [secrets, { A: { kind: 'StaticSecret', value: 5 } }, 'A.value: Must be a string, not a number.'],
    [secrets, { A: { kind: 'LookupSecret' } }, 'A.url: Required and missing. Add a string.'],
    [secrets, { A: { kind: 'Other', value: 'x' } }, 'A.kind: Must be "StaticSecret".'],
    [secrets, { A: { value: 'x' } }, 'A.kind: Required and missing. Add "StaticSecret".'],
    [secrets, { A: 5 }, 'A: Must be a string, not a number.'],
    [secrets, { A: null }, 'A: Must be a string, not null.'],
    [secrets, { A: ['x'] }, 'A: Must be a string, not a list.'],
    [
      tags,
      { 'Bad Key': 'x' },
      'Bad Key: Must be letters, digits and underscores, with no underscore at the start.',
    ],
    [tags, { _a: 'x' }, '_a: Must be letters, digits and underscores, with no underscore at the start.'],
    [tags, { a: 5 }, 'a: Must be a string, not a number.'],
  ])('name the closest alternative (row %#)', (schema, value, expected) => {
    const problems = schema.safeParse(value).error?.issues ?? []
    const shown = toIssues(problems, value as never).map(({ loc, msg }) => `${loc.join('.')}: ${msg}`)
    expect(shown).toEqual([expected])
  })
})

it('a length that is too long or too short has a unit', () => {
  const long = messageBody.read({ content: [], key: 'k'.repeat(201) })
  expect('errors' in long && long.errors.map(({ msg, type }) => [msg, type])).toEqual([
    ['Must have at least 1 item(s).', 'too_short'],
    ['Must have at most 200 character(s).', 'string_too_long'],
  ])
})
