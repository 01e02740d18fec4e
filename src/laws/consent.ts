/** Executions: which began twice, of a call that has its result, or without the consent that was wanted. */

import { isObject } from '../event/json.ts'
import { quote } from '../event/text.ts'
import { replyOf } from '../event/reply.ts'
import type { JsonObject } from '../event/shapes.ts'
import type { ActionEvent, ConversationStateUpdateEvent } from '../event/types.ts'
import { isOnPathIn } from '../log/ancestry.ts'
import type { Entry, EventEntry } from '../log/entry.ts'
import { findEventIn } from '../log/log.ts'
import { openCallOf } from '../log/open-calls.ts'
import type { Branch } from '../state/branch.ts'
import { granted, GRANT_KEYS } from '../state/call-status.ts'
import type { LogStep, Report } from './violation.ts'

type Call = EventEntry<ActionEvent>

/** Is told of each event, and of each result of a tool that ends a call. */
export interface ConsentWatch {
  readonly update: (step: LogStep) => void
  readonly result: (step: LogStep, call: Call) => void
}

/**
 * P6 to P8, and I7 of what is executed. A log that records when executions begin is judged there; of any other the
 * result shows that there was one. O(log n) for an event and for each call that begins.
 */
export function watchConsent(report: Report): ConsentWatch {
  /** When each call was begun, in terms of what lets it be begun again: a status, a move of HEAD, an approval. */
  const begun = new Map<string, number>()
  /** Whatever was approved on whatever branch; without any the log does not record what users approve. */
  const approved = new Set<unknown>()
  let turn = 0
  let policy: Entry | null = null
  /** What said last that the status is waiting_for_confirmation. */
  let wait: LogStep['entry'] | null = null

  /** Whether the policy of the log wants that a user is asked about a call, and none was. */
  const isUnasked = ({ before: { header }, entry }: LogStep, call: Call): boolean => {
    // A copy of a path has updates only where an event names one as its parent, and what was approved may be missing.
    if (policy === null || isOnPathIn(policy, entry.parent)) return false
    const wasAsked = approved.size === 0 && wait !== null && wait.seq > call.seq
    return !wasAsked && wantsConsent(header.confirmationPolicy, call.event)
  }

  const begin = (step: LogStep, ids: ReadonlySet<unknown>): void => {
    const { before, entry } = step
    const consents = granted(before.header.callStatuses, 'approved')
    for (const id of ids) {
      const call = typeof id === 'string' ? findEventIn(before.log, id) : undefined
      if (!isCall(call)) continue
      if (!isOpen(before.branch, call) && isOnPathIn(call, before.log.head)) {
        const should = 'a correct server executes pending calls only'
        report('P8', entry, `the call ${quote(call.id)} is begun, and has its result already; ${should}`)
      } else if (begun.get(call.id) === turn) {
        const should = 'a correct server executes a call once, unless it is told to do it again'
        report('P6', entry, `the call ${quote(call.id)} is begun twice; ${should}`)
      } else if (!consents.has(call.id) && isUnasked(step, call)) {
        report('P7', entry, `the call ${quote(call.id)} is begun, ${AGAINST_POLICY}`)
      }
      begun.set(call.id, turn)
    }
  }

  return {
    update: (step) => {
      const { after, entry } = step
      const { event } = entry
      if (event.kind !== 'ConversationStateUpdateEvent') return
      if (event.key === GRANT_KEYS.started) return begin(step, idsIn(event))
      if (event.key === GRANT_KEYS.approved) for (const id of idsIn(event)) approved.add(id)
      if (event.key === 'confirmation_policy') policy = entry
      if (!allowsAgain(event)) return
      turn += 1
      if (after.header.status === 'waiting_for_confirmation') wait = entry
    },
    result: (step, call) => {
      const { header } = step.before
      const isSettled = (): boolean =>
        header.callStatuses.some(({ action_id, grant }) => action_id === call.id && grant !== 'held')
      if (header.status === 'waiting_for_confirmation') {
        // HEAD may have moved since to a call that no user was asked about.
        if (!isSettled() && (wait === null || wait.seq < call.seq || isOpen(wait.branch, call))) {
          const why = `was executed while it waited for confirmation; ${APPROVED_FIRST}`
          report('P7', step.entry, `the call ${quote(call.id)} ${why}`)
        }
      } else if (begun.size === 0 && !approved.has(call.id) && isUnasked(step, call)) {
        report('P7', step.entry, `the call ${quote(call.id)} was executed, ${AGAINST_POLICY}`)
      }
      const outcome: unknown = replyOf(call.event)?.outcome
      if ((outcome === 'refused' || outcome === 'filtered') && !approved.has(call.id)) {
        const should = 'a correct server gives its calls no result of a tool'
        report(
          'I7',
          step.entry,
          `the call ${quote(call.id)} was executed, though its reply was ${outcome}; ${should}`,
        )
      }
    },
  }
}

/** Whether a call is pending on a branch. O(log n). */
const isOpen = ({ pendingCalls }: Branch, { event, seq }: Call): boolean =>
  openCallOf(pendingCalls, event.tool_call_id, seq) !== undefined

const APPROVED_FIRST = 'a correct server waits until a user has approved it'

const AGAINST_POLICY = `though the policy wants it confirmed and no user was asked; ${APPROVED_FIRST}`

const isCall = (entry: Entry | undefined): entry is Call =>
  entry?.event?.kind === 'ActionEvent' && entry.id !== null

const idsIn = ({ value }: ConversationStateUpdateEvent): ReadonlySet<unknown> =>
  new Set<unknown>(Array.isArray(value) ? value : [])

/** Tools that change nothing, which need no consent where they stand alone in a reply. */
const HARMLESS: ReadonlySet<string> = new Set(['finish', 'think'])

/** Whether a policy wants a call confirmed in any reading of it: a risky one, where every threshold takes it in. */
const wantsConsent = (policy: JsonObject | null, { tool_name, security_risk }: ActionEvent): boolean =>
  !HARMLESS.has(tool_name) &&
  (policy?.['kind'] === 'AlwaysConfirm' || (policy?.['kind'] === 'ConfirmRisky' && security_risk === 'HIGH'))

const allowsAgain = ({ key, value }: ConversationStateUpdateEvent): boolean =>
  key === 'execution_status' ||
  key === 'leaf_event_id' ||
  key === GRANT_KEYS.approved ||
  (key === 'full_state' && isObject(value))
