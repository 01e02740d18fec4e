/** E: single events, lines, and what a bad one costs. */

import * as fc from 'fast-check'
import { describe, it } from 'vitest'
import { type Fact, isQuarantined } from '../src/event/quarantine.ts'
import { anyEvent, anyText, hostileLog, jsonValue } from '../src/testing/index.ts'
import { checkBadLines, checkLine, checkRoundTrip, checkTotal } from './checks/events.ts'
import { always, alwaysOnLegal } from './run.ts'
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

/** An event with one field more, one less, or one of another type: mostly no event any more. */
const nearlyEvent = () =>
  fc.tuple(anyEvent(), fc.nat(20), anything()).map(([event, at, value]): unknown => {
    const entries = Object.entries(event)
    return Object.fromEntries(
      entries.map(([key, old], n) => [key, n === at % (entries.length + 1) ? value : old]),
    )
  })

const line = () =>
  fc.oneof(
    anyText(),
    jsonValue().map((value) => JSON.stringify(value)),
    anyEvent().map((event) => JSON.stringify(event)),
    fc.tuple(anyEvent(), fc.nat(200)).map(([event, length]) => JSON.stringify(event).slice(0, length)),
    anyEvent().map((event) => JSON.stringify({ ...event, kind: 'FutureEvent', id: undefined })),
  )

/** A line that is certainly no event. */
const badLine = () =>
  fc.oneof(
    anyText().map((text) => `${text}{`),
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
  it('E1, E4 and E5: an event survives the way to text and back', () => {
    always(anyEvent(), checkRoundTrip)
    always(secretEvent(), checkRoundTrip)
  })

  it('E2 decoding never throws and never changes its input', () => {
    always(anything(), checkTotal)
    always(nearlyEvent(), checkTotal)
    always(brokenSecretEvent(), checkTotal)
  })

  it('E2 reading a line never throws, and quarantine keeps it as it is', () => {
    always(line(), checkLine)
  })

  it('E1, E4 and E5 hold for every event of a log, and E3: one bad line never costs the conversation', () => {
    const bad = fc.array(badLine(), { maxLength: 6 })
    always(fc.tuple(hostileLog(), bad), ([facts, lines]) => {
      checkEach(facts)
      checkBadLines(facts, lines)
    })
    alwaysOnLegal(checkEach)
  })
})
