/** M: requests to the model. */

import { describe, it } from 'vitest'
import { hostileLog } from '../src/testing/index.ts'
import type { Situation } from '../test/model/notes.ts'
import { situationsOf } from '../test/model/situations.ts'
import type { Fact } from '../src/event/quarantine.ts'
import { checkGrammars, checkNeutral, checkThinking, checkWords } from './checks/messages.ts'
import { always, alwaysOnLegal } from './run.ts'
import { Tally } from './tally.ts'

function checkSent(facts: readonly Fact[]): void {
  checkNeutral(facts)
  checkWords(facts)
  checkThinking(facts)
  checkGrammars(facts)
}

describe('M, messages', () => {
  it('M1 to M10 and M16 hold on hostile logs', () => {
    const tally = new Tally<Situation>()
    always(hostileLog(), (facts) => {
      tally.count(situationsOf(facts))
      checkSent(facts)
    })
    tally.require([
      'open_batch',
      'batch_of_many',
      'reused_call_id',
      'other_id_of_a_call',
      'second_prompt',
      'signed_thinking',
      'unsigned_thinking',
      'redacted_thinking',
      'arguments_not_object',
      'image_visible',
      'lone_surrogate',
      'empty_result',
      'failed_result',
      'reply_with_calls',
    ])
  })

  it('M1 to M10 and M16 hold on legal logs', () => {
    alwaysOnLegal(checkSent)
  })
})
