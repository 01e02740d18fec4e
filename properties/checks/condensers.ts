/** K2 to K4 for whole condensers. */

import * as fc from 'fast-check'
import {
  type Condenser,
  type CondenserDecision,
  noopCondenser,
  pipelineCondenser,
} from '../../src/context/condenser/condenser.ts'
import { type CondensationLimits, rollingCondenser } from '../../src/context/condenser/rolling.ts'
import { estimateTokens } from '../../src/context/estimate.ts'
import type { Fact } from '../../src/event/quarantine.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { reduce, replay } from '../../src/state/reduce.ts'
import { hold } from '../../src/testing/failure.ts'
import { isBlank } from '../../src/messages/rules.ts'

export type Act = 'summary' | 'long' | 'blank' | 'nothing' | 'throw'

export const scriptedSummariser = (): fc.Arbitrary<Act> =>
  fc.constantFrom('summary', 'long', 'blank', 'nothing', 'throw')

const RETRIES = 3

export async function condenserDecisions(facts: readonly Fact[], acts: readonly Act[]): Promise<void> {
  const requests = reduce(replay(facts), { kind: 'CondensationRequest', id: 'asked', source: 'environment' })
  const tokens = estimateTokens(toMessages(requests))
  const tries: readonly CondensationLimits[] = [
    { maxEvents: 4, keepFirst: 0 },
    { maxTokens: Math.max(1, Math.floor(tokens / 2)) },
  ]
  for (const limits of tries) {
    let calls = 0
    const rolling = rollingCondenser({
      ...limits,
      retries: RETRIES,
      summarise: async () => say(acts[(calls += 1) - 1] ?? 'summary'),
    })
    for (const condenser of [rolling, pipelineCondenser([noopCondenser(), rolling])]) {
      let state = requests
      for (;;) {
        calls = 0
        // oxlint-disable-next-line no-await-in-loop
        const decision = await decide(condenser, state)
        hold('K3', calls <= RETRIES + 1, `the summariser was called ${calls} times`)
        if (decision.type !== 'condense') {
          const asks = state.branch.view.unhandledCondensationRequest
          hold('K3', decision.type === 'refuse' || !asks, 'a condensation request was ignored')
          break
        }
        const { event } = decision
        hold('K2', !isBlank(event.summary ?? ''), 'a condensation has no summary')
        const after = reduce(state, event)
        hold(
          'K2',
          after.branch.view.length < state.branch.view.length,
          'a condensation did not shorten the view',
        )
        const sent = estimateTokens(toMessages(after))
        hold(
          'K4',
          sent <= (limits.maxTokens ?? Infinity),
          `the view has ${sent} tokens after a condensation, over its limit`,
        )
        state = after
      }
    }
  }
}

const decide = async (
  condenser: Condenser,
  state: Parameters<Condenser['condense']>[0],
): Promise<CondenserDecision> => await condenser.condense(state)

function say(act: Act): string {
  switch (act) {
    case 'throw':
      throw new Error('the context is too long')
    case 'nothing':
      return undefined as unknown as string
    case 'blank':
      return ' \n\u0085'
    case 'long':
      return 'long '.repeat(2000)
    case 'summary':
      return 'short'
  }
}
