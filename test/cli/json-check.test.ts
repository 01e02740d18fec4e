import { describe, expect, it } from 'vitest'
import { resultEvent, runJson, callEvent, colloquy, folder, lines, messageEvent } from './run-command.ts'

const PAUSE = { id: 'p', kind: 'PauseEvent' }

describe('check', () => {
  it('counts events and prints issues with line, kind, loc, msg and type only', async () => {
    const pathOf = folder({
      'a.jsonl': `${lines(PAUSE, { id: 'x', kind: 'Odd' })}\n${lines({ id: 'y', kind: 'PauseEvent', source: 1 })}`,
    })
    const { code, all, err } = await runJson(['check', pathOf('a.jsonl')])
    expect({ code, err }).toEqual({ code: 1, err: '' })
    const [answer] = all
    expect(Object.keys(answer)).toEqual(['file', 'events', 'valid', 'issues', 'warnings'])
    expect(answer).toMatchObject({ file: pathOf('a.jsonl'), events: 3, valid: 1 })
    for (const issue of answer.issues)
      expect(Object.keys(issue)).toEqual(['line', 'kind', 'loc', 'msg', 'type'])
    expect(answer.issues[0]).toMatchObject({ line: 2, kind: 'Odd', loc: ['kind'], type: 'union_tag_invalid' })
    // The blank line counts.
    expect(answer.issues[1]).toMatchObject({
      line: 4,
      kind: 'PauseEvent',
      loc: ['source'],
      type: 'enum',
    })
  })

  it('exits with 0 when every event loads, even in an older shape or with a repeated id', async () => {
    const old = messageEvent('m', 'hi', { activated_microagents: ['a'] })
    const pathOf = folder({
      'a.jsonl': lines(old, PAUSE, PAUSE, {
        id: 'q',
        kind: 'PauseEvent',
        timestamp: 'noon',
        parent_id: 'nobody',
      }),
    })
    const { code, all } = await runJson(['check', pathOf('a.jsonl')])
    expect({ code, all }).toEqual({
      code: 0,
      all: [{ file: pathOf('a.jsonl'), events: 4, valid: 4, issues: [], warnings: [] }],
    })
  })
})

describe('check --laws', () => {
  const call = callEvent('a', 'ls')
  const wrong: readonly (readonly [string, readonly object[] | string, string, number])[] = [
    ['a second result', [call, resultEvent('o', 'a', 'x'), resultEvent('o2', 'a', 'y')], 'P4', 3],
    ['a stray result', [resultEvent('o', 'a', 'x')], 'P4', 1],
    [
      'a second result outside the branch of HEAD',
      [
        call,
        resultEvent('o', 'a', 'x'),
        resultEvent('o2', 'a', 'y'),
        messageEvent('m', 'x', { parent_id: '__root__' }),
      ],
      'P4',
      3,
    ],
    ['a repeated id', [PAUSE, PAUSE], 'T6', 2],
    ['an unknown parent', [{ ...PAUSE, parent_id: 'nobody' }], 'T6', 1],
    ['a line that does not load', [{ id: 'x', kind: 'Odd' }], 'E2', 1],
    [
      'an action that differs from its tool call',
      [callEvent('a', 'ls', { action: { kind: 'TerminalAction' } })],
      'E7',
      1,
    ],
    ['a duplicate key', '{"id":"p","id":"q","kind":"PauseEvent"}', 'E8', 1],
    [
      'a number that loses digits',
      '{"kind":"ConversationStateUpdateEvent","key":"k","value":1234567890123456789}',
      'E8',
      1,
    ],
  ]

  it.each(wrong)(
    'exits with 1 for %s and names the law, where check alone prints a note',
    async (_, log, law, line) => {
      const file = folder({ 'a.jsonl': typeof log === 'string' ? log : lines(...log) })('a.jsonl')
      const reports = await runJson<{ file: string; laws: readonly unknown[] }>(['check', '--laws', file])
      expect(reports.code).toBe(1)
      expect(reports.all[0].laws).toContainEqual({
        law,
        line,
        id: expect.any(String),
        message: expect.any(String),
      })
      const printed = await colloquy(['check', '--laws', file])
      expect(printed.code).toBe(1)
      expect(printed.out).toMatch(new RegExp(`^  ${law}  [^]*line ${line}  `, 'm'))
      const isIssue = law === 'E2'
      const plain = await colloquy(['check', file])
      expect(plain.code).toBe(isIssue ? 1 : 0)
      if (!isIssue) expect(plain.out).toContain(`note: line ${line}`)
    },
  )

  it('reports an unfinished call with --ended, and rejects its options without --laws', async () => {
    const file = folder({ 'a.jsonl': lines(call) })('a.jsonl')
    expect((await colloquy(['check', '--laws', file])).code).toBe(0)
    const { code, out } = await colloquy(['check', '--laws', '--ended', '--grammar', 'anthropic', file])
    expect(code).toBe(1)
    expect(out).toContain('1 violation of 1 law')
    for (const wrong of [
      ['--ended'],
      ['--format', 'junit'],
      ['--grammar', 'google'],
      ['--laws', '--grammar', 'x'],
    ])
      expect((await colloquy(['check', ...wrong, file])).code).toBe(2)
  })

  it('prints one JUnit document for all files', async () => {
    const evil = 'a"<&\u202e'
    const pathOf = folder({
      'a b.jsonl': lines(resultEvent(evil, 'x', 'x'), PAUSE, PAUSE),
      'good.jsonl': lines(PAUSE),
    })
    const report = (form: string) =>
      colloquy([
        'check',
        '--laws',
        '--format',
        form,
        pathOf('a b.jsonl'),
        pathOf('good.jsonl'),
        pathOf('none.jsonl'),
      ])
    const { code, out, err } = await report('junit')
    expect([code, err]).toEqual([1, expect.stringContaining('none.jsonl')])
    expect(out).toContain('tests="3" failures="2"')
    expect(out).toContain('a&#34;&#60;&#38;')
    // Elements are balanced, and the text between them contains no tag and no terminal control.
    expect(out.match(/<(?:testsuite|testcase|failure)[ >]/g)).toHaveLength(7)
    expect(out.replaceAll(/<\/?\??[a-z]+(?: [a-z]+="[^"<]*")*\??\/?>/g, '')).not.toMatch(/[<>\u202e]/)
  })

  it('exits with 0 for a valid log, even in an older shape', async () => {
    const old = messageEvent('m', 'hi', { activated_microagents: ['a'] })
    const file = folder({ 'a.jsonl': lines(old, call, resultEvent('o', 'a', 'x')) })('a.jsonl')
    const { code, all } = await runJson<{ file: string; laws: readonly unknown[] }>(['check', '--laws', file])
    expect([code, all.map(({ laws }) => laws)]).toEqual([0, [[]]])
    expect((await colloquy(['replay', '--laws', file])).code).toBe(2)
  })
})
