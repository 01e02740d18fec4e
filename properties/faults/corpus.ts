/** Logs and events from fixed seeds, as plain JSON, for checking faulty copies. */

import * as fc from 'fast-check'
import type { Fact } from '../../src/event/quarantine.ts'
import type { Event } from '../../src/event/types.ts'
import { anyEvent, hostileLog, legalLog } from '../../src/testing/index.ts'
import { situationsOf } from '../../test/model/situations.ts'
import { loopyLog } from '../../test/context/loopy-log.ts'
import { CASES } from '../pinned-logs.ts'
import { eventWith, type Hidden, hiddenSecret } from '../hidden-secrets.ts'
import { brokenSecretEvent, secretEvent } from '../secret-events.ts'

export interface Corpus {
  readonly logs: readonly (readonly Fact[])[]
  /** Logs in which an agent loops. */
  readonly loops: readonly (readonly Event[])[]
  readonly events: readonly Event[]
  readonly hidden: readonly { readonly hidden: Hidden; readonly event: Event }[]
  readonly broken: readonly unknown[]
  readonly lines: readonly string[]
}

const draw = <T>(arbitrary: fc.Arbitrary<T>, numRuns: number): T[] =>
  fc.sample(arbitrary, { numRuns, seed: 2026 })

/** A sample of the faults is found on fewer logs. */
const DRAWN = process.env['COLLOQUY_FAULTS'] === 'all' ? 800 : 200

/** The corpus has each situation this often, in logs of this maximum length. */
const OFTEN = 6
const LONGEST = 30

/** Prefers short logs: long ones cost more and find nothing more. */
function chosen(logs: readonly (readonly Fact[])[]): (readonly Fact[])[] {
  const counts = new Map<string, number>()
  return logs
    .filter(({ length }) => length <= LONGEST)
    .toSorted((a, b) => a.length - b.length)
    .filter((facts) => {
      const matches = [...situationsOf(facts), ...facts.map((fact) => ('kind' in fact ? fact.kind : ''))]
      const isWanted = matches.some((name) => (counts.get(name) ?? 0) < OFTEN)
      if (isWanted) for (const name of matches) counts.set(name, (counts.get(name) ?? 0) + 1)
      return isWanted
    })
}

export function buildCorpus(): Corpus {
  return {
    logs: [
      ...CASES.map((each) => each.facts),
      ...chosen([...draw(hostileLog(), DRAWN), ...draw<readonly Fact[]>(legalLog(), 100)]),
    ],
    loops: draw(loopyLog(), 100),
    events: [...draw(secretEvent(), 100), ...draw(anyEvent(), 200)],
    hidden: draw(
      hiddenSecret().chain((hidden) =>
        eventWith(hidden.text, hidden.equalKeys).map((event) => ({ hidden, event })),
      ),
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
