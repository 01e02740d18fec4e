import { blocksBefore, blocksOf } from '../../context/blocks.ts'
import { withoutBlocks } from '../../context/budget.ts'
import { condensationOf, planCondensation } from '../../context/condenser/rolling.ts'
import type { Condensation } from '../../event/types.ts'
import { reduce } from '../../state/reduce.ts'
import { switchTo } from '../../state/at.ts'
import type { State } from '../../state/state.ts'
import { viewEventsIn } from '../../view/view.ts'
import { counted } from '../../explain/explanation.ts'

export type Change =
  | { readonly type: 'condense'; readonly from: number; readonly to: number; readonly summary: string }
  | { readonly type: 'plan'; readonly maxEvents: number; readonly summary: string }
  | { readonly type: 'cut'; readonly index: number }
  | { readonly type: 'leaf'; readonly id: string }

export interface Outcome {
  readonly state: State
  readonly event: Condensation | null
  readonly text: string
}

const TRIED = 'what-if'

export function whatIf(state: State, change: Change): Outcome {
  switch (change.type) {
    case 'leaf':
      return { state: switchTo(state, change.id), event: null, text: `HEAD is at ${change.id}.` }
    case 'cut': {
      const blocks = blocksOf(state)
      const after = withoutBlocks(state, blocks, 0, blocksBefore(blocks, change.index))
      return { state: after, event: null, text: heldBy(state, after) }
    }
    case 'condense': {
      const ids = Array.from(viewEventsIn(state.branch.view), ({ id }) => id).slice(change.from, change.to)
      return condensed(state, {
        kind: 'Condensation',
        id: TRIED,
        source: 'environment',
        llm_response_id: TRIED,
        forgotten_event_ids: [...new Set(ids)],
        summary: change.summary,
        summary_offset: change.from,
      })
    }
    case 'plan': {
      const { maxEvents } = change
      const keepFirst = Math.min(2, Math.floor(maxEvents / 2) - 2)
      const plan = planCondensation(state, { maxEvents, keepFirst })
      if (plan.type === 'keep')
        return { state, event: null, text: 'The view is short enough; nothing is forgotten.' }
      if (plan.type === 'refuse') return { state, event: null, text: `${plan.reason.message}.` }
      return condensed(state, { ...condensationOf(plan, change.summary), id: TRIED })
    }
  }
}

function condensed(state: State, event: Condensation): Outcome {
  const after = reduce(state, event)
  return { state: after, event, text: heldBy(state, after) }
}

const heldBy = (before: State, after: State): string =>
  `The view would hold ${counted(after.branch.view.length, 'event')} instead of ${before.branch.view.length}.`
