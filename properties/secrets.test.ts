/** X1 to X4: secrets. */

import * as fc from 'fast-check'
import { describe, it } from 'vitest'
import type { Fact } from '../src/event/quarantine.ts'
import { anyEvent, hostileLog } from '../src/testing/index.ts'
import type { Situation } from '../test/model/notes.ts'
import { situationsOf } from '../test/model/situations.ts'
import { checkIssues, checkMasking, checkShown } from './checks/secrets.ts'
import { always } from './run.ts'
import { brokenSecretEvent, secretEvent } from './secret-events.ts'
import { Tally } from './tally.ts'

describe('X, secrets', () => {
  it('X1 and X3: messages, requests, states and warnings of a log contain no secret', () => {
    const log = fc.tuple(hostileLog(), fc.array(secretEvent(), { maxLength: 3 }))
    const tally = new Tally<Situation>()
    always(log, ([facts, secrets]) => {
      const all: readonly Fact[] = [...facts, ...secrets]
      tally.count(situationsOf(all))
      checkShown(all)
    })
    tally.require(['secret_visible'])
  })

  it('X2: `maskSecrets` removes secrets and nothing else', () => {
    always(fc.oneof(anyEvent(), secretEvent()), checkMasking)
  })

  it('X4: no issue quotes a secret', () => {
    always(brokenSecretEvent(), checkIssues)
  })
})
