/** I7, P11: replies that ended early, empty replies, and calls that cannot be executed. */

import { earlyEndOf } from '../../src/event/reply.ts'
import { isStatus } from '../../src/state/status.ts'
import type { Checkpoint as Entry, State } from '../../src/state/state.ts'
import { AFTER_FINISH, NOT_EXECUTABLE } from '../../src/messages/phrases.ts'
import type { Begin, Story } from '../execution/story.ts'
import { hold, same } from '../../src/testing/failure.ts'

const MAX_SILENT = 3

export function checkReplyEnds(story: Story, now: State): void {
  const entries = [...now.log.entries]
  checkEnds(story, entries)
  checkSilence(story, entries)
  for (const { id, seq, event, header } of entries) {
    if (event?.kind !== 'MessageEvent' || earlyEndOf(event) === null) continue
    const before = now.log.entries.get(seq - 1)?.header.status ?? 'idle'
    same('I7', `the status after ${id ?? ''}, which ended early`, header.status, before)
  }
  for (const { event } of entries) {
    if (event?.kind !== 'AgentErrorEvent') continue
    const call = entries.find(
      (each) => each.event?.kind === 'ActionEvent' && each.event.tool_call_id === event.tool_call_id,
    )?.event
    if (call?.kind !== 'ActionEvent') continue
    const { error } = event
    const saysSo =
      [NOT_EXECUTABLE, AFTER_FINISH].includes(error) || error.startsWith('The call was not executed')
    const isTrue = saysSo === (call.action === null)
    hold(
      'P11',
      isTrue || event.error === AFTER_FINISH,
      `the result of ${event.tool_call_id} reports: ${event.error}`,
    )
  }
}

/** Error code that the reply ends its run with; null if the run continues. */
function codeOf({ reply }: Begin, text: readonly Entry[]): string | null {
  if (reply?.say === 'failed') return 'ReplyFailed'
  if (reply?.say === 'broken_off') return 'ReplyBrokenOff'
  const end = text.flatMap(({ event }) => (event === null ? [] : (earlyEndOf(event) ?? [])))[0]
  if (end === 'refused') return 'ReplyRefused'
  if (end === 'filtered') return 'ReplyFiltered'
  const calls = text.some(({ event }) => event?.kind === 'ActionEvent')
  return end === 'truncated' && !calls ? 'ReplyTruncated' : null
}

function checkEnds(story: Story, entries: readonly Entry[]): void {
  for (const begin of story.begins) {
    const { number } = begin
    const messages = entries.filter(({ id }) => id?.startsWith(`${number}.`) === true)
    const code = begin.executes.length > 0 || begin.end === Infinity ? null : codeOf(begin, messages)
    if (code === null || !isFree(story, begin, entries)) continue
    const from = begin.state.log.entries.length
    const report = entries.some(
      ({ seq, event }) => seq >= from && event?.kind === 'ConversationErrorEvent' && event.code === code,
    )
    hold('I7', report, `no error ${code} is recorded for step ${number}`)
    const next = story.begins.find((later) => later.run === begin.run && later.number > number)
    hold('I7', next === undefined, `step ${next?.number ?? 0} followed ${code} in step ${number}`)
  }
}

function checkSilence(story: Story, entries: readonly Entry[]): void {
  for (const { number: run, outcome } of story.runs) {
    let silent = 0
    const begins = story.begins.filter((each) => each.run === run)
    for (const [index, begin] of begins.entries()) {
      hold('I7', silent < MAX_SILENT, `step ${begin.number} called the model after ${silent} empty replies`)
      const isSilent = begin.reply?.say === 'nothing' || begin.reply?.say === 'wordless'
      // Other appended events may be replies.
      const since = entries.slice(begin.state.log.entries.length, begins[index + 1]?.state.log.entries.length)
      const isAlone = since.every(
        ({ id, event }) =>
          id?.startsWith(`${begin.number}.`) === true || event?.kind === 'ConversationErrorEvent',
      )
      const counts = isSilent && isAlone && begin.end < Infinity && isFree(story, begin, entries)
      silent = counts ? silent + 1 : 0
    }
    if (silent === MAX_SILENT)
      same('I7', `the outcome of run ${run} with only empty replies`, outcome, 'error')
  }
}

/** Whether the step was not stopped. A pause also resets the count. */
function isFree({ runs, ranOut, deaths }: Story, begin: Begin, entries: readonly Entry[]): boolean {
  const run = runs[begin.run]
  const from = begin.state.log.entries.length
  const isStopped = entries.some(
    ({ seq, event }) => seq >= from && (event?.kind === 'InterruptEvent' || event?.kind === 'PauseEvent'),
  )
  const isWhole = run !== undefined && !run.aborted && !run.dead && isStatus(run.outcome)
  return isWhole && ranOut.length === 0 && deaths.length === 0 && !isStopped
}
