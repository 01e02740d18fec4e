/** The message that is sent to a model before its agent counts as stuck. */

import { maskSecrets } from '../../event/mask.ts'
import type { MessageEvent } from '../../event/types.ts'
import type { Unit } from '../../view/unit.ts'
import { ellipsize } from '../ellipsize.ts'
import { textsOf } from '../said-text.ts'
import { errorOf, type Turn } from './turn.ts'
import { callsOf, errorStreak } from './verdict.ts'
import { messageOf, type Window } from './window.ts'

/** How every nudge begins: by this a later look knows that it was given. */
const MARK = '[Repeated error]'

/** How much of the last error is quoted, in UTF-16 units. */
const MOST = 1000

/**
 * What to send the model when the same calls have failed exactly `count` times in a row; null before and after that,
 * and when a nudge stands in the view since the first of them.
 */
export function nudgeOf(window: Window, count: number): string | null {
  if (errorStreak(window, count + 1) !== count) return null
  const first = window.turns[count - 1] as Turn
  const since = window.units.slice(0, window.units.indexOf(first.unit))
  return since.some(isNudge) ? null : textFor(window.turns[0] as Turn, count)
}

function isNudge(unit: Unit): boolean {
  const message = messageOf(unit)
  if (message?.source !== 'environment') return false
  return textsOf(message.llm_message.content ?? []).some((text) => text.startsWith(MARK))
}

function textFor(turn: Turn, count: number): string {
  const errors = Array.from(turn.unit.results, ({ entry }) => errorOf(entry.event) ?? '')
  const have = turn.unit.calls.length === 1 ? 'has' : 'have'
  const often = count === 1 ? `${have} failed` : `${have} failed ${count} times in a row`
  const last = ellipsize(maskSecrets(errors.at(-1) ?? ''), MOST).toWellFormed()
  return [
    `${MARK} The same ${callsOf(turn)} ${often}. The last error was:`,
    last,
    'Making the call again as it is will fail again. Change its arguments, use another tool, or tell the user what stands in the way.',
  ].join('\n')
}

/**
 * A nudge as the message that the model is sent: words of the environment in the user's place, as the run's own are.
 * @example
 * nudgeMessage('Try something else.').source // 'environment'
 */
export const nudgeMessage = (text: string): MessageEvent => ({
  kind: 'MessageEvent',
  source: 'environment',
  llm_message: { role: 'user', content: [{ type: 'text', text }] },
})
