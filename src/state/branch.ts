/** The branch part of a state: what depends on the path to HEAD. The part before and an entry go in, the part after comes out. */

import type {
  ActionEvent,
  AnswerEvent,
  Condensation,
  Event,
  MessageEvent,
  SystemPromptEvent,
} from '../event/types.ts'
import type { DropReason, Entry, EventEntry } from '../log/entry.ts'
import type { Log } from '../log/log.ts'
import { type OpenCalls, openCount, withOpenCall, withoutOpenCall } from '../log/open-calls.ts'
import { matchAnswer } from '../log/pairing.ts'
import { Vector } from '../log/vector.ts'
import { withAnswer, withCall } from '../view/batch.ts'
import { condense } from '../view/condense.ts'
import { emptyView, type View, withUnit } from '../view/view.ts'

/** An answer that stays out of the view (U3), as the fold keeps it: the reason is null where only the whole path can tell. */
export interface DroppedEntry {
  readonly entry: Entry
  readonly reason: DropReason | null
}

/** The latest message on a branch that activated skills, and the one before it. */
interface SkillLink {
  readonly names: readonly string[]
  readonly before: SkillLink | null
}

/** What depends on the branch, and follows HEAD when it moves (design section 3). Every version stays valid. */
export interface Branch {
  readonly view: View
  /** Calls without an answer, in the view or forgotten; read them with `listOpenCalls`. */
  readonly openCalls: OpenCalls
  /** The latest system prompt on the path. */
  readonly systemPrompt: EventEntry<SystemPromptEvent> | null
  /** The latest MessageEvent on the path whose source is user. */
  readonly lastUserMessage: EventEntry<MessageEvent> | null
  /** Read it with `activatedSkills`. */
  readonly skills: SkillLink | null
  /** Answers on the path that answer nothing, in log order; read them with `droppedAnswers`. */
  readonly dropped: Vector<DroppedEntry>
}

const EMPTY: Branch = Object.freeze({
  view: emptyView(),
  openCalls: null,
  systemPrompt: null,
  lastUserMessage: null,
  skills: null,
  dropped: Vector.empty<DroppedEntry>(),
})

/** The branch part before any event: that of the empty HEAD. */
export const emptyBranch = (): Branch => EMPTY

/** Whether no call on the branch waits for an answer. */
export const isAnswered = (branch: Branch): boolean => openCount(branch.openCalls) === 0

/**
 * The names of the skills that messages on the branch activated, each once, in order. O(activations).
 * @example
 * const llm_message = { role: 'user', content: [{ text: 'hi' }] }
 * const state = replay([{ kind: 'MessageEvent', source: 'user', llm_message, activated_skills: ['git'] }])
 * activatedSkills(state.branch) // ['git']
 */
export function activatedSkills(branch: Branch): string[] {
  const lists: (readonly string[])[] = []
  for (let link = branch.skills; link !== null; link = link.before) lists.push(link.names)
  return [...new Set(lists.toReversed().flat())]
}

/**
 * The branch part after one more entry on its path; `log` is the log before the entry. The same object when the entry
 * changes nothing. Total; O(log n), for a Condensation O(view).
 */
export function foldBranch(branch: Branch, entry: Entry, log: Log): Branch {
  const event = entry.event
  if (event === null || entry.id === null) return branch
  switch (event.kind) {
    case 'SystemPromptEvent':
      return { ...withMessage(branch, entry), systemPrompt: as<SystemPromptEvent>(entry) }
    case 'MessageEvent':
      return afterMessage(branch, as<MessageEvent>(entry), event)
    case 'CondensationSummaryEvent':
      return withMessage(branch, entry)
    case 'ActionEvent':
      return afterAction(branch, as<ActionEvent>(entry), log)
    case 'ObservationEvent':
    case 'UserRejectObservation':
    case 'AgentErrorEvent':
      return afterAnswer(branch, as<AnswerEvent>(entry), log)
    case 'Condensation':
      return { ...branch, view: condense(branch.view, as<Condensation>(entry)) }
    case 'CondensationRequest':
      return { ...branch, view: { ...branch.view, unhandledCondensationRequest: true } }
    case 'ServerErrorEvent':
    case 'ACPToolCallEvent':
    case 'ConversationErrorEvent':
    case 'ConversationStateUpdateEvent':
    case 'HookExecutionEvent':
    case 'LLMCompletionLogEvent':
    case 'StreamingDeltaEvent':
    case 'TokenEvent':
    case 'InterruptEvent':
    case 'PauseEvent':
      return branch
    default:
      return unreachable(event)
  }
}

/** The entry with the event type that the caller has just checked. */
const as = <E extends Event>(entry: Entry): EventEntry<E> => entry as EventEntry<E>

function withMessage(branch: Branch, entry: Entry): Branch {
  const item = as(entry)
  return { ...branch, view: withUnit(branch.view, { type: 'message', rank: entry.seq, item }) }
}

function afterMessage(branch: Branch, entry: EventEntry<MessageEvent>, event: MessageEvent): Branch {
  const names = event.activated_skills ?? []
  return {
    ...withMessage(branch, entry),
    lastUserMessage: event.source === 'user' ? entry : branch.lastUserMessage,
    skills: names.length === 0 ? branch.skills : { names, before: branch.skills },
  }
}

function afterAction(branch: Branch, entry: EventEntry<ActionEvent>, log: Log): Branch {
  const { view, batch } = withCall(branch.view, entry, log)
  return { ...branch, view, openCalls: withOpenCall(branch.openCalls, { entry, batch }) }
}

function afterAnswer(branch: Branch, entry: EventEntry<AnswerEvent>, log: Log): Branch {
  const call = matchAnswer(log, branch.openCalls, entry)
  if (call === null || typeof call === 'string') {
    return { ...branch, dropped: branch.dropped.push({ entry, reason: call }) }
  }
  const view = withAnswer(branch.view, call, entry)
  const openCalls = withoutOpenCall(branch.openCalls, call)
  if (view !== undefined) return { ...branch, view, openCalls }
  // The call was forgotten: it is answered now, but what is forgotten stays forgotten (U6).
  const dropped = branch.dropped.push({ entry, reason: 'orphan_answer' })
  return { ...branch, openCalls, dropped }
}

function unreachable(event: never): never {
  throw new TypeError(`unknown kind ${String((event as Event).kind)}`)
}
