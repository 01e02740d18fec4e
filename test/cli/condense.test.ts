import { describe, expect, it } from 'vitest'
import type { Condensation } from '../../src/event/index.ts'
import { loadLine, reduce, replay, viewEvents } from '../../src/index.ts'
import { readFileSync } from 'node:fs'
import {
  type Answer,
  resultEvent,
  runJson,
  callEvent,
  colloquy,
  folder,
  lines,
  SAMPLE,
  messageEvent,
} from './run-command.ts'

interface CondenseAnswer extends Answer {
  readonly condensation: (Condensation & { readonly id: string }) | null
  readonly reason: string
  readonly view_before: number
  readonly view: readonly string[]
}

const messages = (count: number): object[] =>
  Array.from({ length: count }, (_, index) => messageEvent(`m${index}`, `word ${index}`))

async function condense(events: readonly object[], ...argv: string[]): Promise<CondenseAnswer> {
  const file = folder({ 'log.jsonl': lines(...events) })('log.jsonl')
  const { code, err, all } = await runJson<CondenseAnswer>(['condense', file, ...argv])
  expect({ code, err }).toEqual({ code: 0, err: '' })
  return all[0]
}

describe('condense', () => {
  it('prints the event, the reason, and the view before and after', async () => {
    const { file, ...answer } = await condense(messages(9), '--max-events', '8', '--summary', 'so far')
    expect(file).toMatch(/log\.jsonl$/)
    const id = answer.condensation?.id ?? ''
    expect(answer).toEqual({
      condensation: {
        kind: 'Condensation',
        source: 'environment',
        forgotten_event_ids: ['m2', 'm3', 'm4', 'm5', 'm6', 'm7'],
        summary: 'so far',
        summary_offset: 2,
        llm_response_id: '',
        id,
      },
      reason: 'events',
      view_before: 9,
      view: ['m0', 'm1', `${id}-summary`, 'm8'],
    })
  })

  it.each([
    [8, 'not_needed'],
    [9, 'events'],
  ])('prints the reason for %i events and --max-events 8: %s', async (count, reason) => {
    const answer = await condense(messages(count), '--max-events', '8')
    expect(answer.reason).toBe(reason)
    expect(answer.condensation === null).toBe(reason === 'not_needed')
    expect(answer.view_before).toBe(count)
  })

  it.each([
    [4, 5],
    [5, 6],
    [6, 7],
    [7, 8],
  ])('shortens the view below --max-events %i for %i events', async (limit, count) => {
    const { view } = await condense(messages(count), '--max-events', String(limit))
    expect(view.length).toBeLessThan(limit)
    expect(view.at(-1)).toBe(`m${count - 1}`)
  })

  it('uses the default summary that its help page quotes', async () => {
    const { condensation } = await condense(messages(9), '--max-events', '8')
    expect((await colloquy(['help', 'condense'])).out).toContain(`“${condensation?.summary}”`)
  })

  it('handles a condensation request, and reports when there is nothing to forget', async () => {
    const request = { id: 'q', kind: 'CondensationRequest' }
    expect((await condense([...messages(7), request], '--max-events', '100')).reason).toBe('request')
    const refused = await condense([...messages(1), request], '--max-events', '100')
    expect(refused).toMatchObject({
      condensation: null,
      reason: 'nothing_to_forget',
      view_before: 1,
      view: ['m0'],
    })
  })

  it('prints an event that produces the printed view when it is appended', async () => {
    const { all } = await runJson<CondenseAnswer>(['condense', SAMPLE, '--max-events', '8'])
    const state = replay(
      readFileSync(SAMPLE, 'utf8')
        .trim()
        .split('\n')
        .map((line) => loadLine(line).fact),
    )
    const { condensation, view, view_before } = all[0]
    expect([...viewEvents(state)]).toHaveLength(view_before)
    const after = reduce(state, condensation as Condensation)
    expect([...viewEvents(after)].map(({ id }) => id)).toEqual(view)
  })

  it('condenses the branch of --leaf', async () => {
    const log = [...messages(9), messageEvent('other', 'a fork', { parent_id: 'm1' })]
    expect((await condense(log, '--max-events', '8')).view_before).toBe(3)
    expect((await condense(log, '--max-events', '8', '--leaf', 'm8')).view_before).toBe(9)
  })

  it('marks the rows that are kept, removed and added', async () => {
    const file = folder({ 'log.jsonl': lines(...messages(9)) })('log.jsonl')
    const { out, code } = await colloquy(['condense', file, '--max-events', '8', '--summary', 'so far'])
    expect(code).toBe(0)
    const rows = out.trimEnd().split('\n')
    expect(rows[0]).toContain('the view: 9 events before, 4 after, because it was too long')
    expect(rows.slice(1).map((row) => row[2])).toEqual([' ', ' ', '−', '−', '−', '−', '−', '−', '+', ' '])
    expect(rows[9]).toContain('so far')
    expect((await colloquy(['condense', file, '--max-events', '9'])).out).toContain(
      '9 events; no condensation is needed',
    )
  })

  it.each([
    [['condense', SAMPLE], 'condense needs --max-events N'],
    [['condense', '--max-events', '8'], 'condense needs a FILE'],
    [['condense', SAMPLE, '--max-events', '3'], '--max-events must be an integer, 4 or more'],
    [['condense', SAMPLE, '--max-events', '8.5'], '--max-events must be an integer'],
    [['condense', SAMPLE, '--max-events', 'x'], '--max-events must be an integer'],
    [['condense', SAMPLE, '--max-events', '8', '--summary', ' '], '--summary must not be blank'],
    [['view', SAMPLE, '--max-events', '8'], 'view has no option --max-events'],
    [['messages', SAMPLE, '--budget', '-1'], '--budget must be an integer, 0 or more'],
    [['messages', SAMPLE, '--budget', 'x'], '--budget must be an integer, 0 or more'],
    [['view', SAMPLE, '--budget', '1'], 'view has no option --budget'],
  ])('exits with 2 for %j', async (argv, message) => {
    const { code, out, err } = await colloquy(argv)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain(message)
  })
})

describe('messages --budget', () => {
  const log = [
    messageEvent('u', 'Go.'),
    callEvent('a', 'ls'),
    resultEvent('o', 'a', 'x'.repeat(4000)),
    callEvent('b', 'ls'),
    resultEvent('p', 'b', 'y'),
  ]
  const run = async (budget: number, ...argv: string[]) => {
    const file = folder({ 'log.jsonl': lines(...log) })('log.jsonl')
    return colloquy(['messages', file, '--budget', String(budget), ...argv])
  }
  // Tokens of the user message and its frame.
  const MINIMUM = 6

  it('omits the oldest call when over the budget, in three formats', async () => {
    for (const format of ['neutral', 'openai-chat', 'anthropic']) {
      const { code, out } = await run(500, '--format', format, '--json')
      expect(code).toBe(0)
      expect(out).toContain('call-b')
      expect(out).not.toContain('call-a')
      expect(out).toContain('Go.')
    }
    expect((await run(5000, '--json')).out).toContain('call-a')
  })

  it('exits with 1 and one line when even the minimum request is over the budget', async () => {
    expect((await run(MINIMUM)).code).toBe(0)
    const { code, out, err } = await run(MINIMUM - 1)
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toMatch(/^colloquy: [^\n]+: the minimum request has 6 tokens, and the budget is 5\n$/)
    const json = await run(MINIMUM - 1, '--json')
    expect(json.code).toBe(1)
    expect(JSON.parse(json.out).error).toMatchObject({ code: 'over_budget' })
  })
})
