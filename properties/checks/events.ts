/** E1 to E5: single events and lines. */

import { decodeEvent, decodeLine } from '../../src/event/decode.ts'
import { withDefaults } from '../../src/event/nested-shapes.ts'
import { canonicalJson, encodeEvent } from '../../src/event/encode.ts'
import { loadLine, loadValue } from '../../src/event/load.ts'
import { type Fact, isQuarantined } from '../../src/event/quarantine.ts'
import type { JsonValue } from '../../src/event/shapes.ts'
import type { Event } from '../../src/event/types.ts'
import { listPendingCallsIn } from '../../src/log/open-calls.ts'
import { replay } from '../../src/state/reduce.ts'
import { viewEventsIn } from '../../src/view/view.ts'
import { hold, same, total } from '../../src/testing/failure.ts'

/** E1, E5: every round trip preserves an event. */
export function checkRoundTrip(event: Event): void {
  const text = encodeEvent(event)
  const decoded = decodeEvent(event)
  hold('E1', decoded.ok, () => `not decoded: ${JSON.stringify(decoded)}`)
  same('E1', 'the decoded value', decoded.event, text)
  const line = decodeLine(text)
  hold('E1', line.ok, () => `not decoded: ${JSON.stringify(line)}`)
  same('E1', 'the decoded line', encodeEvent(line.event), text)
  hold('E1', isFrozen(decoded.event) && isFrozen(line.event), 'a decoded event is not frozen')
  for (const loaded of [loadLine(text), loadValue(event)]) {
    same('E1', 'the loaded event', loaded.fact, text)
    same('E1', 'upcasts of a current event', loaded.upcasts, [])
  }
  const canonical = canonicalJson(event)
  same('E4', 'canonical text, parsed and written again', canonicalJson(JSON.parse(canonical)), canonical)
  same(
    'E4',
    'canonical text of shuffled keys',
    canonicalJson(shuffled(event as object as JsonValue)),
    canonical,
  )
  const filled = withDefaults(event)
  const again = decodeEvent(filled)
  hold('E5', again.ok, () => `with its defaults: ${JSON.stringify(again)}`)
  same('E5', 'defaults filled in twice', withDefaults(filled), filled)
  for (const [key, value] of Object.entries(event)) {
    if (typeof value !== 'object')
      same(
        'E5',
        `${key} after filling in defaults`,
        Object.entries(filled).find(([name]) => name === key)?.[1],
        value,
      )
  }
}

function isFrozen(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true
  return Object.isFrozen(value) && Object.values(value).every(isFrozen)
}

function shuffled(value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(shuffled)
  const entries = Object.entries(value)
    .toReversed()
    .map(([key, item]): [string, JsonValue] => [key, shuffled(item)])
  return Object.fromEntries(entries)
}

/** E2: a value is decoded or rejected, and never modified. */
export function checkTotal(value: unknown): void {
  const before = picture(value)
  const decoded = total('E2', 'decodeEvent', () => decodeEvent(value))
  if (!decoded.ok) hold('E2', decoded.issues.length > 0, 'the error has no issue')
  const { fact } = total('E2', 'loadValue', () => loadValue(value))
  hold('E2', decoded.ok ? !isQuarantined(fact) : true, 'a valid event was quarantined')
  if (isQuarantined(fact)) total('E2', 'parsing the quarantined text', () => JSON.parse(fact.raw))
  total('E2', 'replay', () => replay([fact]))
  same('E2', 'the input after decoding', picture(value), before)
}

function picture(root: unknown): string {
  const seen: unknown[] = []
  const look = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return [typeof value, String(value)]
    if (seen.includes(value)) return ['seen', seen.indexOf(value)]
    seen.push(value)
    return Reflect.ownKeys(value).map((key) => {
      const property = Object.getOwnPropertyDescriptor(value, key)
      return [String(key), property?.writable, property?.get === undefined ? look(property?.value) : 'getter']
    })
  }
  return JSON.stringify([look(root), Object.isFrozen(root)])
}

export function checkLine(text: string): void {
  const decoded = total('E2', 'decodeLine', () => decodeLine(text))
  if (!decoded.ok) hold('E2', decoded.issues.length > 0, 'the error has no issue')
  const { fact } = total('E2', 'loadLine', () => loadLine(text))
  hold('E2', !isQuarantined(fact) || fact.raw === text, 'a quarantined line was changed')
  same('E2', 'the quarantined line, loaded again', loadLine(text).fact, fact)
}

/** E3: invalid lines in a log do not affect the other events. */
export function checkBadLines(facts: readonly Fact[], bad: readonly string[]): void {
  const events = facts.filter((fact): fact is Event => !isQuarantined(fact) && fact.id !== undefined)
  const lines = events.map(encodeEvent)
  const strewn = lines.flatMap((line, index) => [line, ...bad.filter((_, n) => n % lines.length === index)])
  const loaded = strewn.map((line) => loadLine(line).fact)
  same('E3', 'number of lines', loaded.length, strewn.length)
  const good = loaded.filter((fact) => !isQuarantined(fact))
  same('E3', 'events', good, events)
  // Invalid lines with ids remain nodes of the tree, because a later version may read them.
  const homeless = loaded.filter((fact) => !isQuarantined(fact) || fact.id === undefined)
  const [with_, without] = [replay(homeless), replay(events)]
  same(
    'E3',
    'the view with bad lines',
    [...viewEventsIn(with_.branch.view)].map((item) => item.id),
    [...viewEventsIn(without.branch.view)].map((item) => item.id),
  )
  // Reports are held with their calls, whose positions differ.
  const [headerWith, headerWithout] = [with_, without].map(({ header }) => ({
    ...header,
    callProgress: listPendingCallsIn(header.callProgress).map(({ report }) => report),
  }))
  same('E3', 'the header with bad lines', headerWith, headerWithout)
  same(
    'E3',
    'reports of bad lines',
    [...with_.log.entries].filter((entry) => entry.quarantined !== null).length,
    homeless.length - good.length,
  )
}
