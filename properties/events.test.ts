/** E1 to E8: single events and lines. */

import * as fc from 'fast-check'
import { describe, it } from 'vitest'
import { MAX_DEPTH } from '../src/event/freeze.ts'
import { loadLine } from '../src/event/load.ts'
import { type Fact, isQuarantined } from '../src/event/quarantine.ts'
import { anyEvent, hostileLog } from '../src/testing/index.ts'
import { anyText } from '../src/testing/text.ts'
import { jsonValue } from '../src/testing/json.ts'
import { hold } from '../src/testing/failure.ts'
import { checkBadLines, checkLine, checkRoundTrip, checkTotal } from './checks/events.ts'
import { always, alwaysOnLegal, COSTLY_RUNS } from './run.ts'
import { brokenSecretEvent, secretEvent } from './secret-events.ts'

const anything = () =>
  fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withNullPrototype: true,
    withObjectString: true,
    withSet: true,
    withSparseArray: true,
    withTypedArray: true,
  })

/** A field is added, removed or of another type. */
const nearlyEvent = () =>
  fc.tuple(anyEvent(), fc.nat(20), anything()).map(([event, index, value]): unknown => {
    const entries = Object.entries(event)
    return Object.fromEntries(
      entries.map(([key, old], n) => [key, n === index % (entries.length + 1) ? value : old]),
    )
  })

const line = () =>
  fc.oneof(
    anyText,
    jsonValue.map((value) => JSON.stringify(value)),
    anyEvent().map((event) => JSON.stringify(event)),
    fc.tuple(anyEvent(), fc.nat(200)).map(([event, length]) => JSON.stringify(event).slice(0, length)),
    anyEvent().map((event) => JSON.stringify({ ...event, kind: 'FutureEvent', id: undefined })),
  )

/** Lines around a field that an upcaster removes, so decoding never sees it. */
const TAKEN_OUT = [
  [
    '{"kind":"MessageEvent","source":"user","llm_message":{"role":"user","content":[{"text":"x","enable_truncation":',
    '}]}}',
  ],
  [
    '{"kind":"ActionEvent","thought":[],"tool_name":"t","tool_call_id":"c","llm_response_id":"r","tool_call":{"id":"c","type":"function","function":{"name":"t","arguments":"{}"},"index":',
    '}}',
  ],
  ['{"kind":"SystemPromptEvent","system_prompt":{"text":"x","enable_truncation":', '},"tools":[]}'],
] as const

/** Nested too deep for the stack, where only a full parse reaches. */
const deepLine = () =>
  fc
    .tuple(
      fc.constantFrom(...TAKEN_OUT),
      fc.constantFrom(['[', ']'] as const, ['{"a":', '}'] as const, ['{"a":-0,"a":[', ']}'] as const),
      fc.constantFrom(600, 9_000, 30_000),
      fc.constantFrom('1', '12345678901234567890', '1e-99999', '{"a":1,"a":2}'),
    )
    .map(([[before, after], [opens, closes], depth, value]) =>
      [before, opens.repeat(depth), value, closes.repeat(depth), after].join(''),
    )

const badLine = () =>
  fc.oneof(
    anyText.map((text) => `${text}{`),
    anyEvent().map((event) => JSON.stringify({ ...event, kind: 'FutureEvent', id: undefined })),
    anyEvent().map((event) => JSON.stringify({ ...event, id: 7, unknown_field: null })),
    fc.tuple(anyEvent(), fc.nat(200)).map(([event, length]) => {
      const text = JSON.stringify(event)
      return text.slice(0, Math.min(length, text.length - 1))
    }),
  )

function checkEach(facts: readonly Fact[]): void {
  for (const fact of facts) if (!isQuarantined(fact)) checkRoundTrip(fact)
}

describe('E, events', () => {
  it('E1, E4 and E5: encoding and decoding an event does not change it', () => {
    always(anyEvent(), checkRoundTrip)
    always(secretEvent(), checkRoundTrip)
  })

  it('E2: decoding never throws and never changes its input', () => {
    always(anything(), checkTotal)
    always(nearlyEvent(), checkTotal)
    always(brokenSecretEvent(), checkTotal)
  })

  it('E2: reading a line never throws, and quarantine keeps the line unchanged', () => {
    always(line(), checkLine)
    always(deepLine(), checkLine, 40)
  })

  it('E2 and E8: a field that an upcaster removes may be nested at any depth', () => {
    always(
      deepLine(),
      (text) => {
        const { fact, upcasts, warnings } = loadLine(text)
        hold('E2', !isQuarantined(fact) && upcasts.length === 1, `not loaded: ${JSON.stringify(fact)}`)
        for (const { loc } of warnings) hold('E8', loc.length <= MAX_DEPTH, `a path of ${loc.length} keys`)
      },
      40,
    )
  })

  it('E1, E4 and E5 hold for every event of a log, and E3 for bad lines between them', () => {
    const bad = fc.array(badLine(), { maxLength: 6 })
    const check = ([facts, lines]: readonly [readonly Fact[], readonly string[]]): void => {
      checkEach(facts)
      checkBadLines(facts, lines)
    }
    always(fc.tuple(hostileLog(), bad), check, COSTLY_RUNS)
    alwaysOnLegal(checkEach)
  })
})
