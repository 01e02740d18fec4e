/** I1, I2, I5, I6, P10: every run ends with the correct status. */

import { isQuarantined } from '../../src/event/quarantine.ts'
import type { Event } from '../../src/event/types.ts'
import { isOnPathIn } from '../../src/log/entry.ts'
import { renderMessage } from '../../src/messages/neutral.ts'
import { isAnswered } from '../../src/state/branch.ts'
import { encodeState } from '../../src/state/read.ts'
import type { State } from '../../src/state/state.ts'
import { viewEventsIn } from '../../src/view/view.ts'
import { FORBIDDEN, THROWN } from '../execution/step-simulator.ts'
import type { Plan } from '../execution/plan.ts'
import type { RunStory, Story } from '../execution/story.ts'
import { hold, same } from '../../src/testing/failure.ts'
import { asks, executions, lengthOf, entries, yielder, isCutOff, headerBefore } from './story-facts.ts'

/** I1: runs end, throw only when another run holds the lease, and are recovered after a crash. */
export function checkSettled({ runs, begins, ranOut, deaths, leaseLeft, isAbandoned }: Story): void {
  hold('I1', !leaseLeft || deaths.length > 0, 'a lease is held, but no run is active')
  hold('I1', !isAbandoned, 'the status is running without a run or lease')
  for (const { number, outcome, dead, aborted, error, end, begun } of runs) {
    if (dead) continue
    hold('I1', outcome !== null, `run ${number} never settled`)
    hold('I1', outcome !== 'threw', () => `run ${number} threw ${String(error)}`)
    const lost = outcome === 'lease_lost'
    hold('I1', !lost || ranOut.some((index) => index < end), `run ${number} lost a lease that did not expire`)
    const beside = runs.some(
      (other) => other.number !== number && other.begun < end && (other.dead || other.end > begun),
    )
    hold(
      'I1',
      outcome !== 'already_running' || beside || ranOut.length > 0,
      `run ${number} returned already_running, but no run held the lease`,
    )
    const worked = begins.some(({ run }) => run === number)
    hold(
      'I1',
      outcome !== 'already_running' || !worked,
      `run ${number} returned already_running after a step`,
    )
    const superseded = ranOut.some((index) => index > begun && index < end)
    hold(
      'I1',
      outcome !== 'running' || (aborted && !worked) || superseded,
      `run ${number} ended with the status running`,
    )
  }
}

/** I1: only a thrown error of a model or tool fails a run. */
export function checkFailures(now: State): void {
  for (const { event, seq } of entries(now)) {
    if (event?.kind !== 'ConversationErrorEvent' || !event.code.endsWith('Error')) continue
    const { code, detail } = event
    hold(
      'I1',
      THROWN.has(detail),
      `the error at ${seq} was not thrown by a model or tool: ${code}: ${detail}`,
    )
  }
}

/** I2: the model has read every message before a run finishes. */
export function checkLastWord(story: Story, now: State): void {
  if (now.header.status !== 'finished') return
  // Without user messages there is nothing to answer.
  const isPrompted = [...viewEventsIn(now.branch.view)].some(
    ({ event }) => event.kind !== 'SystemPromptEvent' && event.source !== 'environment',
  )
  if (!isPrompted && now.branch.lastUserMessage !== null) return
  const path = entries(now).filter((entry) => isOnPathIn(entry, now.log.head))
  const messages = path.filter(
    (entry) => entry.event !== null && isWord(entry.event) && yielder(story, entry) !== undefined,
  )
  const last = messages.at(-1)
  const begin = last === undefined ? undefined : yielder(story, last)
  const read = new Set(
    begin === undefined ? [] : [...viewEventsIn(begin.state.branch.view)].map(({ id }) => id),
  )
  const forgotten = new Set(
    path.flatMap(({ event }) => (event?.kind === 'Condensation' ? (event.forgotten_event_ids ?? []) : [])),
  )
  for (const { id, event, seq } of path) {
    if (event?.kind !== 'MessageEvent' || event.source === 'agent' || id === null) continue
    // Environment and empty messages do not wake a finished conversation.
    if (event.source !== 'user' && seq > (last?.seq ?? -1)) continue
    if (renderMessage(event) === null) continue
    const blocked = story.blockedPrompts.has(id) || forgotten.has(id)
    hold(
      'I2',
      blocked || read.has(id),
      `message ${id} was not read before the final reply, ${last?.id ?? 'which is missing'}`,
    )
  }
}

const isWord = (event: Event): boolean =>
  (event.kind === 'MessageEvent' && event.source === 'agent' && !isCutOff(event)) ||
  event.kind === 'ActionEvent'

/** I6: hooks run before what they guard and can block it. */
export function checkHooks(story: Story, plan: Plan, now: State): void {
  if (plan.hooks === null) return
  for (const { number, state } of asks(story)) {
    for (const { id, event } of viewEventsIn(state.branch.view)) {
      if (event.kind !== 'MessageEvent' || event.source === 'agent') continue
      if (event.source === 'user')
        hold(
          'I6',
          story.shown.has(id),
          `step ${number} called the model with message ${id}, which no hook received`,
        )
      const text = JSON.stringify(event.llm_message)
      hold(
        'I6',
        !plan.hooks.blocksPrompts || !text.includes(FORBIDDEN),
        `step ${number} called the model with message ${id}, which a hook blocked`,
      )
    }
  }
  for (const { number, executes } of executions(story)) {
    const blocked = executes.find((id) => story.blockedCalls.has(id))
    hold('I6', blocked === undefined, `step ${number} executed call ${blocked ?? ''}, which a hook blocked`)
  }
  let ended: Event | null = null
  for (const { seq, event, header } of entries(now)) {
    if (header.status === 'finished' && headerBefore(now, seq).status !== 'finished') ended = event
    if (
      header.status !== 'finished' ||
      event?.kind !== 'HookExecutionEvent' ||
      event.hook_event_type !== 'Stop'
    )
      continue
    // Resuming after the final reply does not start a run.
    const byUser = ended?.kind === 'ConversationStateUpdateEvent'
    hold('I6', event.blocked !== true || byUser, `the run finished before the hook at ${seq} that blocked it`)
  }
}

export function checkRecoveries(story: Story, now: State): void {
  for (const { command, outcome, events } of story.done) {
    if (command.do !== 'recover' || outcome !== 'recovered') continue
    const last = now.log.entries.get(events.at(-1)?.seq ?? -1)
    hold('P10', last !== undefined && isAnswered(last.branch), 'calls are pending after recover()')
    same('P10', 'status after recover()', last.header.status, 'error')
  }
}

/** I5: the final state of the engines matches the log, and nothing waits. */
export function checkEnd(story: Story, now: State): void {
  const text = encodeState(now)
  for (const state of story.states) same('I5', 'the state of an engine', encodeState(state), text)
  same('I5', 'number of readable states', story.states.length, 2)
  for (const fact of story.facts) hold('I5', !isQuarantined(fact), 'the log contains a quarantined line')
  const { status } = now.header
  const lost = story.deaths.length > 0 || story.ranOut.length > 0
  hold(
    'I5',
    status !== 'running',
    lost ? 'the status is running after recover()' : 'the status is running without a run',
  )
  for (const run of story.runs) checkRelied(story, now, run)
}

/** I5: if a caller gets already_running, the active run handles its message. */
function checkRelied(
  story: Story,
  now: State,
  { number, outcome, aborted, begun, end, length }: RunStory,
): void {
  const isDisturbed =
    aborted || story.ranOut.some((index) => index < end) || story.deaths.some((index) => index < end)
  if (isDisturbed || outcome === null || ['already_running', 'lease_lost', 'threw'].includes(outcome)) return
  const index = now.log.entries.get(length - 1)
  const message = index?.branch.lastUserMessage ?? null
  const others = story.runs.filter((run) => run.number !== number && run.begun < end)
  const isContinued = others.some((run) => run.end > end)
  if (
    index?.header.status !== 'idle' ||
    message === null ||
    isContinued ||
    story.blockedPrompts.has(message.id)
  )
    return
  if (asks(story).some(({ state }) => lengthOf(state) > message.seq)) return
  const sent =
    story.done.find(({ events }) => events.some(({ seq }) => seq === message.seq))?.checkpoint ?? Infinity
  const relied = others.some(
    (run) => run.outcome === 'already_running' && run.begun > Math.max(begun, sent) && run.end < end,
  )
  hold(
    'I5',
    !relied,
    `a run was rejected because run ${number} was active, but that run did not process the message`,
  )
}
