/** Every line of the recorded third-party logs loads, and its oddities are reported. */

import { describe, expect, it } from 'vitest'
import { decodeLine } from '../../src/event/decode.ts'
import { encodeEvent } from '../../src/event/encode.ts'
import { loadLine, loadValue } from '../../src/event/load.ts'
import { isQuarantined } from '../../src/event/quarantine.ts'
import { isInstant } from '../../src/event/time.ts'
import type { Event } from '../../src/event/types.ts'
import { linesOf, recordedLogs } from '../recorded.ts'

const logs = recordedLogs()
const whole = logs.filter(({ file }) => file !== 'snippets.jsonl')
const snippets = logs.find(({ file }) => file === 'snippets.jsonl')

/** Oddities of each family; other families match today's format. */
const ODD: Readonly<Record<string, readonly string[]>> = {
  cli: ['surplus.enable_truncation'],
  oas: ['early.tool_kinds', 'results.output_and_error', 'results.text_content'],
  swebench: [
    'completion.tool_calls',
    'completion.tools',
    'early.activated_microagents',
    'early.condensation_llm_response_id',
    'early.tool_kinds',
    'results.output_and_error',
    'results.text_content',
  ],
  tab: [
    'completion.tool_calls',
    'completion.tools',
    'tab.action_kind',
    'tab.agent_status',
    'tab.iteration',
    'tab.observation_kind',
  ],
}

if (logs.length === 0) console.warn('No recorded logs next to the repository: nothing to load.')

describe(`recorded logs (${logs.length === 0 ? 'none available, nothing is checked' : `${logs.length} files`})`, () => {
  it('include the snippets if they are available', () => {
    expect(logs.length === 0 || snippets !== undefined).toBe(true)
  })

  it.each(whole)('load every line of $file, as text and as a value', (log) => {
    const odd = new Set<string>()
    for (const line of linesOf(log)) {
      const { fact, upcasts, warnings } = loadLine(line)
      expect(isQuarantined(fact) ? fact.issues : []).toEqual([])
      for (const name of upcasts) odd.add(name)
      expect(loadValue(JSON.parse(line))).toEqual({ fact, upcasts, warnings })
      const event = fact as Event
      expect(decodeLine(encodeEvent(event))).toEqual({ ok: true, event, warnings })
      expect(isInstant(event.timestamp ?? '')).toBe(true)
      if (upcasts.length === 0) expect(JSON.parse(encodeEvent(event))).toEqual(JSON.parse(line))
    }
    const family = ODD[log.file.split('-')[0] ?? ''] ?? []
    expect([...odd].filter((name) => !family.includes(name))).toEqual([])
  })

  it.each(whole.length === 0 ? [] : Object.entries(ODD))(
    'contain each oddity of the family %s',
    (family, names) => {
      const lines = whole.filter(({ file }) => file.startsWith(family)).flatMap(linesOf)
      expect([...new Set(lines.flatMap((line) => loadLine(line).upcasts))].toSorted()).toEqual(
        [...names].toSorted(),
      )
    },
  )

  it.each(whole.length === 0 ? [] : [1])('keep every text of a result', () => {
    let texts = 0
    for (const line of whole.flatMap(linesOf)) {
      const { observation } = JSON.parse(line) as { observation?: Readonly<Record<string, unknown>> }
      if (observation === undefined) continue
      const loaded = JSON.stringify(loadLine(line).fact)
      for (const key of ['output', 'error', 'message', 'stdout', 'stderr', 'content']) {
        const text = observation[key]
        if (typeof text !== 'string') continue
        texts += 1
        expect(loaded).toContain(JSON.stringify(text).slice(1, -1))
      }
    }
    expect(texts).toBeGreaterThan(300)
  })

  it.each(snippets === undefined ? [] : [snippets])(
    'load the valid lines of $file, and quarantine the others with their issues',
    (log) => {
      const stored = linesOf(log).flatMap((line, index) => {
        const { fact } = loadLine(line)
        return isQuarantined(fact)
          ? [
              [
                index,
                fact.event_kind,
                ...fact.issues.map(({ loc, type }) => `${loc.join('.')} ${type}`),
              ].join(', '),
            ]
          : []
      })
      expect(stored).toEqual([
        '7, HookExecutionEvent, hook_command missing, exit_code missing',
        '8, HookExecutionEvent, hook_event_type missing, hook_command missing, success missing, exit_code missing',
        '9, UserRejectObservation, action_id missing, privacy_check_result extra_forbidden',
        '10, UserRejectObservation, tool_name missing, tool_call_id missing, action_id missing',
        '11, UserRejectObservation, action_id missing',
        '16, StreamingDeltaEvent, content string_type',
        '17, TokenEvent, source missing',
        '19, ServerErrorEvent, source missing, detail missing, message extra_forbidden',
      ])
    },
  )
})
