/** Names of the situations that make a log hostile, as the naive reading meets them on its way. */

/** Says that a situation occurred. */
export type Note = (situation: Situation) => void

/** For readings that only want the result. */
export const silent: Note = () => undefined

/** A situation; `situations.ts` tells from a whole log which ones occurred in it. */
export type Situation =
  // the tree
  | 'unknown_parent'
  | 'self_parent'
  | 'later_parent'
  | 'second_root'
  | 'fork'
  | 'stamped_off_head'
  | 'parent_is_update'
  | 'head_moved'
  | 'head_emptied'
  | 'head_ignored'
  | 'head_to_update'
  | 'duplicate_id'
  | 'absent_id'
  | 'quarantined_stands'
  | 'quarantined_out'
  | 'unreadable_timestamp'
  // calls and answers
  | 'open_batch'
  | 'open_batch_inside'
  | 'batch_of_many'
  | 'interleaved_batch'
  | 'rejoined_after_errors'
  | 'not_rejoined_for_thought'
  | 'reused_call_id'
  | 'two_open_calls_of_one_id'
  | 'reused_response_id'
  | 'empty_response_id'
  | 'duplicate_result'
  | 'orphan_result'
  | 'foreign_answer'
  | 'answer_by_call_id'
  | 'late_answer'
  // replies and what they were asked at
  | 'reply_placed'
  | 'reply_before_summary'
  | 'rejoined_before_messages'
  | 'asked_at_forgotten'
  | 'asked_on_another_branch'
  | 'asked_at_later'
  | 'asked_at_nothing'
  // condensation
  | 'batch_cut'
  | 'loop_cut'
  | 'pending_forgotten'
  | 'summary_forgotten'
  | 'offset_inside'
  | 'offset_beyond'
  | 'offset_at_pending'
  | 'unhandled_request'
  | 'thinking_loop'
  | 'pending_thinking'
  // status
  | 'reply_in_flight'
  | 'second_reply'
  | 'confirmation_answered'
  | 'error_kept'
  | 'finished'
  | 'cut_off'
  | 'ended_early'
  // what a view shows
  | 'signed_thinking'
  | 'unsigned_thinking'
  | 'redacted_thinking'
  | 'secret_shown'
  | 'arguments_no_object'
  | 'image_shown'
  | 'lone_surrogate'
  | 'empty_result'
  | 'failed_result'
  | 'reply_with_calls'
