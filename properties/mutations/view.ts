/** Mistakes in condensations. */

import type { Event } from '../../src/event/types.ts'
import { replay } from '../../src/state/reduce.ts'
import { isPending } from '../../src/view/units.ts'
import { behindCall, blames, type Mutation } from './mutant.ts'

function lastBatch(log: readonly Event[]): readonly string[] | null {
  const units = [...replay(log).branch.view.units]
  const unit = units.findLast((each) => each.type === 'batch' && !isPending(each))
  return unit?.type === 'batch' ? [...unit.calls].map(({ id }) => id) : null
}

const condensation = (ids: readonly string[], offset = 0): Event => ({
  kind: 'Condensation',
  id: 'wrong',
  llm_response_id: 'condenser',
  forgotten_event_ids: ids,
  summary: 'so far',
  summary_offset: offset,
})

export const VIEW_MISTAKES: readonly Mutation[] = [
  [
    'V3',
    'a condensation removes half of a batch',
    (log) => {
      const ids = lastBatch(log)
      return ids === null ? null : blames([...log, condensation(ids)], 'wrong')
    },
  ],
  [
    'V3',
    'a summary offset is beyond the view',
    (log) => blames([...log, condensation([], 1_000_000)], 'wrong'),
  ],
  [
    'K1',
    'a condensation removes a pending call',
    (log) =>
      blames(
        behindCall(log, ({ id = '' }) => [condensation([id])]),
        'wrong',
      ),
  ],
]
