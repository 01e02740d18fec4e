/** `colloquy why` explains an event by id prefix or line, and a conversation by its findings. */

import { describe, expect, it } from 'vitest'
import { claudeCode } from '../../properties/sessions/agents.ts'
import { FIELD_BUGS } from '../explain/field-bugs.ts'
import { runJson, colloquy, folder, lines, SAMPLE } from './run-command.ts'

interface WhyAnswer {
  readonly file: string
  readonly event: { readonly id: string | null; readonly line: number; readonly kind: string | null }
  readonly in_view: boolean
  readonly why: { readonly code: string; readonly text: string; readonly event_ids: readonly string[] }
  readonly removed_by: string | null
  readonly paired_with: readonly string[]
}

/** A condensed call, and the condensation's line. */
const CALL = '01KJW1XNKCSFF51AY33W2HER1B'
const CONDENSATION = '01KJW218SXXXB9VTTB58SBZWPE'

const why = async (...argv: readonly string[]) => (await runJson<WhyAnswer>(['why', SAMPLE, ...argv])).all[0]

describe('why FILE EVENT_ID', () => {
  it('accepts an id prefix, and names the condensation that removed the event', async () => {
    expect(await why(CALL.slice(0, 9))).toMatchObject({
      event: { id: CALL, line: 12, kind: 'ActionEvent' },
      in_view: false,
      why: { code: 'condensed', event_ids: [CONDENSATION] },
      removed_by: CONDENSATION,
      paired_with: ['01KJW1YBBVRZ2NV3KNBRJX2PK0'],
    })
    const { out, code } = await colloquy(['why', SAMPLE, CALL])
    expect(code).toBe(0)
    expect(out).toContain(`✗ not in the view\n    U6   the condensation "${CONDENSATION}" lists it`)
    expect(out).toContain('U6: A Condensation removes the events it lists')
  })

  it('accepts a line, a summary, --leaf and --budget', async () => {
    expect(await why('35')).toMatchObject({ event: { line: 35 }, why: { code: 'quarantined' } })
    expect(await why(`${CONDENSATION}-summary`)).toMatchObject({ in_view: true })
    expect(await why(CALL, '--leaf', '01KJW1Z83C5E0P2PNK8E2R4CBP')).toMatchObject({ in_view: true })
    const { out } = await colloquy(['why', SAMPLE, `${CONDENSATION}-summary`, '--budget', '600'])
    expect(out).toContain('the budget of 600 tokens omits')
  })

  it('rejects an unknown id, an ambiguous prefix and a second event', async () => {
    expect(await colloquy(['why', SAMPLE, 'nope'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('No event'),
    })
    const many = await colloquy(['why', SAMPLE, '01KJW2'])
    expect(many).toMatchObject({ code: 1, err: expect.stringContaining('and 22 more. Type more of the id.') })
    expect(await colloquy(['why', SAMPLE, 'a', 'b'])).toMatchObject({ code: 2 })
  })
})

describe('replay --at and view --leaf', () => {
  const replay = ['replay', SAMPLE, '--at']
  const view = ['view', SAMPLE, '--leaf']

  it('accept an id prefix or a line, like why', async () => {
    for (const argv of [replay, view]) {
      const whole = await colloquy([...argv, CALL])
      expect(whole.code).toBe(0)
      for (const typed of [CALL.slice(0, 9), '12']) {
        expect(await colloquy([...argv, typed])).toEqual(whole)
        expect(await runJson([...argv, typed])).toEqual(await runJson([...argv, CALL]))
      }
    }
    const stored = folder({})
    await colloquy(['import', SAMPLE, '--db', stored('x.db')])
    const argv = ['view', '--db', stored('x.db'), '--conversation', 'sample', '--leaf']
    expect(await colloquy([...argv, CALL.slice(0, 9)])).toEqual(await colloquy([...argv, CALL]))
  })

  it('reject an ambiguous prefix, an unknown id and a line outside the tree', async () => {
    for (const [typed, says] of [
      ['01KJW2', 'and 22 more. Type more of the id.'],
      ['nope', 'No event "nope" in this conversation'],
      ['99', 'No event "99" in this conversation'],
    ] as const)
      for (const argv of [replay, view])
        expect(await colloquy([...argv, typed])).toMatchObject({
          code: 1,
          err: expect.stringContaining(says),
        })
    const file = folder({ 'a.jsonl': `${lines({ id: 'p', kind: 'PauseEvent' })}oops\n` })('a.jsonl')
    expect((await colloquy(['view', file, '--leaf', '2'])).err).toContain(
      'Line 2 is not an event in the conversation tree',
    )
  })
})

describe('why FILE', () => {
  it('lists the expected finding of each field bug first', async () => {
    const logs = Object.fromEntries(FIELD_BUGS.map(({ log }, index) => [`${index}.jsonl`, lines(...log)]))
    const pathOf = folder(logs)
    for (const [n, { kind, pattern, ids }] of FIELD_BUGS.entries()) {
      const { out } = await colloquy(['why', pathOf(`${n}.jsonl`), '--json'])
      const [first] = JSON.parse(out).findings
      expect(first).toMatchObject({ kind, event_ids: ids })
      expect(first.text).toMatch(pattern)
    }
  })

  it('reads a session of another agent', async () => {
    const call = { name: 'bash', input: { path: 'a' }, result: 'done', isError: false }
    const replies = [{ thinking: null, text: 'looking', calls: [call] }]
    const drift = [true, true, false, true, true, false, false, false]
    const session = claudeCode([{ back: 0, user: 'list the files', replies, compacted: null, drift }])
    const file = folder({ 'a.jsonl': lines(...(session as object[])) })('a.jsonl')
    const { out, code } = await colloquy(['why', file])
    expect(code).toBe(0)
    expect(out).toContain('nothing found')
  })
})
