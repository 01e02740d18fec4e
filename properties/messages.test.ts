/** M: what the model is sent. */

import { describe, it } from 'vitest'
import { hostileLog, legalLog } from '../src/testing/index.ts'
import type { Situation } from '../test/model/notes.ts'
import { situationsOf } from '../test/model/situations.ts'
import { checkGrammars, checkNeutral, checkThinking, checkWords } from './checks/messages.ts'
import { always, alwaysOnLogs } from './run.ts'
import { Tally } from './tally.ts'

describe('M, messages', () => {
  it('M1 to M4, M6, M8 and M9: each grammar is total and valid on hostile logs', () => {
    const tally = new Tally<Situation>()
    always(hostileLog(), (facts) => {
      tally.count(situationsOf(facts))
      checkGrammars(facts)
    })
    tally.require([
      'open_batch',
      'batch_of_many',
      'reused_call_id',
      'signed_thinking',
      'unsigned_thinking',
      'redacted_thinking',
      'arguments_no_object',
      'image_shown',
      'lone_surrogate',
      'empty_result',
      'failed_result',
      'reply_with_calls',
    ])
  })

  it('M1 to M4, M6, M8 and M9: each grammar is total and valid on legal logs', () => {
    always(legalLog(), checkGrammars)
  })

  it('M5 signed thinking survives byte for byte', () => {
    alwaysOnLogs(checkThinking)
  })

  it('M7 one message a unit, answers directly behind their calls', () => {
    alwaysOnLogs(checkNeutral)
  })

  it('M10 what is sent is what the log says', () => {
    alwaysOnLogs(checkWords)
  })
})
