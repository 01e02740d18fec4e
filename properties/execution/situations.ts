/** Finds which adversarial situations occurred in a story. */

import { NO_RESULT } from '../../src/messages/phrases.ts'
import { requestHeadOf, earlyEndOf, replyOf } from '../../src/event/reply.ts'
import type { Event } from '../../src/event/types.ts'
import { isFinishCall } from '../../src/conversation/turn.ts'
import { isFinalReply } from '../../src/state/status.ts'
import type { Fact } from '../../src/event/quarantine.ts'
import type { Begin, Done, Story } from './story.ts'

const SITUATIONS = [
  'paused_during_request',
  'paused_while_executing',
  'paused_by_another_process',
  'paused_before_it_began',
  'resumed_while_running',
  'interrupted_during_request',
  'interrupted_while_executing',
  'interrupted_by_another_process',
  'aborted',
  'message_during_request',
  'message_while_executing',
  'message_before_the_final_reply',
  'note_during_request',
  'blank_during_request',
  'prompt_during_request',
  'condensed_during_request',
  'requested_at_forgotten',
  'streamed_text_kept',
  'redacted',
  'policy_while_running',
  'policy_while_guarding',
  'waited_for_confirmation',
  'decided_while_running',
  'executed_with_approval',
  'rejected',
  'held_and_executed_later',
  'calls_after_finish',
  'reply_of_two_responses',
  'died_during_request',
  'died_while_executing',
  'recovered',
  'recovered_with_open_calls',
  'lease_lost',
  'already_running',
  'taken_over_while_executing',
  'step_threw',
  'no_result',
  'cap_reached',
  'no_reply',
  'reply_failed',
  'reply_broken_off',
  'reply_truncated',
  'reply_refused_or_filtered',
  'calls_of_an_ended_reply',
  'paused_reply_continued',
  'unreadable_call',
  'prompt_blocked',
  'call_blocked',
  'end_denied',
] as const

export type Situation = (typeof SITUATIONS)[number]

export const ALL_SITUATIONS: readonly Situation[] = SITUATIONS

const isEnded = (event: Event): boolean => ['refused', 'filtered'].includes(earlyEndOf(event) ?? '')

export function situationsOf(story: Story): Situation[] {
  const events = story.facts.flatMap((fact: Fact, seq) => ('kind' in fact ? [{ seq, event: fact }] : []))
  const matches: Situation[] = []
  const note = (name: Situation, occurred: boolean): void => {
    if (occurred) matches.push(name)
  }
  const has = (fits: (event: Event) => boolean): boolean => events.some(({ event }) => fits(event))
  const updates = (key: string): { seq: number; value: unknown }[] =>
    events.flatMap(({ seq, event }) =>
      event.kind === 'ConversationStateUpdateEvent' && event.key === key ? [{ seq, value: event.value }] : [],
    )
  /** Commands that completed during a step. */
  const during = (wish: string, executes: boolean): { done: Done; begin: Begin }[] =>
    story.done.flatMap((done) => {
      const seq = done.events.at(-1)?.seq
      if (done.command.do !== wish || seq === undefined) return []
      return story.begins
        .filter(
          (begin) =>
            begin.executes.length > 0 === executes &&
            begin.checkpoint < done.checkpoint &&
            done.begun < begin.end,
        )
        .filter(({ state }) => state.log.entries.length <= seq)
        .map((begin) => ({ done, begin }))
    })
  const elsewhere = (wish: string): boolean =>
    [true, false].some((executes) =>
      during(wish, executes).some(({ done, begin }) => done.engine !== begin.engine),
    )
  const granted = (wish: string): Done[] =>
    story.done.filter(({ command, events }) => command.do === wish && events.length > 0)
  const isLive = ({ checkpoint: index }: Done): boolean =>
    story.runs.some(
      ({ begun, end, outcome }) => begun < index && index < end && outcome !== 'already_running',
    )
  const started = updates('started_actions').flatMap(({ value }) => value as string[])
  const listed = (key: string): string[] => updates(key).flatMap(({ value }) => value as string[])

  const replies = events.flatMap(({ seq, event }) => {
    const after = requestHeadOf(event)
    if (after === undefined) return []
    const isLast = isFinalReply(event) || isFinishCall(event)
    const named = events.find(({ event: { id } }) => id === after)?.seq ?? -1
    return [{ seq, after: after === true ? seq - 1 : named, isLast }]
  })
  const spoken = events.flatMap(({ seq, event }) =>
    event.kind === 'MessageEvent' && event.source === 'user' ? [seq] : [],
  )

  note('paused_during_request', during('pause', false).length > 0)
  note('paused_while_executing', during('pause', true).length > 0)
  note('paused_by_another_process', elsewhere('pause'))
  note(
    'paused_before_it_began',
    story.runs.some(
      ({ outcome, number }) => outcome === 'paused' && !story.begins.some(({ run }) => run === number),
    ),
  )
  note('resumed_while_running', granted('resume').some(isLive))
  note('interrupted_during_request', during('interrupt', false).length > 0)
  note('interrupted_while_executing', during('interrupt', true).length > 0)
  note('interrupted_by_another_process', elsewhere('interrupt'))
  note(
    'aborted',
    story.runs.some(({ aborted, outcome }) => aborted && outcome !== 'already_running'),
  )
  note('message_during_request', during('send', false).length > 0)
  note('message_while_executing', during('send', true).length > 0)
  note(
    'message_before_the_final_reply',
    replies.some(({ seq, after, isLast }) => isLast && spoken.some((index) => after < index && index < seq)),
  )
  note('note_during_request', during('note', false).length > 0)
  note('blank_during_request', during('blank', false).length > 0)
  note('prompt_during_request', during('prompt', false).length > 0)
  note('condensed_during_request', during('condense', false).length > 0)
  note(
    'requested_at_forgotten',
    replies.some(({ seq, after }) =>
      events.some(
        ({ seq: index, event }) =>
          event.kind === 'Condensation' &&
          after < index &&
          index < seq &&
          event.forgotten_event_ids?.includes(
            events.find(({ seq: position }) => position === after)?.event.id ?? '',
          ) === true,
      ),
    ),
  )
  note(
    'streamed_text_kept',
    has((event) => replyOf(event)?.interrupted === true),
  )
  note(
    'redacted',
    has((event) => JSON.stringify(event).includes('[redacted]')),
  )
  note('policy_while_running', granted('policy').some(isLive))
  note(
    'policy_while_guarding',
    granted('policy').some((done) => isLive(done) && done.command.when === 'guarding'),
  )
  note(
    'waited_for_confirmation',
    updates('execution_status').some(({ value }) => value === 'waiting_for_confirmation'),
  )
  note('decided_while_running', granted('approve').some(isLive))
  note(
    'executed_with_approval',
    listed('approved_actions').some((id) => started.includes(id)),
  )
  note('rejected', granted('reject').length > 0)
  note(
    'held_and_executed_later',
    listed('held_actions').some((id) => started.includes(id)),
  )
  note(
    'calls_after_finish',
    has((event) => event.kind === 'AgentErrorEvent' && event.error.includes('after finish')),
  )
  note(
    'reply_of_two_responses',
    has((event) => event.kind === 'ActionEvent' && event.llm_response_id.endsWith('-b')),
  )
  const dead = story.begins.filter(({ run, end }) => end === Infinity && story.runs[run]?.dead === true)
  note(
    'died_during_request',
    dead.some(({ executes }) => executes.length === 0),
  )
  note(
    'died_while_executing',
    dead.some(({ executes }) => executes.length > 0),
  )
  const recoveries = story.done.filter(({ outcome }) => outcome === 'recovered')
  note('recovered', recoveries.length > 0)
  note(
    'recovered_with_open_calls',
    recoveries.some(({ events }) => events.length > 1),
  )
  note(
    'lease_lost',
    story.runs.some(({ outcome }) => outcome === 'lease_lost'),
  )
  note(
    'already_running',
    story.runs.some(({ outcome }) => outcome === 'already_running'),
  )
  const owners = (index: number, until: number): number =>
    story.leases.filter((lease) => lease.checkpoint > index && lease.checkpoint < until).length
  note(
    'taken_over_while_executing',
    story.begins.some(
      ({ executes, checkpoint: index, end }) => executes.length > 0 && owners(index, end) > 0,
    ),
  )
  const failed = (name: string): boolean =>
    has((event) => event.kind === 'ConversationErrorEvent' && event.code === name)
  note('step_threw', failed('RangeError') || failed('TypeError'))
  note(
    'no_result',
    has((event) => event.kind === 'AgentErrorEvent' && event.error === NO_RESULT),
  )
  note('cap_reached', failed('MaxIterationsReached'))
  note('no_reply', failed('NoReply'))
  note('reply_failed', failed('ReplyFailed'))
  note('reply_broken_off', failed('ReplyBrokenOff'))
  note('reply_truncated', failed('ReplyTruncated'))
  note('reply_refused_or_filtered', failed('ReplyRefused') || failed('ReplyFiltered'))
  note(
    'calls_of_an_ended_reply',
    has((event) => event.kind === 'ActionEvent' && isEnded(event)),
  )
  note(
    'paused_reply_continued',
    story.begins.some(
      ({ reply, run, number }) =>
        reply !== null &&
        'end' in reply &&
        reply.end === 'paused' &&
        story.begins.some((next) => next.run === run && next.number > number),
    ),
  )
  note(
    'unreadable_call',
    has((event) => event.kind === 'ActionEvent' && (event.action ?? null) === null),
  )
  note('prompt_blocked', story.blockedPrompts.size > 0)
  note(
    'call_blocked',
    has((event) => event.kind === 'UserRejectObservation' && event.rejection_source === 'hook'),
  )
  note(
    'end_denied',
    has(
      (event) =>
        event.kind === 'HookExecutionEvent' && event.hook_event_type === 'Stop' && event.blocked === true,
    ),
  )
  return matches
}
