import { describe, expect, it } from 'vitest'
import {
  resultEvent,
  runJson,
  callEvent,
  colloquy,
  folder,
  lines,
  SAMPLE,
  messageEvent,
} from './run-command.ts'

interface StuckAnswer {
  readonly file: string
  readonly stuck: boolean
  readonly pattern: string | null
  readonly event_ids: readonly string[]
  readonly reason: string | null
  readonly nudge: string | null
}

const user = messageEvent('u', 'List them.')
const listing = (times: number): object[] =>
  Array.from({ length: times }, (_, index) => [
    callEvent(`a${index}`, 'ls'),
    resultEvent(`o${index}`, `a${index}`, 'one file'),
  ]).flat()
const failing = (times: number, error = 'no shell'): object[] =>
  Array.from({ length: times }, (_, index) => [
    callEvent(`a${index}`, 'ls'),
    {
      id: `e${index}`,
      tool_name: 'terminal',
      tool_call_id: `call-a${index}`,
      error,
      kind: 'AgentErrorEvent',
    },
  ]).flat()

const fileOf = (...events: readonly object[]): string => folder({ 'a.jsonl': lines(...events) })('a.jsonl')

describe('stuck --json', () => {
  it('prints stuck: false for the sample', async () => {
    const { code, all, err } = await runJson<StuckAnswer>(['stuck', SAMPLE])
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(Object.keys(all[0])).toEqual(['file', 'stuck', 'pattern', 'event_ids', 'reason', 'nudge'])
    expect(all[0]).toEqual({
      file: SAMPLE,
      stuck: false,
      pattern: null,
      event_ids: [],
      reason: null,
      nudge: null,
    })
  })

  it('names the pattern and the events that prove it, and exits with 0', async () => {
    const [loop, fine] = [fileOf(user, ...listing(5)), fileOf(user, ...listing(3))]
    const { code, all } = await runJson<StuckAnswer>(['stuck', loop, fine])
    expect(code).toBe(0)
    expect(all).toEqual([
      {
        file: loop,
        stuck: true,
        pattern: 'action_observation',
        event_ids: ['a1', 'o1', 'a2', 'o2', 'a3', 'o3', 'a4', 'o4'],
        reason: 'The same call of "terminal" had the same result 4 times in a row.',
        nudge: null,
      },
      expect.objectContaining({ file: fine, stuck: false }),
    ])
  })

  it('prints the nudge for a repeated error', async () => {
    const [answer] = (await runJson<StuckAnswer>(['stuck', fileOf(user, ...failing(3))])).all
    expect(answer).toMatchObject({ stuck: false, pattern: null, nudge: expect.stringContaining('no shell') })
  })

  it('checks another branch with --leaf', async () => {
    const file = fileOf(user, ...listing(4), messageEvent('v', 'Stop.'))
    const requests = async (...more: string[]) =>
      (await runJson<StuckAnswer>(['stuck', file, ...more])).all[0].stuck
    expect([await requests(), await requests('--leaf', 'o3')]).toEqual([false, true])
  })

  it('reports a missing file, and rejects --at', async () => {
    const { code, all } = await runJson<StuckAnswer & { error: { code: string } }>([
      'stuck',
      fileOf(user),
      'nowhere.jsonl',
    ])
    expect(code).toBe(1)
    expect(all[1]?.error.code).toBe('not_found')
    expect((await colloquy(['stuck', SAMPLE, '--at', 'x'])).code).toBe(2)
  })
})

describe('stuck as text', () => {
  it('lists the events of the loop', async () => {
    const file = fileOf(user, ...listing(4))
    const { code, out } = await colloquy(['stuck', file], { columns: 160 })
    expect(code).toBe(0)
    const [title, reason, ...rows] = out.trimEnd().split('\n')
    expect(title).toBe(`${file}  stuck: action_observation`)
    expect(reason).toBe('  The same call of "terminal" had the same result 4 times in a row.')
    expect(rows).toHaveLength(8)
    expect(rows[0]).toMatch(/^ {2}call +terminal {2}ls +a0$/)
    expect(rows[7]).toMatch(/^ {2}result +terminal {2}one file +o3$/)
  })

  it('prints the message for the model within the width of the page', async () => {
    const { out } = await colloquy(['stuck', fileOf(user, ...failing(3, 'e\u001b[2J'.repeat(90)))], {
      columns: 72,
    })
    expect(out).toContain('not stuck\n  Message for the model:\n    [Repeated error]')
    expect(out).not.toContain('\u001b')
    for (const line of out.split('\n').slice(1)) expect(line.length).toBeLessThanOrEqual(72)
  })

  it('prints no encrypted content that an error quotes', async () => {
    const error = '{"encrypted_content":"gAAAAAsecret"}'
    for (const times of [3, 4]) {
      const file = fileOf(user, ...failing(times, error))
      for (const flags of [[], ['--json']]) {
        expect((await colloquy(['stuck', file, ...flags])).out).not.toContain('gAAAAAsecret')
      }
    }
  })
})
