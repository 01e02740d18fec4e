/** What every faulty copy is held against: logs and events from fixed seeds, as plain JSON. */

import * as fc from 'fast-check'
import type { Fact } from '../../src/event/quarantine.ts'
import type { Event } from '../../src/event/types.ts'
import { anyEvent, hostileLog, legalLog } from '../../src/testing/index.ts'
import { loopyLog } from '../../test/context/loopy-log.ts'
import { CASES } from '../pinned-logs.ts'
import { eventWith, type Hidden, hiddenSecret } from '../hidden-secrets.ts'
import { brokenSecretEvent, secretEvent } from '../secret-events.ts'

/** Values for the checks. */
export interface Corpus {
  readonly logs: readonly (readonly Fact[])[]
  /** Logs in which agents go round in circles. */
  readonly loops: readonly (readonly Event[])[]
  readonly events: readonly Event[]
  /** Events that hold a secret, and how it is written. */
  readonly hidden: readonly { readonly hidden: Hidden; readonly event: Event }[]
  /** JSON that is no event, and holds a secret. */
  readonly broken: readonly unknown[]
  readonly lines: readonly string[]
}

const draw = <T>(arbitrary: fc.Arbitrary<T>, numRuns: number): T[] =>
  fc.sample(arbitrary, { numRuns, seed: 2026 })

/** How many of the logs are tried: the longest cost as much as all of these, and find no more. */
const SHORT = 300

/** The corpus; always the same. */
export function buildCorpus(): Corpus {
  const logs = [...draw(hostileLog(), 300), ...draw<readonly Fact[]>(legalLog(), 100)]
  return {
    // Pinned and short logs are quick to check, and fail as surely as long ones: most faults never see the latter.
    logs: [
      ...CASES.map((each) => each.facts),
      ...logs.toSorted((a, b) => a.length - b.length).slice(0, SHORT),
    ],
    loops: draw(loopyLog(), 300),
    events: [...draw(secretEvent(), 100), ...draw(anyEvent(), 200)],
    hidden: draw(
      hiddenSecret().chain((hidden) => eventWith(hidden.text).map((event) => ({ hidden, event }))),
      300,
    ),
    broken: draw(brokenSecretEvent(), 100),
    lines: [
      '',
      ' ',
      '{',
      ' not json ',
      'null',
      '[]',
      '{"kind":"PauseEvent"} x',
      '{"kind":"FutureEvent","id":"f"}',
    ],
  }
}
