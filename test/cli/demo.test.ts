/** The demo fits on a page and is accurate, and the sample conversation is as described. */

import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import { width } from '../../src/cli/print/text.ts'
import type { Loaded } from '../../src/event/index.ts'
import { isQuarantined, loadLine, replay } from '../../src/index.ts'
import { listDroppedResults } from '../../src/state/index.ts'
import { type Answer, runJson, colloquy, SAMPLE } from './run-command.ts'

describe('the demo', () => {
  let out = ''
  beforeAll(async () => {
    const outcome = await colloquy(['demo'])
    expect(outcome).toMatchObject({ code: 0, err: '' })
    out = outcome.out
  })

  it('has four sections and ends with suggestions', () => {
    const headings = out.split('\n').filter((line) => /^[A-Z]/.test(line))
    expect(headings.map((line) => line.split('  ')[0])).toEqual([
      'State',
      'Tree',
      'What the model sees',
      'What was repaired',
      'Try next',
    ])
  })

  it('has at most 80 lines, and at most 100 columns before the suggestions', () => {
    expect(out.split('\n').length).toBeLessThanOrEqual(80)
    const [page = ''] = out.split('Try next')
    for (const line of page.split('\n')) expect(width(line)).toBeLessThanOrEqual(100)
  })

  it('shows a confirmation, a branch, an error, a pause, a summary and repairs', () => {
    for (const text of [
      'waiting_for_confirmation',
      'git push',
      '◀ HEAD',
      '├─○',
      'rejected',
      'error',
      'pause',
      'summary',
      'duplicate result',
      'quarantined',
      'older shape',
    ]) {
      expect(out).toContain(text)
    }
  })

  it('suggests the command that starts the service', () => {
    expect(out.split('Try next\n')[1]).toMatch(/ serve +as a service$/m)
  })

  it('suggests commands that work', async () => {
    const commands =
      out.split('Try next\n')[1]?.match(/(?<=^ {2}npm run -s colloquy -- )\S.*?(?= {2})/gm) ?? []
    expect(commands.length).toBeGreaterThan(2)
    for (const command of commands.filter((text) => !/YOUR-LOG|^serve$/.test(text))) {
      expect((await colloquy(command.split(' '))).code).toBe(0)
    }
  })
})

describe('the sample conversation', () => {
  const loaded: Loaded[] = readFileSync(SAMPLE, 'utf8').trimEnd().split('\n').map(loadLine)
  const facts = loaded.map(({ fact }) => fact)

  it('has 35 to 50 events: one is quarantined and one is upcast', () => {
    expect(facts.length).toBeGreaterThanOrEqual(35)
    expect(facts.length).toBeLessThanOrEqual(50)
    expect(facts.filter(isQuarantined)).toHaveLength(1)
    expect(loaded.filter(({ upcasts }) => upcasts.length > 0)).toHaveLength(1)
  })

  it('has unique ids, and ids and times that ascend', () => {
    const ids = facts.map(({ id }) => id ?? '')
    expect(new Set(ids).size).toBe(ids.length)
    for (const id of ids) expect(id).toMatch(/^[0-9A-HJKMNP-TV-Z]{26}$/)
    const times = facts.flatMap((fact) => (isQuarantined(fact) ? [] : [fact.timestamp ?? '']))
    for (const time of times) expect(time).toMatch(/^2026-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
    expect(times.toSorted()).toEqual(times)
    expect(ids.toSorted()).toEqual(ids)
  })

  it('has 11 kinds of events, a pending confirmation and a duplicate result', () => {
    const kinds = new Set(facts.map((fact) => (isQuarantined(fact) ? fact.event_kind : fact.kind)))
    for (const kind of [
      'SystemPromptEvent',
      'MessageEvent',
      'ActionEvent',
      'ObservationEvent',
      'AgentErrorEvent',
      'UserRejectObservation',
      'HookExecutionEvent',
      'PauseEvent',
      'ConversationStateUpdateEvent',
      'CondensationRequest',
      'Condensation',
    ]) {
      expect(kinds).toContain(kind)
    }
    const state = replay(facts)
    expect(state.header.status).toBe('waiting_for_confirmation')
    expect(listDroppedResults(state)).toMatchObject([{ reason: 'duplicate_result' }])
  })

  it('has thinking in its messages for Anthropic', async () => {
    const { all } = await runJson<Answer & { readonly messages: object }>([
      'messages',
      SAMPLE,
      '--format',
      'anthropic',
    ])
    expect(JSON.stringify(all[0].messages)).toContain('"type":"thinking"')
  })
})
