/** A daily quota of started conversations by organization. */

import type { StartBody } from '../agent-server/request-schema.ts'
import { sha256 } from '../auth/api-keys.ts'
import { findConversation } from '../conversations/find-conversation.ts'
import type { Store } from '../../store/contract/store.ts'
import { HttpProblem } from '../http/problem.ts'
import type { Operation } from '../http/operation.ts'
import { type Records, recordsOf } from '../records.ts'

/** A daily quota. */
export interface Quota {
  /** Starts and forks of each organization in a day (UTC); callers without one share a quota. */
  readonly perDay: number
  /** Ids of organizations without a limit. Default: none. */
  readonly exempt?: readonly string[]
}

const CREATION = 'start_conversation'

interface Day {
  readonly count: number
}

/**
 * Operations with a quota shared by all processes: each consumes one unit first, returned if nothing was
 * started.
 * @param orgOf returns the organization of a request
 */
export function withQuota(
  operations: readonly Operation[],
  store: Store,
  quota: Quota,
  orgOf: (request: Request) => Promise<string | null>,
): Operation[] {
  const exempt = new Set(quota.exempt ?? [])
  const records: Records<Day> = recordsOf<Day>(store, 'daily-quota')
  const add = (id: string, by: number): Promise<Day | null> =>
    records.update(id, (before) => {
      const count = (before?.count ?? 0) + by
      if (by > 0 && count > quota.perDay)
        throw new HttpProblem(
          429,
          `The limit of ${quota.perDay} conversations a day is reached. Try again tomorrow (UTC).`,
        )
      return { count: Math.max(0, count) }
    })
  const sweep = async (today: string): Promise<void> => {
    for await (const { id } of records.walk()) if (id < today) await records.remove(id)
  }
  /** A repeated creation starts nothing, so it is allowed beyond the quota. */
  const exists = async ({ operationId }: Operation, body: unknown): Promise<boolean> => {
    const id = operationId === CREATION ? (body as StartBody | undefined)?.conversation_id : null
    return typeof id === 'string' && (await findConversation(store, id)) !== null
  }
  let latestDay = ''
  return operations.map((one) => ({
    ...one,
    replies: { ...one.replies, 429: { description: 'Too many runs, or as many as may be started in a day' } },
    async handle(input) {
      const org = await orgOf(input.request)
      if (org !== null && exempt.has(org)) return one.handle(input)
      if (await exists(one, input.body)) return one.handle(input)
      const today = new Date().toISOString().slice(0, 10)
      if (latestDay !== today) {
        latestDay = today
        await sweep(today)
      }
      const id = `${today} ${org === null ? '' : await sha256(org)}`
      await add(id, 1)
      try {
        const reply = await one.handle(input)
        // An existing conversation was not started.
        if (one.operationId === CREATION && 'body' in reply && reply.status === 200) await add(id, -1)
        return reply
      } catch (error) {
        await add(id, -1)
        throw error
      }
    },
  }))
}

export const startsConversations = ({ operationId }: Operation): boolean =>
  [
    CREATION,
    'fork_conversation',
    'start_app_conversation_api_v1_app_conversations_post',
    'stream_app_conversation_start_api_v1_app_conversations_stream_start_post',
  ].includes(operationId)
