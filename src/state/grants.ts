/** What was settled about open calls before they run: state updates go in, what holds for which call comes out. */

import type { JsonValue } from '../event/shapes.ts'
import { listOpenCalls } from '../log/open-calls.ts'
import type { Branch } from './branch.ts'

/**
 * What a log says of a call that has no answer yet: a user `approved` it; it is `held`, because a pause came before it was begun; or it
 * was `started`, so that nobody may start it again without being told to.
 */
export type Grant = 'approved' | 'held' | 'started'

/** A call and what was settled about it. */
export interface CallGrant {
  readonly action_id: string
  readonly grant: Grant
}

/** The keys of ConversationStateUpdateEvent whose value lists the ids of actions that a grant is given to. */
export const GRANT_KEYS: Readonly<Record<Grant, string>> = {
  approved: 'approved_actions',
  held: 'held_actions',
  started: 'started_actions',
}

const GRANTS = new Map(Object.entries(GRANT_KEYS).map(([grant, key]) => [key, grant as Grant]))

/**
 * The grants after a state update; the same object when it changes none. The latest grant of a call holds. Only open calls of the branch
 * have one, so that there are never more grants than open calls. O(k log k) for k open calls, O(1) for any other update.
 */
export function foldGrants(
  grants: readonly CallGrant[],
  branch: Branch,
  key: unknown,
  value: JsonValue | undefined,
): readonly CallGrant[] {
  const grant = typeof key === 'string' ? GRANTS.get(key) : undefined
  if (grant === undefined || !Array.isArray(value)) return grants
  const asked = new Set<unknown>(value)
  const before = new Map(grants.map((known) => [known.action_id, known.grant]))
  const after = listOpenCalls(branch.openCalls).flatMap(({ entry: { id } }): CallGrant[] => {
    const now = asked.has(id) ? grant : before.get(id)
    return now === undefined ? [] : [{ action_id: id, grant: now }]
  })
  const isSame = ({ action_id, grant: now }: CallGrant, i: number): boolean =>
    grants[i]?.action_id === action_id && grants[i].grant === now
  return after.length === grants.length && after.every(isSame) ? grants : after
}

/** What is left when a conversation goes to wait for confirmation: nothing is approved any more, what was begun stays begun. O(k). */
export const withoutConsent = (grants: readonly CallGrant[]): readonly CallGrant[] =>
  grants.every(({ grant }) => grant === 'started')
    ? grants
    : grants.filter(({ grant }) => grant === 'started')

/** The ids of the calls that have this grant. O(k). */
export const granted = (grants: readonly CallGrant[], asked: Grant): Set<string> =>
  new Set(grants.flatMap(({ action_id, grant }) => (grant === asked ? [action_id] : [])))
